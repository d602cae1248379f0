"""Device maps for PyTorch modules: where the parts of an ``nn.Module`` go.

trace.py        tracing a module on meta tensors: its ops, the submodule of each, their inputs
units.py        the parts that are placed: what must not be split, and what must stay together
device_map.py   ``situs.torch.device_map``: costs, search, the map for accelerate and transformers
"""
