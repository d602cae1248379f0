"""Lookup tables: ``tf.lookup``.

initializers.py    initializers of tables: tensors, or the lines of a file
tables.py          tables that are filled once, tables that change, vocabularies

`ops.table` has the operations.
"""
