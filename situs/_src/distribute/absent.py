"""Unsupported strategies: the names exist, because libraries use them in isinstance checks."""

from __future__ import annotations

from typing import Any

from situs._src.base.errors import UnimplementedError
from situs._src.base.export import export
from situs._src.distribute.strategy import Strategy


class _Absent(Strategy):
    """A strategy that cannot be created."""

    _instead = (
        "tf.distribute.MirroredStrategy replicates over the devices of one process, "
        "tf.distribute.MultiWorkerMirroredStrategy over several"
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise UnimplementedError(f"Situs has no tf.distribute.{type(self).__name__} yet: {self._instead}.")


@export("distribute.ParameterServerStrategy", "distribute.experimental.ParameterServerStrategy")
class ParameterServerStrategy(_Absent):
    """Variables on parameter servers."""


@export("distribute.TPUStrategy", "distribute.experimental.TPUStrategy")
class TPUStrategy(_Absent):
    """Replicas on TPUs, which PyTorch's kernels do not run on."""
