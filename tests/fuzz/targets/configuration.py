"""Configuration: messages as text, JSON and keywords, sessions made of them, sizes, and splits of devices."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from hypothesis import strategies as st

import situs as tf
import situs.compat.v1 as v1
from situs._src.base import settings
from situs._src.base.devices.inventory import Inventory
from situs._src.base.devices.logical import LogicalDeviceConfiguration
from situs._src.base.proto.formats import from_json, parse, to_json, to_text
from tests.fuzz.case import Case, require
from tests.fuzz.drawing import Drawer
from tests.fuzz.mutation import NUMBERS, mutated_text
from tests.fuzz.values import Values

FIELDS = (
    *("allow_soft_placement", "log_device_placement", "intra_op_parallelism_threads", "inter_op_parallelism_threads"),
    *("device_count", "gpu_options", "graph_options", "operation_timeout_in_ms", "device_filters", "cluster_def"),
)
GPU_FIELDS = (
    *("per_process_gpu_memory_fraction", "allow_growth", "visible_device_list", "allocator_type", "experimental"),
    *("deferred_deletion_bytes", "force_gpu_compatible", "polling_active_delay_usecs"),
)
SIZES = ["512MiB", "2GiB", "1.5G", "4096", "4x2GiB", "2", "1024x1B", "0", "3 x 64KB", "1e3", "1TiB", "0.1K"]
_SIZE = st.builds(
    "{}{}{}{}".format,
    st.one_of(st.sampled_from(NUMBERS), st.integers().map(str), st.floats().map(repr)),
    st.sampled_from(["", " ", ".", "x", "*", "\n"]),
    st.sampled_from(["", "K", "Mi", "G", "t", "Zi", "\u212a"]),
    st.sampled_from(["", "B", "b", "iB", "2GiB"]),
)


def _messages() -> list[Any]:
    gpu = v1.GPUOptions(per_process_gpu_memory_fraction=0.5, allow_growth=True, visible_device_list="0,1")
    gpu.experimental.virtual_devices.add(memory_limit_mb=[64, 64])
    graph = v1.GraphOptions(place_pruned_graph=True)
    return [
        v1.ConfigProto(allow_soft_placement=True, log_device_placement=False, intra_op_parallelism_threads=1),
        v1.ConfigProto(device_count={"CPU": 2, "GPU": 1}, device_filters=["/cpu:0"], operation_timeout_in_ms=100),
        v1.ConfigProto(gpu_options=gpu, graph_options=graph),
    ]


class Configuration:
    """Cases of configuration."""

    def __init__(self, folder: Path) -> None:
        tf.constant(1.0)
        self._values = Values()
        self._sizes = Drawer(_SIZE)
        messages = _messages()
        self._texts = [to_text(message) for message in messages]
        self._json = [to_json(message) for message in messages]
        self._makers = (self._text, self._text, self._as_json, self._keywords, self._size, self._virtual, self._split)

    def case(self, random: Random) -> Case:
        """A configuration of some form."""
        return random.choice(self._makers)(random)

    def _text(self, random: Random) -> Case:
        text = mutated_text(random, random.choice(self._texts), self._texts)
        session = random.random() < 0.3
        return Case(f"ConfigProto of {text!a}", lambda: _checked(parse(text, v1.ConfigProto()), session))

    def _as_json(self, random: Random) -> Case:
        text = mutated_text(random, random.choice(self._json), self._json)
        return Case(f"ConfigProto of JSON {text!a}", lambda: _checked(from_json(text, v1.ConfigProto()), False))

    def _keywords(self, random: Random) -> Case:
        make, names = random.choice(((v1.ConfigProto, FIELDS), (v1.GPUOptions, GPU_FIELDS)))
        given = {name: self._values.any(random) for name in random.sample(names, random.randint(1, 2))}
        session = random.random() < 0.3
        return Case(
            f"{make.__name__}(**{self._values.shown(given)})", lambda: _checked(make(**given), session), plain=True
        )

    def _size(self, random: Random) -> Case:
        text = self._some_size(random)
        read: Callable[[str], Any] = random.choice((settings.parse_bytes, settings.parse_virtual_gpus))
        return Case(f"{read.__name__}({text!a})", lambda: read(text))

    def _virtual(self, random: Random) -> Case:
        count = self._values.any(random)
        memory = self._values.any(random) if random.random() < 0.5 else self._some_size(random)
        shown = f"set_virtual_gpus({self._values.shown(count)}, {self._values.shown(memory)})"
        return Case(shown, lambda: tf.config.set_virtual_gpus(count, memory))

    def _split(self, random: Random) -> Case:
        limits = [self._values.any(random) for _ in range(random.randint(1, 3))]

        def run() -> None:
            inventory = Inventory()
            device = inventory.physical("GPU")[0]
            inventory.set_split(device, [LogicalDeviceConfiguration(memory_limit=limit) for limit in limits])
            inventory.devices()

        return Case(f"logical devices of {self._values.shown(limits)}", run)

    def _some_size(self, random: Random) -> str:
        drawn = random.random() < 0.5
        return str(self._sizes.draw(random)) if drawn else mutated_text(random, random.choice(SIZES), SIZES)


def _checked(message: Any, session: bool) -> None:
    """A message that was read is printed and read again as the same one; a session may be made of it."""
    whole = v1.ConfigProto(gpu_options=message) if isinstance(message, v1.GPUOptions) else message
    again = parse(to_text(whole), v1.ConfigProto())
    require(to_text(again) == to_text(whole), "the text of a message is not the message")
    if session:
        with v1.Graph().as_default(), v1.Session(config=whole) as made:
            require(float(made.run(v1.add(1.0, 1.0))) == 2.0, "1 + 1")
