"""Checkpoints: the variables of a program in files, by name or by their path in the program's objects.

    model.ckpt-100.index                               JSON: every variable, its location, its checksum
    model.ckpt-100.data-00000-of-00002.safetensors     one shard per device
    model.ckpt-100.data-00001-of-00002.safetensors
    model.ckpt-100.meta                                the graph, if there is one
    checkpoint                                         the latest checkpoint, and the others

Reading one runs no code and trusts nothing. Writing one is atomic: until the index has its name there is no checkpoint,
and from then on there is a complete one.

layout.py       the names of these files
index.py        the index, as a value and as JSON
strict_json.py  strict JSON parsing
encoding.py     values as bytes and back
checksum.py     checksums, computed in parallel with reading and writing
sweeping.py     cleaning up after killed writers
writer.py       a set of values into files
reader.py       values out of files
opening.py      opening untrusted files
state.py        the file ``checkpoint``
finding.py      finding checkpoints, looking into them, deleting them
waiting.py      waiting for the next checkpoint
cells.py        the cells of a program's variables
keeping.py      which checkpoints a ``Saver`` keeps
saver.py        ``tf.train.Saver``: variables by name
meta_graph.py   graphs with their variables and collections, in files
meta_files.py   programs out of such files
objects.py      the objects of a program as a graph of names
restoration.py  restoring objects, also those that are created later
trackable.py    the base of classes whose attributes are restored when they are set
status.py       what a restoration has done and what is missing
options.py      ``tf.train.CheckpointOptions``, and asynchronous writing
checkpoint.py   ``tf.train.Checkpoint``: variables by their path in objects
manager.py      ``tf.train.CheckpointManager``
"""
