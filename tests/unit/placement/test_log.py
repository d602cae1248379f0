"""What `log_device_placement` prints."""

from __future__ import annotations

import pytest

from situs._src.placement.log import print_device_mapping
from situs.errors import UnknownDeviceError
from tests.sketch import LOCAL, machine, placed


def test_the_mapping_names_the_cards_in_order_and_no_cpu(capsys):
    print_device_mapping(reversed(machine(2, 2)))
    card = "name: Tesla K40c, pci bus id: 0000:05:00.0, compute capability: 3.5"
    assert capsys.readouterr().out.splitlines() == [
        "Device mapping:",
        f"{LOCAL}/device:GPU:0 -> device: 0, {card}",
        f"{LOCAL}/device:GPU:1 -> device: 1, {card}",
    ]


def test_without_a_card_the_mapping_says_so(capsys):
    print_device_mapping(machine(2, 0))
    assert capsys.readouterr().out == "Device mapping: no known devices.\n"


def test_one_line_a_node_generators_last(capsys):
    placed("a: Const @/cpu:1\nb: Const @/cpu:2\nc: Add(a, b)", log=True)
    assert capsys.readouterr().out.splitlines() == [
        f"c: {LOCAL}/device:CPU:0",
        f"a: {LOCAL}/device:CPU:1",
        f"b: {LOCAL}/device:CPU:2",
    ]


def test_nothing_is_printed_unless_asked_for(capsys):
    placed("a: Const\nb: Exp(a)")
    assert capsys.readouterr().out == ""


def test_nodes_placed_before_a_failure_are_logged(capsys):
    with pytest.raises(UnknownDeviceError):
        placed("a: NoOp\nb: NoOp @/gpu:0", log=True)
    assert capsys.readouterr().out == f"a: {LOCAL}/device:CPU:0\n"
