"""Passes over plans, each a file: what may be done is asked of the ops' traits.

reuse.py           results written over inputs that nobody needs any more
fuse_updates.py    updates of many variables as one call
fuse_bias.py       products with a bias as one launch
host_sizes.py      sizes computed on the host, wherever their operations are placed
inline_calls.py    calls of functions replaced by what they do
regions.py         which calls can be compiled together, and why the others cannot
accumulate.py      sums that a loop adds to in every iteration, in memory of the loop's own
unpack.py          rows that are read from one list by known numbers, read together
"""
