"""Saved programs: every file of a valid one damaged in turn, loaded in all ways, called, and placed.

A folder may also hold something else than files where files are expected: links out of it, links in circles, folders,
pipes. Nothing outside of the folder may be read into the program, and nothing in it may change.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from google.protobuf import text_format

import situs as tf
import situs.compat.v1 as v1
from situs._src.base.proto.formats import from_bytes
from situs._src.base.proto.saved_model import MetaGraphDef, SavedModel
from situs._src.cli.main import main
from tests.fuzz.case import Case, require
from tests.fuzz.mutation import mutated_bytes, mutated_text
from tests.fuzz.targets.checkpoints import _eagerly
from tests.fuzz.targets.graphs import MILLISECONDS

DATA = Path(__file__).parents[2] / "data" / "tensorflow_saved_models"
OF_TENSORFLOW = ("module", "ops", "words")  # what TensorFlow has written


class _Module(tf.Module):
    """Variables, a list of them, a function with two signatures, a table."""

    def __init__(self) -> None:
        super().__init__()
        self.w = tf.Variable(tf.ones([3, 2]), name="w")
        self.rows = [tf.Variable(1.0), tf.Variable([2, 3])]
        keys, values = tf.constant(["a", "b"]), tf.constant([1, 2], tf.int64)
        self.table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(keys, values), -1)

    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32)])
    def __call__(self, x: Any) -> Any:
        """A product, a branch, and an update."""
        self.rows[0].assign_add(1.0)
        return tf.cond(tf.reduce_sum(x) > 0.0, lambda: tf.matmul(x, self.w), lambda: tf.matmul(-x, self.w))


class SavedModels:
    """Cases of saved programs."""

    def __init__(self, folder: Path) -> None:
        self._good, self._place = folder / "good", folder / "read"
        with _eagerly():
            module = _Module()
            tf.saved_model.save(module, str(self._good / "objects"), signatures=module.__call__)
        with v1.Graph().as_default(), v1.Session() as session:
            x = v1.placeholder(v1.float32, [None, 2], name="x")
            y = v1.identity(v1.matmul(x, v1.get_variable("w", [2, 2])), name="y")
            session.run(v1.global_variables_initializer())
            v1.saved_model.simple_save(session, str(self._good / "session"), {"x": x}, {"y": y})
        for program in OF_TENSORFLOW:
            shutil.copytree(DATA / program, self._good / program)
        self._files = {str(p.relative_to(self._good)): p.read_bytes() for p in self._good.rglob("*") if p.is_file()}
        self._secret = folder / "outside.txt"
        self._secret.write_text("outside")

    def case(self, random: Random) -> Case:
        """A program with one file damaged, or with something else in its place."""
        name = random.choice(sorted(self._files))
        program = name.partition("/")[0]
        read = made if program in OF_TENSORFLOW and random.random() < 0.7 else random.choice(READS)
        if random.random() < 0.05:
            sort = random.choice(("absent", "folder", "pipe", "link out", "circle"))
            return Case(f"{read.__name__} of {name} that is a {sort}", lambda: self._read(read, program, name, sort))
        content = self._damaged(random, name)
        shown = f"{read.__name__} of {name} = {content!a}"
        return Case(shown, lambda: self._read(read, program, name, content))

    def _damaged(self, random: Random, name: str) -> bytes:
        content = self._files[name]
        if name.endswith(".pb") and random.random() < 0.7:  # the parts of a message, each of which is one
            model = from_bytes(content, SavedModel)
            part = from_bytes(model.meta_graphs[0], MetaGraphDef)
            text = mutated_text(random, str(part), [str(part)])
            try:
                inner = text_format.Parse(text, MetaGraphDef()).SerializeToString()
            except (text_format.ParseError, ValueError, RecursionError):
                inner = mutated_bytes(random, model.meta_graphs[0], [model.meta_graphs[0]])
            model.meta_graphs[0] = inner
            return bytes(model.SerializeToString())
        return mutated_bytes(random, content, list(self._files.values()))

    def _read(self, read: Callable[[Path], None], program: str, name: str, content: bytes | str) -> None:
        shutil.rmtree(self._place, ignore_errors=True)
        shutil.copytree(self._good / program, self._place / program)
        path = self._place / name
        path.unlink()
        if isinstance(content, bytes):
            path.write_bytes(content)
        elif content != "absent":
            make = {
                "folder": path.mkdir,
                "pipe": lambda: os.mkfifo(path),
                "link out": lambda: path.symlink_to(self._secret),
                "circle": lambda: path.symlink_to(path.name),
            }
            make[content]()
        before = _listing(self._place)
        try:
            read(self._place / program)
        finally:
            require(_listing(self._place) == before, "reading a program changed its files")


def _listing(folder: Path) -> dict[str, bytes]:
    return {
        str(path): path.read_bytes() if path.is_file() and not path.is_symlink() else b"" for path in folder.rglob("*")
    }


def loaded(folder: Path) -> None:
    """Loads objects, looks at them, and calls their signatures."""
    with _eagerly():
        found = tf.saved_model.load(str(folder))
        if folder.name in OF_TENSORFLOW:
            return  # its loops may go on for ever when they are damaged
        for function in found.signatures.values():
            _, given = function.structured_input_signature
            function(**{name: tf.zeros(_small(spec.shape), spec.dtype) for name, spec in given.items()})


def made(folder: Path) -> None:
    """Loads objects, and makes the graphs of all their functions."""
    with _eagerly():
        found = tf.saved_model.load(str(folder))
        list(found.signatures.values())
        for value in list(vars(found).values()):
            getattr(value, "concrete_functions", None)


def _small(shape: Any) -> list[int]:
    return [] if shape.rank is None else [2 if size is None else min(size, 4) for size in shape]


def in_session(folder: Path) -> None:
    """Loads a graph into a session, and runs it."""
    with v1.Graph().as_default(), v1.Session() as session:
        made = v1.saved_model.loader.load(session, ["serve"], str(folder))
        options = v1.RunOptions(timeout_in_ms=MILLISECONDS)
        for signature in made.signature_def.values():
            session.run([each.name for each in signature.outputs.values() if each.name], options=options)


def placed(folder: Path) -> None:
    """Gives the folder to ``situs place``."""
    require(main(["place", str(folder), "--budget", "0.02"]) in (0, 1, 3), "the exit status")


READS: tuple[Callable[[Path], None], ...] = (loaded, loaded, in_session, placed)
