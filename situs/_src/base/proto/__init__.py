"""TensorFlow's messages, as protocol buffers: settings, traces, graphs and records.

The classes are those of the package ``protobuf``. Their bytes, text and JSON are TensorFlow's, and so are their errors:
``TypeError`` and ``ValueError`` for wrong values, ``AttributeError`` for unknown fields,
``google.protobuf.message.DecodeError`` for bytes that are not a message.

    config.py      ConfigProto, GPUOptions, RunOptions, ...     options of sessions and runs
    stats.py       RunMetadata, StepStats, ...                  times and memory of a run
    graph.py       GraphDef, NodeDef, AttrValue, ...            graphs
    tensor.py      TensorProto, TensorShapeProto, DataType      dtypes, shapes and values
    meta_graph.py  MetaGraphDef, VariableDef, SaverDef, ...     a graph with its variables; checkpoint lists
    example.py     Example, Feature, ...                        the records of data files
    formats.py     text, JSON and bytes, read with Situs' errors
    own.py         message classes that no package provides

Nothing else imports protobuf or ``tensorboard.compat.proto``, except for `summaries`. Protobuf takes 0.05 s to load:
modules that a program may never need are imported inside functions.
"""
