"""What to do next, from times that the tests make up."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from situs._src.runtime.dynamic.pilot import (
    MOST_REPLACEMENTS,
    STRANGE_STEPS,
    TIMED_STEPS,
    WARM_STEPS,
    Pilot,
    Step,
    Verdict,
)


def steps(pilot, seconds, most=50):
    """Runs steps that all take so long, until something is to be done; returns how they were run, and what that is."""
    kinds = []
    for _ in range(most):
        kinds.append(pilot.next())
        verdict = pilot.over(kinds[-1], seconds)
        if verdict is not Verdict.GO_ON:
            return kinds, verdict
    return kinds, Verdict.GO_ON


def test_a_prediction_that_holds_settles():
    pilot = Pilot(1.0, has_single=False)
    kinds, verdict = steps(pilot, 1.1)
    assert (
        kinds[: WARM_STEPS + 1 + TIMED_STEPS] == [Step.PLAIN] * WARM_STEPS + [Step.RECORD] + [Step.TIME] * TIMED_STEPS
    )
    assert verdict is Verdict.GO_ON
    assert pilot.settled
    assert pilot.measured == 1.1
    assert set(kinds[WARM_STEPS + 1 + TIMED_STEPS :]) == {Step.PLAIN}


@pytest.mark.parametrize("seconds", [0.84, 1.16])
def test_more_than_15_percent_off_places_anew(seconds):
    assert steps(Pilot(1.0, has_single=False), seconds)[1] is Verdict.REPLACE


@pytest.mark.parametrize("seconds", [0.86, 1.14])
def test_less_than_15_percent_off_does_not(seconds):
    assert steps(Pilot(1.0, has_single=False), seconds)[1] is Verdict.GO_ON


def test_placing_anew_is_bounded():
    pilot = Pilot(1.0, has_single=False)
    for _ in range(MOST_REPLACEMENTS):
        assert steps(pilot, 9.0)[1] is Verdict.REPLACE
        pilot.replaced(1.0, has_single=False, same=False)
    assert steps(pilot, 9.0)[1] is Verdict.GO_ON
    assert pilot.settled


def test_a_search_that_finds_the_same_again_is_not_asked_once_more():
    pilot = Pilot(1.0, has_single=False)
    steps(pilot, 9.0)
    pilot.replaced(1.0, has_single=False, same=True)
    assert steps(pilot, 9.0)[1] is Verdict.GO_ON
    assert pilot.settled


@pytest.mark.parametrize(("alone", "verdict"), [(0.9, Verdict.KEEP), (1.05, Verdict.BACK), (1.0, Verdict.BACK)])
def test_one_device_alone_is_tried_and_the_quicker_stays(alone, verdict):
    pilot = Pilot(1.0, has_single=True)
    assert steps(pilot, 1.0)[1] is Verdict.TRY_SINGLE
    pilot.tries_single()
    kinds, found = steps(pilot, alone)
    assert found is verdict
    assert Step.RECORD not in kinds
    assert pilot.settled
    assert pilot.measured == min(alone, 1.0)


def test_settled_stays_settled_without_a_period():
    pilot = Pilot(1.0, has_single=False)
    steps(pilot, 1.0)
    assert steps(pilot, 100.0)[1] is Verdict.GO_ON
    assert pilot.settled


def test_with_a_period_steps_that_have_become_slow_start_it_again():
    pilot = Pilot(1.0, has_single=False, period=4)
    steps(pilot, 1.0)
    kinds, verdict = steps(pilot, 2.0, most=4 * STRANGE_STEPS + WARM_STEPS + 1 + TIMED_STEPS)
    assert kinds.count(Step.TIME) == STRANGE_STEPS + TIMED_STEPS
    assert verdict is Verdict.REPLACE


@given(st.lists(st.floats(1e-6, 1e3), max_size=200), st.booleans(), st.integers(0, 5))
def test_whatever_steps_take_all_of_it_is_bounded(times, has_single, period):
    pilot, replaced, tried = Pilot(1.0, has_single, period), 0, 0
    for seconds in times:
        verdict = pilot.over(pilot.next(), seconds)
        if verdict is Verdict.REPLACE:
            replaced += 1
            pilot.replaced(seconds, has_single, same=False)
        elif verdict is Verdict.TRY_SINGLE:
            tried += 1
            pilot.tries_single()
    assert replaced <= MOST_REPLACEMENTS
    assert tried <= MOST_REPLACEMENTS + 1


def test_a_program_that_changes_its_form_is_timed_when_it_has_it():
    pilot = Pilot(1.0, has_single=True, formed=9)
    kinds, verdict = steps(pilot, 1.0)
    assert kinds[: WARM_STEPS + 1] == [Step.PLAIN] * WARM_STEPS + [Step.RECORD]
    assert set(kinds[WARM_STEPS + 1 : 9]) == {Step.PLAIN}
    assert kinds[9:] == [Step.TIME] * TIMED_STEPS
    assert verdict is Verdict.TRY_SINGLE
