"""Ends processes that save checkpoints, at any moment, and looks at what they leave.

    python -m tests.unit.checkpoints.kills --kills 5000 --every-step

A writer is forked, saves again and again, and tells through a pipe which steps it has saved. Then it is killed.
Whatever moment that was, the latest checkpoint must be complete, all of one step, and not older than what the writer
has told. The next writer goes on from there, in the same folder.
"""

from __future__ import annotations

import argparse
import errno
import logging
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

os.environ.setdefault("SITUS_VIRTUAL_GPUS", "2")

import torch

import situs as tf
from situs._src.checkpoints.checkpoint import Checkpoint
from situs._src.checkpoints.finding import latest_checkpoint
from situs._src.checkpoints.manager import CheckpointManager
from situs._src.checkpoints.reader import CheckpointReader
from situs._src.checkpoints.saver import Saver

DEVICES = ("/cpu:0", "/gpu:0", "/gpu:1")
SIZE = 3000

Save = Callable[[int], None]


def variables() -> dict[str, tf.Variable]:
    made = {}
    for device in DEVICES:
        with tf.device(device):
            made[device] = tf.Variable(torch.zeros(SIZE).numpy())
    return made


# Ways to save a step.


def by_saver(folder: Path) -> Save:
    """Numbered checkpoints, of which two are kept."""
    made = variables()
    saver = Saver(made, sharded=True, max_to_keep=2)
    state = tf_state(folder)
    if state:
        saver.recover_last_checkpoints(state)

    def save(step: int) -> None:
        assign(made, step)
        saver.save(None, folder / "model", global_step=step)

    return save


def by_overwriting(folder: Path) -> Save:
    """One checkpoint, replaced by the next."""
    made = variables()
    saver = Saver(made, sharded=True)

    def save(step: int) -> None:
        assign(made, step)
        saver.save(None, folder / "model")

    return save


def by_manager(folder: Path) -> Save:
    """Objects, and a manager that keeps two checkpoints and counts them itself."""
    made = variables()
    manager = CheckpointManager(Checkpoint(**{name[1:4] + name[-1]: v for name, v in made.items()}), folder, 2)
    manager.restore_or_initialize()

    def save(step: int) -> None:
        assign(made, step)
        manager.save()

    return save


WAYS = {"saver": by_saver, "overwriting": by_overwriting, "manager": by_manager}


def tf_state(folder: Path) -> list[str]:
    from situs._src.checkpoints.state import get_checkpoint_state

    found = get_checkpoint_state(folder)
    return [] if found is None else list(found.all_model_checkpoint_paths)


def assign(made: dict[str, tf.Variable], step: int) -> None:
    for variable in made.values():
        variable.assign(torch.full((SIZE,), float(step)).numpy())


# What is left.


def step_in(folder: Path) -> int:
    """The step of the latest checkpoint; 0 if there is none. Every value is read, and all must be of one step."""
    path = latest_checkpoint(folder)
    if path is None:
        return 0
    with CheckpointReader(path) as reader:
        names = [name for name, shape in reader.get_variable_to_shape_map().items() if shape == [SIZE]]
        assert len(names) == len(DEVICES), names
        steps = {float(step) for name in names for step in reader.get_tensor(name)}
    assert len(steps) == 1, f"{path} mixes the steps {steps}"
    return int(steps.pop())


def drafts_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name.startswith(".")]


def check_files(folder: Path, kept: int | None) -> None:
    """After a save that went well there is nothing but what some checkpoints are made of.

    Where things could not be deleted, which is what None stands for, a checkpoint or a shard of it may be left over.
    """
    names = {path.name for path in folder.iterdir()} - {"checkpoint"}
    prefixes = {name.removesuffix(".index") for name in names if name.endswith(".index")}
    assert {name.split(".")[0] for name in names} == prefixes, names
    if kept is not None:
        assert len(prefixes) <= kept, names
        assert len(names) == len(prefixes) * (1 + len(DEVICES)), names


# Killing.


def kill_often(folder: Path, way: str, kills: int, seed: int = 0, longest: float = 0.03) -> int:
    """Kills so many writers; returns how many of them were in the middle of something."""
    moments, known, hit = random.Random(seed), 0, 0
    for _ in range(kills):
        told = run_until_killed(folder, way, known, moments.uniform(0.0, longest))
        hit += bool(drafts_in(folder))
        found = step_in(folder)
        assert max(known, told) <= found <= max(known, told) + 1, (known, told, found)
        known = found
    finish(folder, way, known)
    return hit


def finish(folder: Path, way: str, known: int, kept: int | None = 2) -> None:
    """A last writer, which nobody kills, clears up."""
    assert run_forked(lambda: WAYS[way](folder)(known + 1)) == 0
    assert step_in(folder) == known + 1
    check_files(folder, kept)


def run_until_killed(folder: Path, way: str, known: int, seconds: float) -> int:
    """Lets a writer go on from a step, kills it, and returns the last step that it told to have saved."""
    reads, writes = os.pipe()
    pid = os.fork()
    if pid == 0:
        _write_on(folder, way, known, writes)
    os.close(writes)
    assert os.read(reads, 1) == b"."  # it is about to begin
    time.sleep(seconds)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    told = 0
    while content := os.read(reads, 65536):
        told += len(content)
    os.close(reads)
    return known + told if told else 0


def _write_on(folder: Path, way: str, known: int, pipe: int) -> None:
    """In the child: saves the steps after `known`, and a byte goes through the pipe after each."""
    try:
        save = WAYS[way](folder)
        os.write(pipe, b".")
        while True:
            known += 1
            save(known)
            os.write(pipe, b".")
    except BaseException as error:
        print(f"the writer failed: {error!r}", file=sys.stderr, flush=True)
    finally:
        os._exit(1)


def run_forked(work: Callable[[], None]) -> int:
    """Runs something in a child; returns its exit status."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            work()
            status = 0
        except tf.errors.OpError:
            status = FAILED
        except BaseException as error:
            print(f"the child failed: {error!r}", file=sys.stderr, flush=True)
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


# At every step.

STOPPED, FAILED = 77, 78


def end_at_every_step(folder: Path, way: str, error: OSError | None = None) -> int:
    """Ends a writer before the first, the second, ... thing that it does to a file; returns how many there were.

    With an `error` the process goes on, and what it was about to do fails with this.
    """
    finish(folder, way, 0)
    known, number = 1, 0
    while True:
        number += 1
        status = run_forked(partial(_save_watched, folder, way, known + 1, number, error))
        found = step_in(folder)
        assert known <= found <= known + 1, (number, known, found)
        assert status in (STOPPED, FAILED) or found == known + 1, status
        known = found
        if not status:
            break
    finish(folder, way, known, 2 if error is None else None)
    return number - 1


_EVENTS = ("open", "os.link", "os.rename", "os.remove", "os.scandir", "os.listdir", "os.mkdir")


def _save_watched(folder: Path, way: str, step: int, number: int, error: OSError | None) -> None:
    save = WAYS[way](folder)
    left = number

    def watch(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal left
        if event in _EVENTS and arguments and str(arguments[0]).startswith(str(folder)):
            left -= 1
            if left == 0:
                if error is None:
                    os._exit(STOPPED)
                raise error

    sys.addaudithook(watch)
    save(step)
    if left > 0:
        return  # it did not come to that: all steps have been tried
    os._exit(STOPPED)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=200, help="at random moments, for each way to save")
    parser.add_argument("--every-step", action="store_true", help="also end, or fail, before everything done to files")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, help="where to save; by default a temporary folder")
    arguments = parser.parse_args()
    torch.set_num_threads(1)  # a child must not wait for threads that only its parent has
    logging.getLogger("situs").setLevel(logging.ERROR)
    for way in WAYS:
        with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
            hit = kill_often(Path(folder), way, arguments.kills, arguments.seed)
            print(f"{way}: {arguments.kills} kills, {hit} in the middle of a save, nothing lost", flush=True)
        for error in (None, OSError(errno.EIO, "Input/output error")) if arguments.every_step else ():
            with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
                steps = end_at_every_step(Path(folder), way, error)
                what = "ended before" if error is None else "an error in"
                print(f"{way}: {what} each of {steps} steps, nothing lost", flush=True)


if __name__ == "__main__":
    main()
