"""Plans: the calls of kernels that a run makes, in order, with the copies between devices.

    prune     which operations the fetches need, given the feeds          prune.py
    place     which device each gets                                      placement/placer.py
    plan      calls of kernels in order, copies between devices           planner.py, kernels.py, transfer.py
    passes    what makes plans cheaper                                    runtime/passes
    run       in one thread, in many, as TorchScript or a CUDA graph      runtime/run
    abstract  how much memory a plan will take, without running it        runtime/abstract

A plan depends only on what is fetched and fed, so it is made once and kept.
"""
