"""``situs devices``: what this machine has. Loads no kernel library and touches no GPU."""

from __future__ import annotations

import argparse
from typing import Any

from situs._src.base.devices import instructions
from situs._src.base.devices.inventory import process
from situs._src.base.devices.logical import Device, in_listing_order
from situs._src.cli import output


def add_command(commands: Any) -> None:
    """Adds ``devices`` to the command line."""
    parser = commands.add_parser("devices", help="list the devices of this machine")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Prints the devices, CPU first."""
    devices = in_listing_order(process.preview())
    if arguments.json:
        output.print_json([describe(device) for device in devices])
    else:
        _print_table(devices)


def describe(device: Device) -> dict[str, Any]:
    """One device as plain data."""
    if device.card is None:
        processor = process.processor
        own: dict[str, Any] = {
            "description": processor.name,
            "cores": processor.cores,
            "memory_bytes": processor.memory_bytes,
        }
        found = instructions.verdict()
        if found.text:
            own |= {"onednn_limit": found.limit, "note": found.text}
    else:
        card = device.card
        own = {
            "description": card.name,
            "pci_bus_id": card.pci_bus_id,
            "virtual": card.is_virtual,
            "compute_capability": ".".join(map(str, card.compute_capability)),
            "memory_bytes": device.memory_limit,
        }
    return {"name": device.name, "type": device.type, "physical": device.physical.name, **own}


def _print_table(devices: list[Device]) -> None:
    from rich.box import SIMPLE_HEAD  # loaded only when a table is printed
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for title in ("name", "what it is", "memory", "details"):
        table.add_column(title, justify="right" if title == "memory" else "left", overflow="fold")
    for device in devices:
        facts = describe(device)
        memory = f"{facts['memory_bytes'] / 2**30:.1f} GiB"
        table.add_row(device.local_name, facts["description"], memory, _details(facts))
    output.console().print(table)


def _details(facts: dict[str, Any]) -> str:
    if "cores" in facts:
        return "; ".join([f"{facts['cores']} cores", *([facts["note"]] if "note" in facts else [])])
    if facts["virtual"]:
        return "the CPU stands in for it"
    return f"pci {facts['pci_bus_id']}, capability {facts['compute_capability']}"
