"""``MonitoredTrainingSession``: a monitored session with the usual hooks for training.

    with tf.train.MonitoredTrainingSession(checkpoint_dir="run", hooks=[...]) as sess:
        while not sess.should_stop():
            sess.run(train_op)

With a folder it resumes from the latest checkpoint there, saves one every ten minutes and at the end, writes the
summaries of every hundredth step, and logs the steps per second.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from situs._src.base.export import export
from situs._src.base.proto.config import ConfigProto
from situs._src.base.tree import listed
from situs._src.base.typing import PathLike
from situs._src.ops.attribute import as_float
from situs._src.v1.monitored.checkpoint_saver import CheckpointSaverHook
from situs._src.v1.monitored.hook import SessionRunHook
from situs._src.v1.monitored.logging_hooks import StepCounterHook
from situs._src.v1.monitored.scaffold import Scaffold
from situs._src.v1.monitored.session import MonitoredSession
from situs._src.v1.monitored.session_creator import ChiefSessionCreator, WorkerSessionCreator
from situs._src.v1.monitored.summary_hooks import SummarySaverHook

USE_DEFAULT: Any = object()  # as None means never


@export(
    v1="train.MonitoredTrainingSession",
    differs="A master= on another machine is an error: a session uses the devices of this process only.",
)
def MonitoredTrainingSession(  # noqa: N802 - TensorFlow's name
    master: str = "",
    is_chief: bool = True,
    checkpoint_dir: PathLike | None = None,
    scaffold: Scaffold | None = None,
    hooks: Sequence[SessionRunHook] | None = None,
    chief_only_hooks: Sequence[SessionRunHook] | None = None,
    save_checkpoint_secs: float | None = USE_DEFAULT,
    save_summaries_steps: int | None = USE_DEFAULT,
    save_summaries_secs: float | None = USE_DEFAULT,
    config: ConfigProto | None = None,
    stop_grace_period_secs: float = 120,
    log_step_count_steps: int | None = 100,
    max_wait_secs: float = 7200,
    save_checkpoint_steps: int | None = USE_DEFAULT,
    summary_dir: PathLike | None = None,
    save_graph_def: bool = True,
) -> MonitoredSession:
    """A monitored session that saves checkpoints and summaries, if it is told where.

    Args:
        master: Empty: the devices of this process.
        is_chief: Whether it initializes, saves and logs; else it waits until somebody else has initialized.
        checkpoint_dir: The folder to restore from and to save into.
        scaffold: The operations it needs; a new one if it is not given.
        hooks: What is called around its runs.
        chief_only_hooks: The same, if this is the chief; called before all others.
        save_checkpoint_secs: Seconds between checkpoints, 600 by default; None or 0 for none.
        save_summaries_steps: Steps between summaries, 100 by default; None or 0 for none.
        save_summaries_secs: Seconds between them, instead.
        config: A ``ConfigProto``.
        stop_grace_period_secs: How long threads may take to stop.
        log_step_count_steps: Steps between two logs of the steps per second; None or 0 for none.
        max_wait_secs: How long to wait for the chief.
        save_checkpoint_steps: Steps between checkpoints, instead of seconds.
        summary_dir: The folder for summaries; `checkpoint_dir` by default.
        save_graph_def: Whether to write the graph into ``graph.pbtxt`` in `checkpoint_dir`.
    """
    scaffold = Scaffold() if scaffold is None else scaffold
    given = [] if hooks is None else listed(hooks, "hooks")
    if not is_chief:
        worker = WorkerSessionCreator(scaffold, master, config, max_wait_secs)
        return MonitoredSession(worker, given, stop_grace_period_secs)
    chief = ChiefSessionCreator(scaffold, master, config, checkpoint_dir)
    own = [] if chief_only_hooks is None else listed(chief_only_hooks, "hooks")
    folder = summary_dir or checkpoint_dir
    if folder:
        summaries = _period(save_summaries_steps, save_summaries_secs, (100, None))
        own += _observers(folder, scaffold, log_step_count_steps, *summaries)
    steps, secs = _period(save_checkpoint_steps, save_checkpoint_secs, (None, 600))
    if checkpoint_dir and (steps or secs):
        own.append(
            CheckpointSaverHook(
                checkpoint_dir,
                save_secs=secs,
                save_steps=steps,
                scaffold=scaffold,
                save_graph_def=save_graph_def,
            )
        )
    return MonitoredSession(chief, own + given, stop_grace_period_secs)


def _period(
    steps: int | float | None, secs: int | float | None, default: tuple[int | None, float | None]
) -> tuple[Any, Any]:
    """Steps and seconds between two times: the default if neither is given, and one alone if it is."""
    if steps is USE_DEFAULT and secs is USE_DEFAULT:
        return default
    return _positive(steps), _positive(secs)


def _positive(number: object) -> Any:
    """A number above zero; None for those that mean never."""
    if number is USE_DEFAULT or number is None:
        return None
    return number if as_float(number, "number of steps or seconds") > 0 else None


def _observers(folder: PathLike, scaffold: Scaffold, count_steps: Any, steps: Any, secs: Any) -> list[SessionRunHook]:
    """The hooks that log and write summaries."""
    made: list[SessionRunHook] = []
    if _positive(count_steps):
        made.append(StepCounterHook(every_n_steps=count_steps, output_dir=folder))
    if steps or secs:
        made.append(SummarySaverHook(save_steps=steps, save_secs=secs, output_dir=folder, scaffold=scaffold))
    return made
