"""The messages of TensorFlow, as protocol buffers: settings, traces, graphs and records as values.

The classes are those of the package ``protobuf``. Their bytes, their text and their JSON are TensorFlow's, and so are
their errors: ``TypeError`` and ``ValueError`` of wrong values, ``AttributeError`` of fields that there are not,
``google.protobuf.message.DecodeError`` of bytes that are no message.

    config.py      ConfigProto, GPUOptions, RunOptions, ...     what a session is asked to do
    stats.py       RunMetadata, StepStats, ...                  what a run has taken
    graph.py       GraphDef, NodeDef, AttrValue, ...            what is computed
    tensor.py      TensorProto, TensorShapeProto, DataType      dtypes, shapes and values
    meta_graph.py  MetaGraphDef, VariableDef, SaverDef, ...     a graph with its variables; what checkpoints are kept
    example.py     Example, Feature, ...                        the records of data files
    formats.py     text, JSON and bytes, read with errors of Situs
    own.py         classes of messages that no package has

Nothing else imports protobuf or ``tensorboard.compat.proto``, but for `summaries`. Protobuf takes 0.05 s to load:
what a program may never need imports these modules inside of functions.
"""
