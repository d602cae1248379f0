"""Device names: read, printed, merged, opened as a scope, in eager programs and in graphs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from hypothesis import strategies as st

import situs as tf
import situs.compat.v1 as v1
from tests.fuzz.case import Case, require
from tests.fuzz.drawing import Drawer
from tests.fuzz.mutation import NUMBERS, mutated_text
from tests.fuzz.values import Values

SEEDS = [
    "/job:localhost/replica:0/task:0/device:GPU:1",
    *("/device:GPU:0", "/gpu:1", "gpu", "GPU:0", "/cpu:0", "cpu:*", "", "/device:CPU:*", "/job:w/task:3/cpu:0"),
    *("/job:worker/replica:1", "/physical_device:GPU:0", "/device:TPU:0", "/task:0", "/job:ps/device:XLA_CPU:7"),
]
_INDEX = st.one_of(st.sampled_from(["*", "", *NUMBERS]), st.integers().map(str), st.text(max_size=3))
_PART = st.one_of(
    st.builds("job:{}".format, st.text(max_size=6)),
    st.builds("{}:{}".format, st.sampled_from(["replica", "task", "id", "job", "device"]), _INDEX),
    st.builds("{}:{}".format, st.sampled_from(["cpu", "GPU", "gPu", "tpu", "physical_device:GPU"]), _INDEX),
    st.builds("device:{}:{}".format, st.sampled_from(["CPU", "GPU", "gpu", "Gpu", "FPGA", "*", ""]), _INDEX),
    st.text(max_size=8),
)
GRAMMAR = st.lists(_PART, max_size=6).map(lambda parts: "".join("/" + part for part in parts))


class Devices:
    """Cases of device names."""

    def __init__(self, folder: Path) -> None:
        self._drawer = Drawer(GRAMMAR)
        self._values = Values()
        tf.constant(1.0)
        self._gpu = tf.config.list_physical_devices("GPU")[0]

    def case(self, random: Random) -> Case:
        """A name, and something done with it."""
        sort = random.randrange(10)
        name: Any = self._drawer.draw(random) if sort < 4 else mutated_text(random, random.choice(SEEDS), SEEDS)
        if sort == 9:  # a device function may fail as it likes, so none is given
            name = self._values.any(random)
            name = None if callable(name) else name
        use = random.choice(USES)
        return Case(f"{use.__name__}({self._values.shown(name)})", lambda: use(name))


def scope(name: Any) -> None:
    """An op in a scope."""
    with tf.device(name):
        require(float(tf.constant(1.0) + 1.0) == 2.0, "1 + 1")


def graph_scope(name: Any) -> None:
    """A run of an op that was placed by name."""
    with v1.Graph().as_default(), v1.Session() as session:
        with v1.device(name):
            total = v1.add(1.0, 1.0)
        require(float(session.run(total)) == 2.0, "1 + 1")


def nested(name: Any) -> None:
    """A name inside and around another."""
    with tf.device("/gpu:0"), tf.device(name), tf.device("/cpu:0"):
        require("CPU:0" in tf.identity(tf.constant(1.0)).device, "the inner scope")


def round_trip(name: Any) -> None:
    """A name read, printed and read again is the same."""
    spec = tf.DeviceSpec.from_string(name)
    require(tf.DeviceSpec.from_string(spec.to_string()) == spec, f"{spec!r} is not what its name says")
    hash(spec), repr(spec)


def merged(name: Any) -> None:
    """Two names merged."""
    spec = tf.DeviceSpec.from_string(name)
    tf.DeviceSpec.from_string("/job:a/gpu:0").make_merged_spec(spec).to_string()
    mutable = v1.DeviceSpec()
    mutable.parse_from_string(name)
    mutable.merge_from(v1.DeviceSpec(job="b"))
    mutable.to_string()


def fields(name: Any) -> None:
    """A spec from its fields, and one of its fields replaced."""
    spec = tf.DeviceSpec(job=name, device_type="GPU", device_index=name)
    spec.replace(task=name).to_string()


def listed(name: Any) -> None:
    """Names where the type of a device is asked for."""
    tf.config.list_physical_devices(name)
    tf.config.list_logical_devices(name)
    tf.config.get_visible_devices(name)


def memory(name: Any) -> None:
    """Names where a device is asked for."""
    tf.config.experimental.get_memory_info(name)


def details(name: Any) -> None:
    """Names where a physical device belongs."""
    tf.config.experimental.get_device_details(name)


def visible(name: Any) -> None:
    """Devices that are chosen by name."""
    tf.config.set_visible_devices(name, name)


def found(name: Any) -> None:
    """Names of tensors on devices, copied there."""
    with v1.Graph().as_default(), v1.device(v1.DeviceSpec(job=name)):
        v1.constant(1.0)


USES: tuple[Callable[[Any], None], ...] = (
    *(scope, graph_scope, nested, round_trip, round_trip, merged, fields, listed, memory, details, visible, found),
)
