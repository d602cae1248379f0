"""Costs of operations and copies: measured where possible, otherwise estimated.

    work.py     the work of an operation: arithmetic and bytes, from its op and shapes
    kinds.py    kinds of devices, and their assumed speed
    store.py    measurements, in memory and in a file
    model.py    the time of an operation on a kind of device, and of a copy between two devices, with its source

A time comes from the first of these that is available:

    measured        the median time of the same op with the same dtypes, shapes and attributes on that kind
    interpolated    from measurements of the op with other shapes, scaled by the estimate
    estimated       launch + max(arithmetic / speed, bytes / bandwidth)
"""
