"""What operations and copies take: measured where they have been measured, estimated where not.

    work.py     what an operation has to do: arithmetic and bytes, from its op and its shapes
    kinds.py    what devices are, as far as time is concerned, and how fast a kind is taken to be
    store.py    what has been measured, in memory and in a file
    model.py    the time of an operation on a kind of device, and of a copy between two devices; where it is from

A time comes from the first of these that has one:

    measured        the median of what the same op took with the same dtypes, shapes and attributes on that kind
    interpolated    between measurements of the op with other shapes, along what the estimate says
    estimated       launch + max(arithmetic / speed, bytes / bandwidth)
"""
