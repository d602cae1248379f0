"""Prefetching elements to a device.

    ds.batch(128).apply(tf.data.experimental.prefetch_to_device("/gpu:0"))

    thread of the pipeline     make batch 2 | pin | launch its copy
    copy stream                               copy 1 ------- copy 2 -------
    program's stream           step 0 ------- | wait for copy 1 | step 1 -------

A thread produces an element, copies it into pinned memory and enqueues the copy on a separate stream. The consumer
makes its own stream wait for that copy, and for nothing else. A virtual GPU has no streams: there the thread makes the
copy. In PyTorch's profiler the copies are called ``PrefetchToDevice``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch

from situs._src.base import dtype as dt
from situs._src.base import locks
from situs._src.base.devices.inventory import process
from situs._src.base.devices.logical import Device
from situs._src.base.devices.spec import parse_spec
from situs._src.base.errors import ArgumentError, UnknownDeviceError
from situs._src.base.export import export
from situs._src.base.typing import DeviceLike, IntLike
from situs._src.data.base import DatasetV2, node_of
from situs._src.data.element import Element
from situs._src.data.node import Binding, Node, Stream, Transformation, guarded
from situs._src.data.parallel import prefetched
from situs._src.data.prefetching import checked_buffer, limit_for
from situs._src.ops.attribute import as_int
from situs._src.placement.candidates import unknown_device_text
from situs._src.runtime.eager.allocations import counted
from situs._src.runtime.eager.bridge import host, torch_device
from situs._src.runtime.eager.oom import exhausted, is_shortage

_NAME = "PrefetchToDevice"
_DEFAULT = 2  # elements: one that is being used, one that is being copied


@export("data.experimental.prefetch_to_device")
def prefetch_to_device(device: DeviceLike, buffer_size: IntLike | None = None) -> Callable[[Any], Any]:
    """A transformation that brings elements to a device ahead of their use; for ``Dataset.apply``.

    Args:
        device: The name of the device, such as ``"/gpu:0"``.
        buffer_size: How many elements to bring ahead; 2 by default.
    """
    target = _device(device)
    size = _DEFAULT if buffer_size is None else checked_buffer(as_int(buffer_size, "buffer_size"))

    def apply(dataset: Any) -> Any:
        node = node_of(dataset, "prefetch_to_device()")
        assert isinstance(dataset, DatasetV2)
        return dataset._of(ToDevice(node, target, size))

    return apply


@export("data.experimental.copy_to_device")
def copy_to_device(target_device: DeviceLike, source_device: DeviceLike = "/cpu:0") -> Callable[[Any], Any]:
    """A transformation that brings elements to a device when they are asked for; for ``Dataset.apply``.

    Args:
        target_device: The name of the device, such as ``"/gpu:0"``.
        source_device: Accepted for TensorFlow's programs: the device that the elements are on.
    """
    return prefetch_to_device(target_device, 0)


def _device(name: Any) -> Device:
    if not isinstance(name, str):
        raise ArgumentError(f"Expecting a string device name. Got {type(name)}({name!r})")
    wanted = parse_spec(name).completed()
    for device in process.devices():
        if device.spec == wanted:
            return device
    raise UnknownDeviceError(unknown_device_text(name, process.devices(), soft=False))


class ToDevice(Transformation):
    """The same elements, on another device."""

    title = _NAME

    def __init__(self, input: Node, target: Device, size: int) -> None:
        super().__init__(input)
        if input.spec.has_datasets:
            raise ArgumentError("Datasets stay on the host; only tensors can be brought to a device.")
        self._target = self.where = target
        self._size = size

    def start(self, binding: Binding) -> Stream:
        """Begins an iteration."""
        return self.start_after(binding, 0)

    def start_after(self, binding: Binding, count: int) -> Stream:
        """Begins an iteration behind the first elements, which are not copied."""
        items = self.input.start_after(binding, count).elements()
        move = mover(self.input.where or host(), self._target, [leaf.dtype for leaf in self.spec.leaves])
        if move is None:
            return Stream(items if not self._size else prefetched(items, limit_for(self._size), binding.life))
        moved: Iterator[Any] = map(guarded(move.bring), items)
        if self._size:
            moved = prefetched(moved, limit_for(self._size), binding.life, "copy")
        return Stream(map(guarded(move.receive), moved))

    def cardinality(self, binding: Binding) -> int:
        """As many as there were."""
        return self.input.cardinality(binding)


# Moving.


def mover(source: Device, target: Device, dtypes: list[dt.DType]) -> Mover | None:
    """What moves elements from one device to another; None if they may stay where they are."""
    if source is target or (source.type == target.type == "CPU"):
        return None
    on_card = torch_device(target).type == "cuda" and torch_device(source).type == "cpu"
    return (CardMover if on_card else Mover)(target, dtypes)


class Mover:
    """Moves elements to a device: in two steps, by the thread that makes them and by the one that takes them."""

    def __init__(self, target: Device, dtypes: list[dt.DType]) -> None:
        self._target = target
        self._moves = [dtype is not dt.string for dtype in dtypes]  # strings live on the host
        self._copy = counted(self._copied, target, _NAME)

    def bring(self, element: Element) -> tuple[Any, ...]:
        """Begins to move an element."""
        with torch.profiler.record_function(_NAME):
            return self._each(element)

    def receive(self, brought: Any) -> Element:
        """The element, ready for use."""
        return brought  # type: ignore[no-any-return]

    def _each(self, element: Element) -> Element:
        return tuple([self._one(value) if moves else value for value, moves in zip(element, self._moves, strict=True)])

    def _one(self, value: torch.Tensor) -> torch.Tensor:
        try:
            return self._copy(value)  # type: ignore[no-any-return]
        except Exception as error:
            if is_shortage(error):
                raise exhausted(error, self._target, _NAME, value) from None
            raise

    def _copied(self, value: torch.Tensor) -> torch.Tensor:
        where = torch_device(self._target)
        return value.clone() if value.device == where else value.to(where)


class CardMover(Mover):
    """Moves elements from the host to a GPU, on a stream of its own."""

    def __init__(self, target: Device, dtypes: list[dt.DType]) -> None:
        super().__init__(target, dtypes)
        self._card = torch_device(target)
        self._stream = _stream(self._card)

    def bring(self, element: Element) -> tuple[tuple[Any, ...], Any]:
        """Orders the copies, out of pinned memory."""
        with torch.profiler.record_function(_NAME), torch.cuda.stream(self._stream):
            moved = self._each(element)
            return moved, self._stream.record_event()

    def receive(self, brought: Any) -> Element:
        """The element; the stream of the caller waits for the copies."""
        element, copied = brought
        stream = torch.cuda.current_stream(self._card)
        stream.wait_event(copied)
        for value, moves in zip(element, self._moves, strict=True):
            if moves:
                value.record_stream(stream)  # its memory is free again when the work on it is done
        return element  # type: ignore[no-any-return]

    def _copied(self, value: torch.Tensor) -> torch.Tensor:
        pinned = value if value.is_pinned() else value.contiguous().pin_memory()
        return pinned.to(self._card, non_blocking=True)


_streams: dict[torch.device, torch.cuda.Stream] = {}
_lock = locks.lock()


def _stream(card: torch.device) -> torch.cuda.Stream:
    with _lock:
        if card not in _streams:
            _streams[card] = torch.cuda.Stream(card)  # type: ignore[no-untyped-call]
        return _streams[card]
