"""Plans: the kernel calls of a run, in order, with the copies between devices.

    prune     which operations the fetches need, given the feeds          prune.py
    place     which device each gets                                      placement/placer.py
    plan      kernel calls in order, copies between devices               planner.py, kernels.py, transfer.py
    passes    optimizations                                               runtime/passes
    run       in one thread, in many, as TorchScript or a CUDA graph      runtime/run
    abstract  how much memory a plan will take, without running it        runtime/abstract

A plan depends only on the fetches and feeds, so it is built once and cached.
"""
