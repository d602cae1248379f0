"""Running graphs: from operations and their devices to plans, and from plans to values.

    prune     which operations the fetches need, given the feeds          prune.py
    place     which device each gets                                      situs._src.placement.placer
    plan      calls of kernels in order, copies between devices           plan.py, planner.py, kernels.py, control.py
    join      updates of many variables as one call                       fuse.py
    reuse     results written over inputs that nobody needs any more      reuse.py
    emit      the calls as straight-line Python, values freed at last use emit.py, script.py
    run       in the caller's thread, or on a pool of threads             program.py, parallel.py
              as a CUDA graph, when it has run a few times                capture.py, parts.py, launches.py
              with values moved to the host, if they do not fit           swap.py, away.py
    forecast  how much memory a plan will take, without running it        forecast.py, sizes.py, paper.py

A plan depends only on what is fetched and fed, so it is made once and kept.
"""
