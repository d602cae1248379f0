"""Progress is shown to whoever watches, when work takes long, and to nobody else."""

from __future__ import annotations

import io
import sys
import time
from types import ModuleType

import pytest

from situs._src.base import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def quick(monkeypatch):
    """Work counts as long at once."""
    monkeypatch.setattr(progress, "PATIENCE", 0.01)
    monkeypatch.setattr(progress, "PERIOD", 0.01)


def shown(monkeypatch, stream: io.StringIO, until: str) -> str:
    """What work shows that goes on until something was shown, or for a while."""
    monkeypatch.setattr(sys, "stderr", stream)
    with progress.working("Loading", lambda: "3 of 4"):
        end = time.monotonic() + 20
        while until and until not in stream.getvalue() and time.monotonic() < end:
            time.sleep(0.01)
    return stream.getvalue()


def test_a_terminal_sees_a_line_that_goes_when_the_work_ends(monkeypatch, quick):
    text = shown(monkeypatch, Terminal(), "Loading")
    assert text.startswith("\rLoading: 3 of 4, 0 s")
    assert text.endswith(" \r")


def test_a_file_sees_nothing(monkeypatch, quick):
    assert shown(monkeypatch, io.StringIO(), "") == ""


def test_short_work_shows_nothing(monkeypatch):
    assert shown(monkeypatch, Terminal(), "") == ""


def test_a_notebook_sees_it(monkeypatch, quick):
    kernel = type("Shell", (), {"__module__": "ipykernel.zmqshell"})
    shell = ModuleType("IPython")
    monkeypatch.setattr(shell, "get_ipython", kernel, raising=False)
    monkeypatch.setitem(sys.modules, "IPython", shell)
    assert "Loading" in shown(monkeypatch, io.StringIO(), "Loading")


def test_work_inside_of_work_has_no_line(monkeypatch, quick):
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    with progress.working("Outer"):
        assert shown(monkeypatch, stream, "Outer")
    assert "Loading" not in stream.getvalue()


def test_an_error_ends_the_line(monkeypatch, quick):
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)

    def work() -> None:
        with progress.working("Loading"):
            while "Loading" not in stream.getvalue():
                time.sleep(0.01)
            raise KeyError

    with pytest.raises(KeyError):
        work()
    assert stream.getvalue().endswith("\r")
    assert "Loading" in shown(monkeypatch, Terminal(), "Loading")  # the line is free again
