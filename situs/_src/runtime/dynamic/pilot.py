"""What to do next, from step times alone: nothing here runs or places anything.

    WARM        the first steps of a placement: ignored
    RECORD      one step, recorded: to learn costs and sizes
    TIME        some steps, timed: their median is the step time; if a program changes its form after some runs
                (it is captured as a CUDA graph), not before that

    watch      WARM RECORD TIME -> median off the prediction by more than 15 %?    REPLACE, at most 3 times
                                -> several devices, and one might do?              TRY_SINGLE
                                -> else                                            settled
    single     WARM TIME        -> faster than before?                             KEEP, else BACK; settled

Settled is final, unless a period is given: then a step is timed now and then, and three in a row that are off by more
than 15 % start over.
"""

from __future__ import annotations

from enum import Enum, auto
from statistics import median

WARM_STEPS = 2
TIMED_STEPS = 5
TOLERANCE = 0.15
MOST_REPLACEMENTS = 3
STRANGE_STEPS = 3


class Step(Enum):
    """How the next step is run."""

    PLAIN = auto()
    RECORD = auto()
    TIME = auto()


class Verdict(Enum):
    """What to do with the placement after a step."""

    GO_ON = auto()
    REPLACE = auto()
    TRY_SINGLE = auto()
    KEEP = auto()
    BACK = auto()


class Pilot:
    """Watches the steps of one program.

    Args:
        predicted: The predicted seconds of a step.
        has_single: Whether several devices are used, and one of them alone would do.
        period: The number of steps after which a settled program is checked again; 0 for never.
        formed: The number of steps after which the program has its final form.
    """

    def __init__(self, predicted: float, has_single: bool, period: int = 0, formed: int = 0) -> None:
        self.formed = formed
        self.predicted = predicted
        self.has_single = has_single
        self.period = period
        self.replacements = 0
        self.measured: float | None = None  # the median of the current placement
        self.settled = False
        self._single = False
        self._same = False  # the last search has found the same placement
        self._steps = 0
        self._times: list[float] = []
        self._strange = 0

    def next(self) -> Step:
        """How to run the next step."""
        if self.settled:
            due = self.period and self._steps % self.period == self.period - 1
            return Step.TIME if due else Step.PLAIN
        if self._steps < WARM_STEPS:
            return Step.PLAIN
        if self._steps == WARM_STEPS and not self._single:
            return Step.RECORD
        return Step.PLAIN if self._steps < self.formed else Step.TIME

    def over(self, step: Step, seconds: float) -> Verdict:
        """Records a finished step; returns what to do now."""
        self._steps += 1
        if self.settled:
            if step is Step.TIME:
                self._look_again(seconds)
            return Verdict.GO_ON
        if step is not Step.TIME:
            return Verdict.GO_ON
        self._times.append(seconds)
        if len(self._times) < TIMED_STEPS:
            return Verdict.GO_ON
        found = median(self._times)
        return self._after_single(found) if self._single else self._after_watch(found)

    def _after_watch(self, found: float) -> Verdict:
        self.measured = found
        if self._is_off(found, self.predicted) and not self._same and self.replacements < MOST_REPLACEMENTS:
            return Verdict.REPLACE
        if self.has_single:
            return Verdict.TRY_SINGLE
        self._settle()
        return Verdict.GO_ON

    def _after_single(self, found: float) -> Verdict:
        before = self.measured
        self._settle()
        if before is None or found < before:
            self.measured = found
            return Verdict.KEEP
        return Verdict.BACK

    def _look_again(self, seconds: float) -> None:
        off = self.measured is not None and self._is_off(seconds, self.measured)
        self._strange = self._strange + 1 if off else 0
        if self._strange >= STRANGE_STEPS and self.replacements < MOST_REPLACEMENTS:
            self.settled, self._same, self._strange = False, False, 0
            self.measured = None
            self._begin()

    def replaced(self, predicted: float, has_single: bool, same: bool) -> None:
        """Records that everything was placed again, and whether the result is the same."""
        self.replacements += 1
        self.predicted, self.has_single, self._same = predicted, has_single, same
        self.measured = None
        self._begin()

    def tries_single(self) -> None:
        """Records that the steps from now on use one device alone."""
        self._single, self.has_single = True, False
        self._begin()

    def gives_up(self) -> None:
        """Stops, leaving everything as it is."""
        self._settle()

    def _begin(self) -> None:
        self._steps, self._times = 0, []

    def _settle(self) -> None:
        self.settled, self._single = True, False
        self._begin()

    @staticmethod
    def _is_off(found: float, expected: float) -> bool:
        return abs(found - expected) > TOLERANCE * expected
