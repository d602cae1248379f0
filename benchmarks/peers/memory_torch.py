"""A model in eager PyTorch, in a process of its own: prints, as JSON, the most that its tensors held.

    python memory_torch.py cnn [inplace] [train]

Written as people write it: ``torch.nn`` modules under ``no_grad``, or with ``train`` steps of ``torch.optim.SGD``. With
``inplace``, as those write it who know how to save memory: each ReLU overwrites its input. On a card, PyTorch's
allocator counts; without one, every result of an op is counted for as long as it lives, as Situs counts on a virtual
GPU.
"""

import json
import sys
from weakref import ref

import numpy as np
import torch
from models import RATE, WARM, batch, labels, weights
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
torch.set_float32_matmul_precision("high")  # as in Situs: kernels of other precisions take other work space


class Counter(TorchDispatchMode):
    """Counts the storages of results while they live."""

    def __init__(self):
        super().__init__()
        self.live, self.current, self.peak = {}, 0, 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        """Runs an op and enters its results."""
        made = func(*args, **(kwargs or {}))
        if func is torch.ops.aten.max_pool2d_with_indices.default:
            self.enter(made[0])  # nobody asked for the indices, and a ledger of results does not see them
            return made
        for value in made if isinstance(made, (tuple, list)) else (made,):
            if isinstance(value, torch.Tensor):
                self.enter(value)
        return made

    def enter(self, value):
        """Counts the memory behind a tensor, unless it is counted already."""
        storage = value.untyped_storage()
        key, size = storage._cdata, storage.nbytes()
        if key in self.live:
            return
        self.live[key] = ref(storage, lambda _: self.strike(key, size))
        self.current += size
        self.peak = max(self.peak, self.current)

    def strike(self, key, size):
        """Counts it no more."""
        del self.live[key]
        self.current -= size


def layers(model, inplace):
    """The model as a module, with the same weights as in Situs."""
    made, parts = weights(model), []
    for number, (matrix, bias) in enumerate(made):
        if matrix.ndim == 4:
            parts += [_convolution(matrix, bias), nn.ReLU(inplace), nn.MaxPool2d(3, 2)]
            continue
        if parts and isinstance(parts[-1], nn.MaxPool2d):
            parts.append(nn.Flatten())
            matrix = _channels_first(matrix, made[number - 1][0].shape[-1])
        parts.append(_dense(matrix, bias))
        if number < len(made) - 1:
            parts.append(nn.ReLU(inplace))
    return nn.Sequential(*parts).to(DEVICE)


def _convolution(filters, bias):
    height, width, inputs, outputs = filters.shape
    return _filled(nn.Conv2d(inputs, outputs, (height, width), padding="same"), filters.transpose(3, 2, 0, 1), bias)


def _dense(matrix, bias):
    return _filled(nn.Linear(*matrix.shape), matrix.T, bias)


def _filled(layer, weight, bias):
    with torch.no_grad():
        layer.weight.copy_(torch.from_numpy(np.ascontiguousarray(weight)))
        layer.bias.copy_(torch.from_numpy(bias))
    return layer


def _channels_first(matrix, channels):
    """A matrix for what is flattened with the channels last, as one for what has them first."""
    side = round((matrix.shape[0] / channels) ** 0.5)
    return matrix.reshape(side, side, channels, -1).transpose(2, 0, 1, 3).reshape(matrix.shape)


def step_of(model, inplace, train):
    """A module, and a function that runs it on a batch or trains it."""
    data = batch(model)
    if data.ndim == 4:
        data = np.ascontiguousarray(data.transpose(0, 3, 1, 2))
    module, fed, wanted = layers(model, inplace), torch.from_numpy(data), torch.from_numpy(labels())
    optimizer = torch.optim.SGD(module.parameters(), RATE)

    def run():
        with torch.no_grad():
            return module(_brought(fed)).cpu()

    def learn():
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(module(_brought(fed)), _brought(wanted))
        loss.backward()
        optimizer.step()
        return loss.detach().cpu().reshape(1, 1)

    return module, learn if train else run


def _brought(value):
    return value.to(DEVICE) if DEVICE == "cuda" else value.clone()


def measure(model, inplace, train):
    """The most bytes that were held: weights, input and all."""
    module, step = step_of(model, inplace, train)
    if DEVICE == "cuda":
        torch.cuda.reset_peak_memory_stats()
        results = [step() for _ in range(WARM + 1)]  # as often as Situs: from the second on there is work space
        return torch.cuda.max_memory_allocated(), results[1]
    with Counter() as counter:
        for parameter in module.parameters():
            counter.enter(parameter)
        step()
        counter.peak = counter.current
        result = step()
    return counter.peak, result


if __name__ == "__main__":
    found, made = measure(sys.argv[1], "inplace" in sys.argv[2:], "train" in sys.argv[2:])
    print(json.dumps({"peak": found, "result": made[:2].tolist()}))
