"""``tf.feature_column``: how columns of a table become the inputs of a network.

columns.py     what a column is: numbers, buckets, categories, crosses; and the features it reads
layers.py      ``tf.compat.v1.feature_column.input_layer`` and ``linear_model``: columns concatenated, or weighted

A column is a description without state. Features are a dictionary of tensors, dense or sparse, by name:

    features ---- transformed once for each column ----> ids (sparse) ----> one-hot rows, or rows of an embedding
                                                   '---> numbers (dense)
"""
