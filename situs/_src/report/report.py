"""``tf.report``: a report on a part of a program, or on all of it.

    with tf.report("step.html") as report:        the page is written at the end, even after an exception
        train_step(batch)
    report.save("step.json")                      the data as JSON; report.to_perfetto("step.trace.json") as a trace

    @tf.report("step.html")                       decorates a function: records each call, and writes the last one
    def train_step(batch): ...

A report can be read after the block has ended, which synchronizes the GPUs. While it is open, ops take some
microseconds longer.
"""

from __future__ import annotations

import functools
import html
import json
import os
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import ParamSpec, TypeVar

from situs._src.base.devices.inventory import process
from situs._src.base.drafts import write_named
from situs._src.base.errors import ArgumentError, DTypeError, StateError, shown
from situs._src.base.export import export
from situs._src.base.typing import PathLike
from situs._src.files.paths import local, translated
from situs._src.inspect.output import check_writable
from situs._src.report import page, perfetto
from situs._src.report.collect import Collector, hub
from situs._src.report.data import About, as_data
from situs._src.report.memory import MemoryTape
from situs._src.report.schema import Data
from situs._src.runtime.eager.oom import size_text

P = ParamSpec("P")
R = TypeVar("R")
ROLL_EVERY = 50_000  # events: memory's recording is drained
CARDS = (
    "Cards are timed by events on their streams, and nothing waits for them. A program that runs as a CUDA graph is "
    "one event; its runs before that are noted call by call."
)
SUFFIXES = (".html", ".json")


class Report:
    """A report: open it with ``with``, or put it around a function; then look at it, or save it.

    Args:
        path: The file that is written when it is over (``.html`` or ``.json``); None for none.
        title: What the page is called.
        name: The program that it is about; by default the one that runs.
        arguments: What that was given.
    """

    def __init__(
        self,
        path: PathLike | None = None,
        title: str = "Report",
        name: str | None = None,
        arguments: Sequence[str] = (),
    ) -> None:
        if path is not None:
            check_suffix(path)
            path = check_writable(path)
        self._path = path
        self._about = About(title, sys.argv[0] if name is None else name, arguments)
        self._collector: Collector | None = None
        self._memory = MemoryTape()
        self._data: Data | None = None
        self._process = 0

    def __enter__(self) -> Report:
        if self._collector is not None:
            raise StateError("This report was opened before: make another one, tf.report(...), for another part.")
        self._collector = Collector(on_many=self._memory.roll, many=ROLL_EVERY)
        self._process = os.getpid()
        self._about.started = time.time_ns()
        self._memory.start()
        hub.open(self._collector)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._collector is not None
        if os.getpid() != self._process:
            return  # a child of the program's: the report is its parent's
        hub.close(self._collector)
        self._memory.stop()
        self._about.ended = time.time_ns()
        if error is not None and not (isinstance(error, SystemExit) and not error.code):
            self.fail(error)
        if process.initialized and any(device.is_card for device in process.devices()):
            self._about.notes.append(CARDS)
        self._data = as_data(self._about, self._collector, self._memory.devices())
        if self._path is not None:
            self.save(self._path)

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        """The function, with a report on each of its calls; the last one is written."""
        if not callable(function):
            raise DTypeError(f"A report is put around a function, got {shown(function)}; for a part: with tf.report():")

        @functools.wraps(function)
        def reported(*args: P.args, **kwargs: P.kwargs) -> R:
            with Report(self._path, self._about.title, self._about.name, self._about.arguments):
                return function(*args, **kwargs)

        return reported

    def fail(self, error: BaseException) -> None:
        """Says on the report what ended the program."""
        text = "".join(traceback.format_exception(type(error), error, error.__traceback__, limit=-20))
        try:
            message = str(error)
        except Exception as failed:  # a program's own error may not be able to say what it is
            message = f"its message cannot be made: {type(failed).__name__}"
        self._about.error = {"type": type(error).__name__, "message": message, "traceback": text}

    def to_json(self) -> Data:
        """The report as plain data; `situs._src.report.data` documents the schema, and docs/report.md.

        Raises:
            RuntimeError: its part is not over.
        """
        if self._data is None:
            raise StateError("A report can be read when its part is over: after `with tf.report() as report:`.")
        return self._data

    def save(self, path: PathLike) -> None:
        """Writes the report: a page (``.html``) or the data (``.json``).

        Raises:
            ValueError: the name of the file ends in none of these.
            OpError: the file cannot be written.
        """
        write(self.to_json(), path)

    def to_perfetto(self, path: PathLike) -> None:
        """Writes the timeline as a trace that Perfetto and chrome://tracing read.

        Raises:
            OpError: the file cannot be written.
        """
        text = perfetto.trace_text(self.to_json())
        with translated(path):
            write_named(local(path), text)

    def summary(self) -> str:
        """The report in a few lines."""
        return "\n".join(f"{name}: {text}" for name, text in self._facts())

    def _facts(self) -> list[tuple[str, str]]:
        data = self.to_json()
        events, path = data["events"], data["critical"]
        total = sum(events["duration"][number] for number in path)
        facts = [
            ("time", f"{data['program']['duration'] / 1e6:,.1f} ms"),
            ("events", f"{data['program']['events']:,}"),
            ("critical path", f"{total / 1e6:,.1f} ms in {len(path):,} events"),
        ]
        for device in data["devices"]:
            if device["ops"]:
                facts.append((device["name"], f"{device['ops']:,} ops, busy {device['busy'] / 1e6:,.1f} ms"))
        for memory in data["memory"]:
            name = data["devices"][memory["device"]]["name"]
            facts.append((f"{name} peak", f"{size_text(memory['peak']['size'])} of {size_text(memory['limit'])}"))
        moved = sum(row["bytes"] for row in data["totals"] if row["kind"] == "copy")
        if moved:
            facts.append(("copied", size_text(moved)))
        if data["program"]["error"]:
            facts.append(("ended by", data["program"]["error"]["type"]))
        return facts

    def __str__(self) -> str:
        return self.summary() if self._data is not None else repr(self)

    def __repr__(self) -> str:
        state = "over" if self._data is not None else "open" if self._collector is not None else "not begun"
        return f"<report {self._about.title!r}, {state}>"

    def _repr_html_(self) -> str:
        """The summary as a table, for notebooks."""
        if self._data is None:
            return f"<code>{html.escape(repr(self))}</code>"
        rows = "".join(
            f"<tr><th>{html.escape(name)}</th><td>{html.escape(text)}</td></tr>" for name, text in self._facts()
        )
        return f"<table><caption>{html.escape(self._about.title)}</caption>{rows}</table>"


@export("report", as_is=True)
def report(path: PathLike | None = None, title: str = "Report") -> Report:
    """A report on a part of a program: where everything ran, why, how long, and what filled the memory.

    Args:
        path: The file to write when the part is over: a page (``.html``) or data (``.json``); None to write none.
        title: What the page is called.

    Returns:
        What is opened by ``with``, or put around a function as ``@tf.report("step.html")``.

    Raises:
        ValueError: the name of the file ends in neither.
        OpError: the file cannot be written.

    Example:
        >>> import situs as tf
        >>> with tf.report() as report:
        ...     product = tf.matmul(tf.ones([2, 3]), tf.ones([3, 2]))
        >>> "MatMul" in report.to_json()["strings"]
        True
    """
    if path is not None and not isinstance(path, (str, Path)) and not hasattr(path, "__fspath__"):
        raise ArgumentError(
            f"tf.report takes the path of a file, got {shown(path)}. Around a function: @tf.report() with brackets."
        )
    if not isinstance(title, str):
        raise ArgumentError(f"The title of a report is a text, got {shown(title)}.")
    return Report(path, title)


def write(data: Data, path: PathLike) -> None:
    """Writes data as a page (``.html``) or as they are (``.json``).

    Raises:
        ValueError: the name of the file ends in neither.
        OpError: the file cannot be written.
    """
    file = check_suffix(path)
    text = json.dumps(data) if file.suffix.lower() == ".json" else page.page([data])
    with translated(path):
        write_named(file, text)


def check_suffix(path: PathLike) -> Path:
    """The file, if its name is one of a report.

    Raises:
        ValueError: its name ends in neither ``.html`` nor ``.json``.
    """
    file = local(path)
    if file.suffix.lower() not in SUFFIXES:
        raise ArgumentError(f"A report is written as .html or .json, got {shown(str(path))}.")
    return file
