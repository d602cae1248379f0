"""Running plans.

engine.py            one set of devices and options, and the placements and programs made for them
program.py           a plan made ready to run, in the way that suits it:
  emit.py              straight-line Python, values freed at their last use
  torchscript.py       stretches of calls that PyTorch makes by itself
  compiled.py          regions of calls as fused kernels, where that is asked for (compiled_region.py, inductor.py)
  threads.py           calls side by side, on a pool of threads
  cuda_graph.py        a CUDA graph, when it has run a few times (stream_capture.py, capture_regions.py)
  swap.py              values moved to the host while they are not needed (offload.py)
control_flow.py      branches, loops and calls of functions, made of the plans of their graphs
state.py             what outlives a run: variables, queues (queue_buffer.py), counters
failure.py           an error in a plan, in terms of the graph
trace.py, verify.py  when each call began and ended; what kernels return, checked
thread_exit.py       threads that compute, and the end of the program
"""
