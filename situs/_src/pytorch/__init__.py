"""For programs of PyTorch's own: where the parts of an ``nn.Module`` go.

trace.py        one run of a module on tensors without elements: its ops, which part makes them, what they take
units.py        the parts that are placed: what must not be split, and what must stay together
device_map.py   ``situs.torch.device_map``: costs, search, the map that accelerate and transformers take
"""
