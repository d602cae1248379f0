"""AutoGraph: plain Python control flow that becomes part of the graph when it depends on a tensor."""

from situs.autograph.convert import convert, do_not_convert, is_converted, to_code, to_graph

__all__ = ["convert", "do_not_convert", "is_converted", "to_code", "to_graph"]
