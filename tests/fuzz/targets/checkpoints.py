"""Checkpoints: every file of a valid one damaged in turn, and read by all that reads them.

A checksum covers every byte, so what can be read at all has the values that were saved. Half of the damage to an index
gets a right checksum again, to come as far as a file that was made with intent would.
"""

from __future__ import annotations

import shutil
import zlib
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import situs as tf
import situs.compat.v1 as v1
from situs._src.base.devices.scope import build_into, here
from situs._src.checkpoints.index import MARK
from tests.fuzz.case import Case, require
from tests.fuzz.mutation import mutated_bytes, mutated_text

W = np.arange(6, dtype=np.float32).reshape(2, 3)
B = np.array([7, 8], np.int64)
WORDS = np.array([b"one", b"", b"three\0"], object)


def _graph_variables() -> list[Any]:
    with v1.device("/gpu:0"):
        w = v1.get_variable("w", initializer=W)
    return [w, v1.get_variable("b", initializer=B)]


def _objects() -> Any:
    step, w = tf.Variable(3, dtype=tf.int64), tf.Variable(W)
    return tf.train.Checkpoint(step=step, model=tf.train.Checkpoint(w=w, rows=[tf.Variable(B)]))


class Checkpoints:
    """Cases of checkpoints."""

    def __init__(self, folder: Path) -> None:
        self._good, self._place = folder / "good", folder / "read"
        self._good.mkdir()
        with v1.Graph().as_default(), v1.Session() as session:
            saver = v1.train.Saver(_graph_variables(), sharded=True)
            session.run(v1.global_variables_initializer())
            saver.save(session, str(self._good / "graph"), global_step=7)
        before = build_into(None, here.scope)
        _objects().write(str(self._good / "objects"))
        build_into(*before)
        self._files = {path.name: path.read_bytes() for path in self._good.iterdir()}

    def case(self, random: Random) -> Case:
        """A file of a checkpoint that is damaged, missing, or another one."""
        name = random.choice(sorted(self._files))
        content, honest = self._damaged(random, name)
        read = random.choice([read for read, prefix in READS.items() if name.startswith(prefix)])
        shown = f"{read.__name__} with {name} = {content!a}, {'honest' if honest else 'lying'}"

        def run() -> None:
            shutil.rmtree(self._place, ignore_errors=True)
            shutil.copytree(self._good, self._place)
            (self._place / name).unlink()
            if content is not None:
                (self._place / name).write_bytes(content)
            before = {path.name: path.read_bytes() for path in self._place.iterdir()}
            try:
                read(self._place, honest)
            finally:
                after = {path.name: path.read_bytes() for path in self._place.iterdir()}
                require(after == before, "reading a checkpoint changed its files")

        return Case(shown, run)

    def _damaged(self, random: Random, name: str) -> tuple[bytes | None, bool]:
        """What takes the place of a file, and whether its checksums are still those that were written."""
        sort, content = random.random(), self._files[name]
        if sort < 0.02:
            return None, True
        if content.startswith(MARK) and sort < 0.6:
            start = len(MARK) + len('01234567",')
            text = mutated_text(random, content[start:].decode(), [content.decode()])
            body = text.encode("utf-8", "replace")
            return MARK + b'%08x",' % zlib.crc32(body) + body, False
        return mutated_bytes(random, content, list(self._files.values())), True


def by_saver(folder: Path, honest: bool) -> None:
    """Restores variables of a graph, and looks whether they are right or untouched."""
    with v1.Graph().as_default(), v1.Session() as session:
        w, b = _graph_variables()
        saver = v1.train.Saver([w, b])
        session.run([w.assign(W + 1), b.assign(B + 1)])
        try:
            saver.restore(session, v1.train.latest_checkpoint(str(folder)) or str(folder / "graph-7"))
        except tf.errors.DataLossError:  # found while the values are read, when some are restored
            raise
        except tf.errors.OpError:
            made = session.run([w, b])
            require(np.array_equal(made[0], W + 1) and np.array_equal(made[1], B + 1), "half of it was restored")
            raise
        made = session.run([w, b])
    require(not honest or (np.array_equal(made[0], W) and np.array_equal(made[1], B)), f"restored as {made}")


def by_objects(folder: Path, honest: bool) -> None:
    """Restores variables of objects."""
    with _eagerly():
        made = _objects()
        made.step.assign(0), made.model.w.assign(W + 1)
        made.read(str(folder / "objects")).assert_existing_objects_matched()
        require(not honest or (int(made.step) == 3 and np.array_equal(made.model.w.numpy(), W)), "restored wrongly")


def by_reader(folder: Path, honest: bool) -> None:
    """Reads every value by its name."""
    for prefix in ("graph-7", "objects"):
        reader = tf.train.load_checkpoint(str(folder / prefix))
        reader.debug_string(), reader.get_variable_to_dtype_map()
        for name, shape in tf.train.list_variables(str(folder / prefix)):
            value = reader.get_tensor(name)
            require(list(np.shape(value)) == list(shape), "the shape that was promised")
            require(not honest or name != "w" or np.array_equal(value, W), "the values that were saved")


def by_state(folder: Path, honest: bool) -> None:
    """Reads the file of the latest checkpoint."""
    tf.train.get_checkpoint_state(str(folder))
    latest = tf.train.latest_checkpoint(str(folder))
    require(latest is None or Path(f"{latest}.index").exists(), "the latest checkpoint does not exist")
    v1.train.checkpoint_exists(str(folder / "graph-7"))


def by_manager(folder: Path, honest: bool) -> None:
    """Makes a manager of the folder, which reads its state."""
    with _eagerly():
        manager = tf.train.CheckpointManager(_objects(), str(folder), max_to_keep=3)
        manager.latest_checkpoint, manager.checkpoints
        manager.restore_or_initialize()


def by_graph(folder: Path, honest: bool) -> None:
    """Imports the graph, and restores its variables."""
    with v1.Graph().as_default(), v1.Session() as session:
        saver = v1.train.import_meta_graph(str(folder / "graph-7.meta"))
        if saver is not None:
            saver.restore(session, str(folder / "graph-7"))


class _eagerly:  # noqa: N801 - reads like the function that it is
    """Ops run at once inside, whichever door this process came through."""

    def __enter__(self) -> None:
        self._before = build_into(None, here.scope)

    def __exit__(self, *error: object) -> None:
        build_into(*self._before)


READS: dict[Callable[[Path, bool], None], tuple[str, ...]] = {  # and the beginnings of the files that they read
    by_saver: ("graph-7.index", "graph-7.data", "checkpoint"),
    by_objects: ("objects",),
    by_reader: ("graph-7.index", "graph-7.data", "objects"),
    by_state: ("checkpoint", "graph-7.index"),
    by_manager: ("checkpoint", "graph-7.index"),
    by_graph: ("graph-7",),
}
