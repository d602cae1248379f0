"""Typed, printable messages: settings, traces and graphs as values, spelled as in TensorFlow.

Every message is a class with declared fields (`situs.proto.message`), prints itself in the text format of
protocol buffers, and needs no protocol buffers.

    config.py     ConfigProto, GPUOptions, RunOptions, ...   what a session is asked to do
    stats.py      RunMetadata, StepStats, ...                what a run has taken
    graph.py      GraphDef, NodeDef, AttrValue, ...          what is computed
    example.py    Example, Feature, ...                      the records of data files, in the wire format of wire.py
    text.py       reading the text format; json_format.py    the same content as JSON
"""
