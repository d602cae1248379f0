"""The clock of cards, with streams that the test drives: when work is noted, and at which times."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from situs._src.report import card_clock
from situs._src.report.card_clock import Later, Span

CARD: Any = object()
OFFSET = 5_000_000  # nanoseconds that the card's clock is behind the host's


@dataclass
class Stream:
    """A stream that has come so far, in nanoseconds of its own clock."""

    now: int = 0
    waited: list[int] = field(default_factory=list)

    def stamp(self, at: int) -> Any:
        """An event that the stream comes to at a time."""
        made = SimpleNamespace(at=at, query=lambda: self.now >= at)
        made.elapsed_time = lambda later: (later.at - at) / 1e6
        made.synchronize = lambda: (self.waited.append(at), setattr(self, "now", max(self.now, at)))
        return made


@pytest.fixture
def stream(monkeypatch: pytest.MonkeyPatch) -> Stream:
    made = Stream()
    monkeypatch.setattr(card_clock, "stamp", lambda device: made.stamp(made.now))
    monkeypatch.setattr(card_clock, "now", lambda: made.now + OFFSET)
    return made


def _span(stream: Stream, start: int, end: int) -> Span:
    return Span(CARD, 1, 2, stream.stamp(start), stream.stamp(end))


def test_what_no_card_does_is_noted_at_once():
    noted: list[Any] = []
    Later().add([Span(CARD, 10, 20)], noted.append)
    assert noted == [[(10, 20)]]


def test_work_of_a_card_is_noted_when_it_is_over_at_the_hosts_times(stream):
    later, noted = Later(), list[Any]()
    later.add([_span(stream, 1000, 4000)], noted.append)
    later.add([_span(stream, 4000, 9000)], noted.append)
    later.settle(0)
    assert noted == []
    stream.now = 5000
    later.settle(0)
    assert noted == [[(1000 + OFFSET, 4000 + OFFSET)]]
    later.settle()
    assert noted[1:] == [[(4000 + OFFSET, 9000 + OFFSET)]]
    assert stream.now == 9000  # it was waited for


def test_an_anchor_is_renewed_after_a_second(stream, monkeypatch):
    later, noted, drift = Later(), list[Any](), 300
    later.add([_span(stream, 0, 100)], noted.append)
    later.settle()
    stream.now = 3 * card_clock.ANCHORED
    monkeypatch.setattr(card_clock, "now", lambda: stream.now + OFFSET + drift)
    later.add([_span(stream, stream.now - 50, stream.now)], noted.append)
    later.settle()
    assert noted[1] == [(stream.now - 50 + OFFSET + drift, stream.now + OFFSET + drift)]


def test_a_program_far_ahead_of_its_card_waits_for_the_oldest_alone(stream, monkeypatch):
    monkeypatch.setattr(card_clock, "MANY", 4)
    monkeypatch.setattr(card_clock, "MOST", 16)
    later, noted = Later(), list[Any]()
    for number in range(16):
        later.add([_span(stream, 100 * number, 100 * number + 100)], noted.append)
    assert len(noted) == 8
    assert stream.now == 800


def test_a_child_process_forgets_what_its_parent_waits_for(stream):
    later, noted = Later(), list[Any]()
    later.add([_span(stream, 0, 100)], noted.append)
    later.forget()
    later.settle()
    assert noted == []
