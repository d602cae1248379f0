"""Tables from keys to values: ``tf.lookup``.

initializers.py    what fills a table: tensors, or the lines of a file
tables.py          tables that are filled once, tables that change, vocabularies

`ops.table` has the operations.
"""
