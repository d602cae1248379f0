"""Programs in files: ``tf.saved_model``.

    folder/saved_model.pb               one message ``SavedModel``: graphs, signatures, objects     files.py
    folder/variables/variables.*        a checkpoint                                                `checkpoints`
    folder/assets/                      files that belong to it

    save    objects.py       the objects that the root leads to, with their functions
            signatures.py    what can be called by name
            exporting.py     the graphs of functions as calls in one graph, which TensorFlow 1's sessions can run
            saving.py        all of it in a folder
    load    restored.py      functions made again of messages
            loading.py       objects with functions and variables; sessions.py does the same for sessions

`structures.py` writes down what functions take and return. A file has graphs of ops that Situs knows, names, and
numbers: loading one runs no code of the file's.
"""
