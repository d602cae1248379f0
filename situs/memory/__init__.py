"""``tf.memory``: how much memory each device holds, by what, over time; how much a graph will take, and swapping."""

from situs.execution.forecast import DeviceForecast as DeviceForecast
from situs.memory.figures import DeviceMemory as DeviceMemory
from situs.memory.holders import Holder as Holder
from situs.memory.planned import MemoryPlan as MemoryPlan
from situs.memory.planning import plan as plan
from situs.memory.planning import swap_to_host as swap_to_host
from situs.memory.planning import swapped as swapped
from situs.memory.recording import MemoryEvent as MemoryEvent
from situs.memory.recording import Peak as Peak
from situs.memory.recording import Recording as Recording
from situs.memory.recording import record as record
from situs.memory.snapshot import Snapshot as Snapshot
from situs.memory.snapshot import snapshot as snapshot

__all__ = [
    "DeviceForecast",
    "DeviceMemory",
    "Holder",
    "MemoryEvent",
    "MemoryPlan",
    "Peak",
    "Recording",
    "Snapshot",
    "plan",
    "record",
    "snapshot",
    "swap_to_host",
    "swapped",
]
