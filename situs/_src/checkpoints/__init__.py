"""Checkpoints: the variables of a program in files, by name or by their place in the program's objects.

    model.ckpt-100.index                               JSON: every variable, where it is, its checksum
    model.ckpt-100.data-00000-of-00002.safetensors     the values of one device each
    model.ckpt-100.data-00001-of-00002.safetensors
    model.ckpt-100.meta                                the graph, if there is one
    checkpoint                                         which checkpoint is the latest, and which others there are

Reading one runs no code and trusts nothing. Writing one is one step: until the index has its name there is no
checkpoint, and from then on there is a whole one.

layout.py       the names of these files
index.py        the index, as a value and as JSON
strict_json.py  JSON of which only what was agreed on is accepted
encoding.py     values as bytes and back
checksum.py     checksums, computed beside the reading and writing
sweeping.py     what a killed writer leaves behind
writer.py       a set of values into files
reader.py       values out of files
opening.py      files that others may have made, opened with care
state.py        the file ``checkpoint``
finding.py      finding checkpoints, looking into them, deleting them
waiting.py      waiting for the next checkpoint
cells.py        where the variables of a program hold their values
keeping.py      which checkpoints a ``Saver`` keeps
saver.py        ``tf.train.Saver``: variables by name
meta_graph.py   graphs with their variables and collections, in files
meta_files.py   programs out of such files
objects.py      the objects of a program as a graph of names
restoration.py  putting values into objects, also into those that are made later
trackable.py    the base of classes whose attributes are restored when they are set
status.py       what a restoration has done and what is missing
options.py      ``tf.train.CheckpointOptions``, and writing beside the program
checkpoint.py   ``tf.train.Checkpoint``: variables by their place in objects
manager.py      ``tf.train.CheckpointManager``
"""
