"""Plans run on abstract values, which have shapes and no elements: how much memory a run will take.

values.py      abstract values: shapes, layouts, and the memory they will lie in
kernels.py     kernels run on PyTorch's meta tensors
plan.py        the calls of a plan on abstract values
forecast.py    what a run will hold on each device
"""
