"""``tf.saved_model.experimental.TrackableResource``: an object around a handle that ops take, such as a table."""

from __future__ import annotations

from typing import Any

from situs._src.base.devices.scope import device as device_scope
from situs._src.base.export import export
from situs._src.checkpoints.tracking import AutoTrackable


@export("saved_model.experimental.TrackableResource")
class TrackableResource(AutoTrackable):
    """The base of objects that hold a handle. A subclass says how it is made: ``_create_resource()``.

    Args:
        device: The device to make it on.
    """

    def __init__(self, device: str = "") -> None:
        self._resource_device = device
        self._handle: Any = None

    def _create_resource(self) -> Any:
        """Makes the handle."""
        raise NotImplementedError("TrackableResource._create_resource not implemented.")

    def _initialize(self) -> None:
        """Does what is needed before the handle can be used."""

    @property
    def resource_handle(self) -> Any:
        """The handle, made when it is first asked for."""
        if self._handle is None:
            with device_scope(self._resource_device or None):
                self._handle = self._create_resource()
        return self._handle
