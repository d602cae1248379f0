"""``tf.profiler.experimental``: profiles of a part of a program.

    tf.profiler.experimental.start("logs")
    for step in range(5):
        with tf.profiler.experimental.Trace("train", step_num=step, _r=1):
            train()
    tf.profiler.experimental.stop()

    logs/plugins/profile/2026_11_16_16_20_00/HOST.trace.json.gz

The file has what PyTorch's profiler sees, and Situs computes with PyTorch: kernels on the host, by thread; kernels,
copies and launches on GPUs; the spans of `Trace`. TensorBoard's profile plugin shows it, and so do Perfetto
(ui.perfetto.dev) and Chrome. One profiler runs at a time. Memory has a tool of its own: ``tf.memory.record``.
"""

from __future__ import annotations

import platform
import time
from types import TracebackType
from typing import Any, NamedTuple

import torch

from situs._src.base import locks
from situs._src.base.errors import AlreadyExistsError, DTypeError, UnavailableError, shown
from situs._src.base.export import export
from situs._src.base.typing import PathLike
from situs._src.files.paths import as_text, local
from situs._src.ops.attribute import as_bool


@export("profiler.experimental.ProfilerOptions", v1=())
class ProfilerOptions(NamedTuple):
    """What to record; taken as in TensorFlow, with one difference: levels above 0 are all the same.

    Attributes:
        host_tracer_level: Whether to record the host; 0 for not.
        python_tracer_level: Whether to record Python's calls as well.
        device_tracer_level: Whether to record GPUs; 0 for not.
        delay_ms: Accepted for TensorFlow's programs.
    """

    host_tracer_level: int = 2
    python_tracer_level: int = 0
    device_tracer_level: int = 1
    delay_ms: int | None = None


class _Running:
    """The profiler that is running."""

    lock = locks.lock()
    profiler: torch.profiler.profile | None = None
    folder: str = ""


@export("profiler.experimental.start", v1=())
def start(logdir: PathLike, options: Any = None) -> None:
    """Begins to profile.

    Args:
        logdir: The folder that `stop` writes to.
        options: A `ProfilerOptions`.

    Raises:
        AlreadyExistsError: a profiler is running.
    """
    folder = as_text(logdir)
    chosen = ProfilerOptions() if options is None else options
    if not isinstance(chosen, ProfilerOptions):
        raise DTypeError(f"options is a tf.profiler.experimental.ProfilerOptions, got {shown(options)}.")
    activities = [torch.profiler.ProfilerActivity.CPU] if chosen.host_tracer_level else []
    if chosen.device_tracer_level and torch.cuda.is_available():
        activities.append(torch.profiler.ProfilerActivity.CUDA)
    with _Running.lock:
        if _Running.profiler is not None:
            raise AlreadyExistsError("Another profiler is running.")
        profiler = torch.profiler.profile(
            activities=activities or [torch.profiler.ProfilerActivity.CPU], with_stack=chosen.python_tracer_level > 0
        )
        profiler.start()
        _Running.profiler, _Running.folder = profiler, folder


@export("profiler.experimental.stop", v1=())
def stop(save: bool = True) -> None:
    """Ends profiling, and writes what was recorded.

    Args:
        save: Whether to write it.

    Raises:
        UnavailableError: no profiler is running.
    """
    keeps = as_bool(save, "save")
    with _Running.lock:
        profiler, _Running.profiler = _Running.profiler, None
        if profiler is None:
            raise UnavailableError("Cannot export profiling results. No profiler is running.")
        profiler.stop()
        if keeps:
            run = local(_Running.folder) / "plugins" / "profile" / time.strftime("%Y_%m_%d_%H_%M_%S")
            run.mkdir(parents=True, exist_ok=True)
            profiler.export_chrome_trace(str(run / f"{platform.node() or 'localhost'}.trace.json.gz"))


@export("profiler.experimental.Profile", v1=())
class Profile:
    """A context that is profiled.

    Args:
        logdir: The folder to write to at its end.
        options: A `ProfilerOptions`.
    """

    def __init__(self, logdir: PathLike, options: Any = None) -> None:
        self._logdir, self._options = as_text(logdir), options

    def __enter__(self) -> None:
        start(self._logdir, self._options)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        stop()


@export("profiler.experimental.Trace", v1=())
class Trace:
    """A span with a name in what is recorded, such as a step of training. Costs next to nothing otherwise.

    Args:
        name: Its name.
        kwargs: What belongs to it, such as ``step_num``: it is written behind the name.
    """

    def __init__(self, name: str, **kwargs: Any) -> None:
        if not isinstance(name, str):
            raise DTypeError(f"The name of a Trace is a string, got {shown(name)}.")
        self._name, self._about = name, dict(kwargs)
        self._span: Any = None

    def __enter__(self) -> Trace:
        if _Running.profiler is not None:
            about = ",".join(f"{key}={value}" for key, value in self._about.items())
            self._span = torch.profiler.record_function(f"{self._name}#{about}#" if about else self._name)
            self._span.__enter__()
        return self

    def set_metadata(self, **kwargs: Any) -> None:
        """Adds to what belongs to the span; it is seen if it was known at the beginning."""
        self._about.update(kwargs)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        span, self._span = self._span, None
        if span is not None:
            span.__exit__(kind, error, trace)
