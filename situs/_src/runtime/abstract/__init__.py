"""Abstract evaluation of plans, on values that have shapes but no elements: how much memory a run will take.

values.py      abstract values: shapes, layouts, and their future memory
kernels.py     kernels run on PyTorch's meta tensors
plan.py        abstract evaluation of a plan's calls
forecast.py    the memory use of a run on each device
"""
