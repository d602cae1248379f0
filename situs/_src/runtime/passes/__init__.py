"""Optimization passes over plans, one file each. What a pass may do is determined by the traits of ops.

reuse.py           overwriting inputs that are no longer needed
fuse_updates.py    fusing the updates of many variables into one call
fuse_bias.py       fusing matrix products with their bias
host_sizes.py      computing sizes on the host, wherever their operations are placed
inline_calls.py    inlining function calls
idioms.py          replacing patterns of small ops by one fused kernel
repeats.py         finding repeated structure, to be compiled once
regions.py         partitioning into regions for the compiler, and why other calls stay outside
accumulate.py      in-place accumulators of loops
unpack.py          fusing reads of one tensor list
"""
