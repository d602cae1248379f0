"""Elements as eager programs get them: tensors and datasets, in their structure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from situs._src.base import dtype as dt
from situs._src.base.devices.logical import Device
from situs._src.base.errors import UnimplementedError
from situs._src.base.tree import LEAF
from situs._src.data.element import DatasetSpec, Element, Spec
from situs._src.data.function import DatasetArray, MakeDataset, Ready
from situs._src.data.node import Node
from situs._src.runtime.eager.bridge import host, place
from situs._src.runtime.eager.tensor import wrap
from situs._src.tracing.spec import TensorSpec


def presenter(spec: Spec, where: Device | None, make_dataset: MakeDataset) -> Callable[[Element], Any]:
    """From elements on a device to what programs get."""
    devices = [where or host()] * len(spec.leaves)
    if spec.has_datasets:
        return lambda element: present(spec, element, devices, make_dataset)
    places = list(map(_place, spec.leaves, devices))
    pack = spec.pack
    if spec.form is LEAF:
        only = places[0]
        return lambda element: wrap(element[0], only)
    return lambda element: pack(list(map(wrap, element, places)))


def present(spec: Spec, element: Element, devices: Sequence[Device], make_dataset: MakeDataset) -> Any:
    """What programs get for one element whose values lie on these devices."""
    return spec.pack(
        [
            wrap(value, _place(leaf, device)) if isinstance(leaf, TensorSpec) else _dataset(value, leaf, make_dataset)
            for value, leaf, device in zip(element, spec.leaves, devices, strict=True)
        ]
    )


def _place(leaf: Any, device: Device) -> Any:
    return place(host() if leaf.dtype is dt.string else device, leaf.dtype)


def _dataset(value: Any, leaf: DatasetSpec, make_dataset: MakeDataset) -> Any:
    return make_dataset(Ready(value[()])) if leaf.shape.rank == 0 else DatasetArray(value, leaf)


def no_dataset(node: Node) -> Any:
    """In the place of what makes datasets of nodes, where none are expected."""
    raise UnimplementedError("An iterator that was made without a dataset cannot have datasets in its elements.")
