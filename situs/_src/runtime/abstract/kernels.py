"""Running kernels abstractly: on tensors that have shapes and strides but no elements, and take no memory.

These are PyTorch's meta tensors. A kernel that is called with them returns such tensors, so before a run it is known
how large its results will be, whether they are views of its inputs, and how much workspace it will use:

    with AbstractMode() as mode:
        y = kernel(meta_tensor([128, 784]), meta_tensor([784, 10]))      # a tensor of 128 x 10 without elements
    mode.peak                                                 # 5120 bytes

Small known values, such as shapes and sizes, are computed for real: what depends on them is known then. A kernel that
has to read elements that do not exist fails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from weakref import ref

import torch

from situs._src.runtime.eager.torch_private import TorchDispatchMode, schema_of, storage_key

SMALL = 1024  # elements: shapes do not depend on larger values
_NOWHERE = torch.device("meta")
_IN_LAYERS = {4: torch.channels_last, 5: torch.channels_last_3d}  # by rank: channels last in memory


def meta_tensor(shape: Any, dtype: torch.dtype) -> torch.Tensor:
    """A tensor without elements."""
    return torch.empty(tuple(shape), dtype=dtype, device=_NOWHERE)


def meta_like(value: torch.Tensor) -> torch.Tensor:
    """A tensor with the memory layout of another one; with its elements, if they are few."""
    if value.numel() <= SMALL and value.device != _NOWHERE:
        return value.detach().cpu()
    return _without_elements(value)


def is_known(value: torch.Tensor) -> bool:
    """Whether a tensor has its elements."""
    return value.device != _NOWHERE


class AbstractMode(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """While it is active, PyTorch's functions compute without elements.

    Attributes:
        peak: The peak of the bytes allocated meanwhile.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.peak = 0
        self._held = 0
        self._seen: dict[int, ref[Any]] = {}  # the allocated memory

    def __torch_dispatch__(
        self, func: Any, types: object, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Called by PyTorch instead of each of its functions."""
        kwargs = kwargs or {}
        given = list(_tensors((args, kwargs)))
        for value in given:
            self._seen.setdefault(*_entry(value))
        if all(map(is_known, given)):
            made = _with_elements(func, args, kwargs)
        elif schema_of(func).is_mutable and any(map(is_known, given)):
            raise NotImplementedError("a value that is known would be changed into one that is not")
        else:
            made = _abstractly(func, args, kwargs)
        for value in _tensors(made):
            self._hold(value.untyped_storage())
        return made

    def _hold(self, storage: Any) -> None:
        key, size = storage_key(storage), storage.nbytes()
        if key in self._seen:
            return

        def let_go(gone: object) -> None:
            self._held -= size
            self._seen.pop(key, None)

        self._seen[key] = ref(storage, let_go)
        self._held += size
        self.peak = max(self.peak, self._held)


def _entry(value: torch.Tensor) -> tuple[int, ref[Any]]:
    storage = value.untyped_storage()
    return storage_key(storage), ref(storage)


def _with_elements(func: Any, args: Any, kwargs: Any) -> Any:
    """Computes with elements, unless the result is large: then abstractly."""
    try:
        abstract = _abstractly(func, args, kwargs)
    except Exception:
        if not any(True for _ in _tensors((args, kwargs))):
            raise  # its size is unknown
        return func(*args, **kwargs)  # its size depends on the elements, and they are few
    if all(value.numel() <= SMALL for value in _tensors(abstract)):
        return func(*args, **kwargs)
    return abstract


def _abstractly(func: Any, args: Any, kwargs: Any) -> Any:
    args, kwargs = _mapped(args, _without_elements), _mapped(kwargs, _without_elements)
    if "device" in kwargs:
        kwargs["device"] = _NOWHERE
    made = func(*args, **kwargs)
    return _like_input(made, args[0]) if func is torch.ops.aten.convolution.default else made


def _like_input(made: torch.Tensor, given: torch.Tensor) -> torch.Tensor:
    """The result of a convolution: on every device, a channels-last input gives a channels-last result."""
    order = _IN_LAYERS.get(given.ndim)
    if order is None or given.is_contiguous() or not given.is_contiguous(memory_format=order):
        return made
    return made.contiguous(memory_format=order)


def _without_elements(value: torch.Tensor) -> torch.Tensor:
    if value.device == _NOWHERE:
        return value
    return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device=_NOWHERE)


def _tensors(item: object) -> Iterator[torch.Tensor]:
    """Every tensor in nested lists, tuples and dictionaries."""
    if isinstance(item, torch.Tensor):
        yield item
    elif isinstance(item, (list, tuple)):
        for each in item:
            yield from _tensors(each)
    elif isinstance(item, dict):
        yield from _tensors(list(item.values()))


def _mapped(item: object, function: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    if isinstance(item, torch.Tensor):
        return function(item)
    if isinstance(item, (list, tuple)):
        return type(item)(_mapped(each, function) for each in item)
    return {key: _mapped(each, function) for key, each in item.items()} if isinstance(item, dict) else item
