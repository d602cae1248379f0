"""Executing plans.

engine.py            devices and options, and the placements and programs for them
program.py           an executable plan, in one of these forms:
  emit.py              straight-line Python, values freed at their last use
  torchscript.py       sequences of PyTorch calls as TorchScript
  compiled.py          regions compiled to fused kernels, on request (compiled_region.py, inductor.py)
  threads.py           parallel calls, on a thread pool
  cuda_graph.py        a CUDA graph, after a few runs (stream_capture.py, capture_regions.py, staging.py)
  swap.py              values offloaded to the host while they are not needed (offload.py)
control_flow.py      branches, loops and function calls, from the plans of their graphs
state.py             state across runs: variables, queues (queue_buffer.py), counters
failure.py           translating an error in a plan into terms of the graph
trace.py, verify.py  timing each call; verifying results of kernels
thread_exit.py       compute threads at interpreter exit
"""
