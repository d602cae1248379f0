"""``tf.memory``: how much memory each device holds, by what, over time; how much a graph will take, and swapping."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.inspect.figures import DeviceMemory as DeviceMemory
from situs._src.inspect.holders import Holder as Holder
from situs._src.inspect.planned import MemoryPlan as MemoryPlan
from situs._src.inspect.planning import plan as plan
from situs._src.inspect.planning import swap_to_host as swap_to_host
from situs._src.inspect.planning import swapped as swapped
from situs._src.inspect.recording import MemoryEvent as MemoryEvent
from situs._src.inspect.recording import Peak as Peak
from situs._src.inspect.recording import Recording as Recording
from situs._src.inspect.recording import record as record
from situs._src.inspect.snapshot import Snapshot as Snapshot
from situs._src.inspect.snapshot import snapshot as snapshot
from situs._src.runtime.abstract.forecast import DeviceForecast as DeviceForecast
