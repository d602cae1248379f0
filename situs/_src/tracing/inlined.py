"""A function's graph with all function calls inlined, so that the dynamic placer sees their operations.

    train_step    next batch        call of one_step            metrics
    inlined       next batch        one_step/MatMul  ...        metrics

Plans are inlined too (`runtime.passes.inline_calls`), but after placement, when a call has been assigned one device as
a whole. Here calls are inlined before placement, so that each operation is placed on its own.

Invariants:
    - The given graph is not modified: the result consists of copies (`ir.graph.copying`), in program order, so that
      side effects keep their order.
    - An operation of a called function is named after the call: ``one_step/MatMul``.
    - A call is not inlined if it requests a device or is colocated with something, has control dependencies, is
      compiled on its own, or computes replicas; nor if it contains random ops with streams of their own, which
      belong to the called operation. Branches and loops are not inlined either.
"""

from __future__ import annotations

from situs._src.ir.graph.copying import Copier, Original
from situs._src.ir.graph.function import FunctionGraph, graphs_of, operations_in
from situs._src.ir.graph.node import Operation
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ir.registry.traits import DRAWS, FED
from situs._src.ops.call import partitioned_call


def inlined(graph: FunctionGraph) -> FunctionGraph:
    """A graph with function calls inlined; the graph itself if there are none.

    Args:
        graph: The graph of a function that eager code calls.
    """
    stays = graph.captures or graph.replicas is not None
    if stays or not any(is_inlined(node) for node in graph.operations):
        return graph
    made = graph.emptied(graph)
    made.outer = graph.outer
    copier = Copier(made, _missing, str, {})
    for argument in graph.arguments:
        (stand_in,) = copier.copy([Original(argument.op, [], None)])
        made.arguments.append(stand_in.outputs[0])
    given = {argument.op for argument in graph.arguments}
    _write_out([node for node in graph.operations if node not in given], made, copier)
    made.results = [copier.tensor(tensor) for tensor in graph.results]
    return made


def is_inlined(node: Operation) -> bool:
    """Whether an operation is a call that can be inlined."""
    if node.op_def is not partitioned_call:
        return False
    called: FunctionGraph = node.attrs["f"]
    is_plain = not (node.device or node.colocated_with or node.control_inputs or node.followers)
    is_alone = called.replicas is None and not called.waits_for and called.runs_effects
    same_compiler = called.compiles in (None, node.graph.compiles)
    return (
        is_plain and is_alone and same_compiler and not any(DRAWS in each.op_def.traits for each in operations_in(node))
    )


def _write_out(nodes: list[Operation], made: FunctionGraph, copier: Copier) -> None:
    """Adds copies of operations to a graph, with function calls inlined."""
    for node in nodes:
        if not is_inlined(node):
            copier.copy([Original(node, [graph for _, graph in graphs_of(node)], None)])
            continue
        called: FunctionGraph = node.attrs["f"]
        prefix = made.unique_name(node.name)
        within = Copier(made, _missing, f"{prefix}/{{}}".format, {})
        for outside, inside in called.captures.items():
            within.learn(inside, copier.tensor(outside))
        for inside, outside in zip(called.arguments, node.args[0], strict=True):
            within.learn(inside, copier.tensor(outside))
        _write_out([each for each in called.operations if FED not in each.op_def.traits], made, within)
        results = [*called.results, *(tensor for (tensor,) in node.residuals)]
        for outside, inside in zip(node.outputs, results, strict=True):
            copier.learn(outside, within.tensor(inside))


def _missing(tensor: SymbolicTensor) -> SymbolicTensor:
    raise AssertionError(f"{tensor!r} is used before it is made.")
