"""Reading a ``ConfigProto``: the devices of a session, its threads, and its memory options.

The list of visible GPUs determines the process's devices, so it counts only until these are created; a later session
that requests other GPUs raises an error, as in TensorFlow. Memory options count until a GPU is first used; a session
that requests others after that runs without them, and the first of them warns.
"""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from situs._src.base import locks
from situs._src.base.budget import policy
from situs._src.base.devices import threads
from situs._src.base.devices.inventory import Configurations, check_parts, process
from situs._src.base.devices.logical import CPU_MEMORY_LIMIT, Device, LogicalDeviceConfiguration
from situs._src.base.devices.physical import PhysicalDevice
from situs._src.base.devices.spec import parse_spec
from situs._src.base.errors import AlreadyExistsError, DTypeError, InvalidArgumentError, NotFoundError
from situs._src.placement import options
from situs._src.placement.placer_setting import Placer
from situs._src.runtime.eager.cuda_memory import in_use
from situs._src.runtime.run.threads import Pool, shared_pool

if TYPE_CHECKING:
    from situs._src.base.proto.config import ConfigProto


@dataclass(frozen=True)
class SessionConfig:
    """A session's devices and options."""

    devices: tuple[Device, ...]
    soft: bool
    log: bool
    pruned: bool
    pool: Pool | None
    timeout_ms: int
    swaps: bool
    adds_shapes: bool
    placer: Placer
    compiles: bool | None  # its compile setting; None if unset


def read_config(config: object) -> SessionConfig:
    """Applies a ``ConfigProto`` to the process as far as possible, and returns the session's part.

    Raises:
        TypeError: `config` is something else.
    """
    from situs._src.base.proto.config import ConfigProto, OptimizerOptions, RewriterConfig  # it loads protobuf

    # Allows a graph to offload values to the host, as `inspect.planning.swap_to_host` does for all graphs.
    swapping = (RewriterConfig.SWAPPING_HEURISTICS, RewriterConfig.HEURISTICS)
    if config is None:
        config = ConfigProto()
    if not isinstance(config, ConfigProto):
        raise DTypeError(f'Argument `config` must be a tf.ConfigProto, but got "{type(config).__name__}"')
    asked = config.gpu_options
    if asked.visible_device_list:
        _show_cards(asked.visible_device_list)
    share = asked.per_process_gpu_memory_fraction
    fraction = policy.check_fraction(share) if share else None  # 0 means unset in a message
    request = policy.Request(asked.allow_growth, fraction, _parts(asked))
    if not policy.ask(request, in_use):
        _warn_too_late(request)
    if config.intra_op_parallelism_threads and not process.initialized:
        threads.set_intra(config.intra_op_parallelism_threads)
    return SessionConfig(
        devices=_devices(config),
        soft=config.allow_soft_placement,
        log=config.log_device_placement,
        pruned=config.graph_options.place_pruned_graph,
        pool=_pool(config),
        timeout_ms=config.operation_timeout_in_ms,
        swaps=config.graph_options.rewrite_options.memory_optimization in swapping,
        adds_shapes=config.graph_options.infer_shapes,
        placer=_placer(config),
        compiles={
            OptimizerOptions.OFF: False,
            OptimizerOptions.ON_1: True,
            OptimizerOptions.ON_2: True,
        }.get(config.graph_options.optimizer_options.global_jit_level),
    )


# GPUs and their memory.


def memory_is_settled() -> bool:
    """Whether memory of a GPU has been reserved, so that the policies are fixed."""
    return process.initialized and any(device.type == "GPU" and in_use(device) for device in process.devices())


_warned = False


def _warn_too_late(request: policy.Request) -> None:
    """Warns once about options that come too late: as in TensorFlow, several sessions should still run."""
    global _warned
    if _warned:
        return
    _warned = True
    gpus = [device for device in process.devices() if device.type == "GPU"]
    found = "; ".join(f"{gpu.short_name} {policy.of(gpu)}" for gpu in gpus[:4]) + ("; ..." if len(gpus) > 4 else "")
    warnings.warn(
        f"This session asks for {request}, but the memory of the GPUs is settled ({found}), and the session goes on "
        "with that. Give these options to the first session, or set them with tf.config at the top of the program, "
        "before anything runs on a GPU; or start a new process.",
        RuntimeWarning,
        stacklevel=_depth(),
    )


def _depth() -> int:
    """The stack depth of the user's program, for a warning that points there."""
    frame, depth = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "situs":
        frame, depth = frame.f_back, depth + 1
    return depth


def _show_cards(text: str) -> None:
    cards = process.physical("GPU")
    wanted = [_card_number(entry, text, len(cards)) for entry in text.split(",")]
    if len(set(wanted)) != len(wanted):
        raise InvalidArgumentError(f"visible_device_list contained a duplicate entry: {text}")
    chosen = [cards[number] for number in wanted]
    if process.initialized:
        if process.visible("GPU") != chosen:
            raise AlreadyExistsError(
                "TensorFlow device (GPU:0) is being mapped to multiple devices, which is not supported: the GPUs of "
                f"this process are {[d.name for d in process.visible('GPU')]}, and this session asks for "
                f"visible_device_list={text!r}. Give every session the same list."
            )
        return
    process.set_visible(chosen, "GPU")


def _parts(options: Any) -> dict[PhysicalDevice, Configurations]:
    """How the GPUs, in order, are to be split; without GPUs, as in TensorFlow, options are ignored."""
    wanted = options.experimental.virtual_devices
    if not len(wanted) or not process.physical("GPU"):
        return {}
    cards = process.visible("GPU")
    if options.per_process_gpu_memory_fraction:
        raise InvalidArgumentError(
            "It's invalid to set per_process_gpu_memory_fraction when virtual_devices is set. Leave one of them out: "
            "the fraction is a share of every whole GPU, while the memory limits of virtual_devices split one GPU."
        )
    if options.visible_device_list and len(wanted) != len(cards):
        raise InvalidArgumentError(
            "The number of GPUs in visible_device_list doesn't match the number of elements in the virtual_devices "
            f"list. #GPUs in visible_device_list: {len(cards)} virtual_devices.size(): {len(wanted)}"
        )
    if len(wanted) > len(cards):
        raise InvalidArgumentError(
            f"Not enough GPUs to create virtual devices. num_gpus_to_use: {len(cards)} #virtual_devices: {len(wanted)}"
        )
    found = {card: _limits(entry) for card, entry in zip(cards, wanted, strict=False) if len(entry.memory_limit_mb)}
    for card, parts in found.items():
        check_parts(card, parts, process.card_of(card))
    return found


def _limits(entry: Any) -> Configurations:
    return tuple(LogicalDeviceConfiguration(memory_limit=megabytes) for megabytes in entry.memory_limit_mb)


def _card_number(entry: str, text: str, count: int) -> int:
    if not entry.strip().isdecimal():
        raise InvalidArgumentError(
            f"Could not parse entry in 'visible_device_list': '{entry}'. visible_device_list = {text}"
        )
    if len(entry) > 9 or int(entry) >= count:
        raise InvalidArgumentError(
            f"'visible_device_list' listed an invalid GPU id '{entry.strip()[:20]}' but visible device count is {count}"
        )
    return int(entry)


# Devices.

MOST_CPUS = 1024
_extra_cpus: list[Device] = []
_lock = locks.lock()


def _devices(config: ConfigProto) -> tuple[Device, ...]:
    counts = dict(config.device_count)
    devices = list(process.devices())
    if "CPU" in counts:
        devices = [d for d in devices if d.type != "CPU"] + _cpus(devices, counts["CPU"])
    if "GPU" in counts:
        devices = [d for d in devices if d.type != "GPU" or d.index < counts["GPU"]]
    filters = [parse_spec(text) for text in config.device_filters]
    if filters:
        devices = [d for d in devices if d.type == "CPU" or any(f.matches(d.spec) for f in filters)]
    return tuple(sorted(devices, key=lambda device: device.rank))


def _cpus(devices: list[Device], count: int) -> list[Device]:
    """A number of logical CPUs: those of the process, and more of the same kind if a session wants them."""
    if count <= 0:
        raise NotFoundError("No CPU devices are available in this process")
    if count > MOST_CPUS:
        raise InvalidArgumentError(f"device_count asks for {count} CPUs; a session has at most {MOST_CPUS} of them.")
    own = [device for device in devices if device.type == "CPU"]
    with _lock:
        while len(own) + len(_extra_cpus) < count:
            index = len(own) + len(_extra_cpus)
            _extra_cpus.append(Device("CPU", index, own[0].physical, CPU_MEMORY_LIMIT))
    return (own + _extra_cpus)[:count]


# Placement.


def _placer(config: ConfigProto) -> Placer:
    """The placer of a session: the dynamic one if it asks for repeated placement, else the program's.

    ``placement_period`` is TensorFlow's field for it: the number of steps after which devices are assigned again.
    """
    chosen = options.current.placer
    if config.placement_period < 0:
        raise InvalidArgumentError(f"placement_period is a number of steps from 0 on, got {config.placement_period}.")
    if not config.placement_period:
        return chosen
    return replace(chosen, kind="dynamic", period=config.placement_period)


# Threads.


def _pool(config: ConfigProto) -> Pool | None:
    """The threads for work that overlaps: the process's, whose number the first session determines, or its own."""
    wanted = config.inter_op_parallelism_threads or threads.current.inter
    if wanted < 0:
        return None
    if config.use_per_session_threads:
        return Pool(wanted)
    return shared_pool(wanted)
