"""Saved models: ``tf.saved_model``.

    folder/saved_model.pb               one message ``SavedModel``: graphs, signatures, objects     files.py
    folder/variables/variables.*        a checkpoint                                                `checkpoints`
    folder/assets/                      files that belong to it

    save    objects.py       the objects reachable from the root, with their functions
            signatures.py    functions that can be called by name
            exporting.py     the graphs of functions as calls in one graph, which TensorFlow 1's sessions can run
            saving.py        all of it in a folder
    load    restored.py      functions rebuilt from messages
            loading.py       objects with functions and variables; sessions.py does the same for sessions

`structures.py` serializes the structures of arguments and results. A file has graphs of known ops, names, and numbers:
loading one runs no code from the file.
"""
