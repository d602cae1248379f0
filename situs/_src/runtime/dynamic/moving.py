"""Moving a session's variables to other devices, while no run is in progress.

All of them are copied to the host first and then to their devices, so that two full devices can exchange their
variables. What does not fit yet is copied when it is first read: an error, if any, is raised in that run.
"""

from __future__ import annotations

from collections.abc import Mapping

from situs._src.base.devices.logical import Device
from situs._src.ir.graph.node import Operation
from situs._src.runtime.eager.allocations import SHORTAGES, enter_variable
from situs._src.runtime.eager.bridge import Value, copier, host, place
from situs._src.runtime.eager.cell import Cell
from situs._src.runtime.run.state import State


def move_variables(state: State, homes: Mapping[Operation, Device]) -> None:
    """Moves the values of variables to the devices of their operations.

    Args:
        state: The state that holds them.
        homes: The operations of variables, and their devices.
    """
    moving = []
    for node, device in homes.items():
        cell = state.find_cell(node.attrs["shared_name"])
        if cell is not None and cell.place.device is not device:
            moving.append((cell, device))
    for cell, device in moving:
        _take_out(cell, device)
    for cell, _ in moving:
        if cell.away is not None:
            try:
                enter_variable(cell.read(), cell.place.device, cell.name)
            except SHORTAGES:
                continue  # it stays on the host until a run reads it


def _take_out(cell: Cell, device: Device) -> None:
    """Copies a value to the host, from where the cell will copy it to its new device."""
    with cell.lock:
        source = cell.place.device
        cell.place = place(device, cell.dtype)
        if not cell.is_initialized:
            return
        down, up = copier(source, host()), copier(host(), device, f"Variable {cell.name}")
        value: Value = cell.read()
        held = value if down is None else down(value)
        del value
        cell.value, cell.away = None, lambda: held if up is None else up(held)
