"""The store of measured costs: in memory, in its file, and with files that are not what they should be."""

from __future__ import annotations

import json
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from situs._src.placement.costs import store as stores
from situs._src.placement.costs.key import Key
from situs._src.placement.costs.store import FORMAT, SAMPLES, VERSION, CostStore
from situs._src.placement.costs.work import Work
from situs.errors import InvalidArgumentError

KIND = "CPU of a test, 1 threads"
KEY = Key("MatMul float32 2,2->2", "[2,3] [3,4] -> [2,4]")
WORK = Work(48.0, 104.0)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "below" / "costs.json"


def filled(path, *seconds, at=1000.0):
    store = CostStore(path, clock=lambda: at)
    for each in seconds:
        store.note(KIND, KEY, WORK, each)
    return store


def test_the_median_of_the_last_samples_counts(path):
    store = filled(path, *[100.0] * SAMPLES, *[1.0] * SAMPLES)
    assert store.measured(KIND, KEY).median == 1.0
    assert len(store.measured(KIND, KEY).seconds) == SAMPLES
    store.note(KIND, KEY, WORK, 50.0)
    assert store.measured(KIND, KEY).median == 1.0


def test_other_kinds_and_keys_have_no_cost(path):
    store = filled(path, 1.0)
    assert store.measured("GPU", KEY) is None
    assert store.measured(KIND, Key(KEY.family, "[1,1]")) is None
    assert len(store) == 1


@pytest.mark.parametrize("bad", [-1.0, float("nan"), float("inf")])
def test_a_time_that_cannot_be_is_refused(path, bad):
    with pytest.raises(InvalidArgumentError, match="seconds of at least 0"):
        filled(path, bad)


def test_what_is_saved_is_read_again(path):
    store = filled(path, 1.0, 3.0, 2.0)
    store.note_link("a -> b", 1e-6, 1e-9)
    store.save()
    again = CostStore(path)
    assert again.measured(KIND, KEY).seconds == [1.0, 3.0, 2.0]
    assert again.measured(KIND, KEY).work == WORK
    assert again.link("a -> b").per_byte == 1e-9
    assert again.measured(KIND, KEY).at == 1000.0


def test_saving_keeps_what_another_process_has_written_meanwhile(path):
    mine, theirs = filled(path, 1.0), CostStore(path, clock=lambda: 2000.0)
    theirs.note(KIND, Key("Relu float32", "[1] -> [1]"), WORK, 5.0)
    theirs.note(KIND, KEY, WORK, 9.0)
    theirs.save()
    mine.save()
    found = CostStore(path)
    assert found.measured(KIND, Key("Relu float32", "[1] -> [1]")).median == 5.0
    assert found.measured(KIND, KEY).median == 9.0  # the newer one


def test_no_draft_is_left_beside_the_file(path):
    filled(path, 1.0).save()
    assert [each.name for each in path.parent.iterdir()] == ["costs.json"]


def test_a_store_in_memory_has_nothing_to_save():
    with pytest.raises(InvalidArgumentError, match="in memory only"):
        CostStore().save()


GOOD = {
    "format": FORMAT,
    "version": VERSION,
    "kinds": {KIND: {KEY.family: {KEY.sizes: {"seconds": [1.0], "steps": 1, "bytes": 1, "at": 0}}}},
    "links": {},
}


def changed(**fields):
    return json.dumps({**GOOD, **fields})


BROKEN = {
    "empty": "",
    "cut off": json.dumps(GOOD)[:-20],
    "a list": "[]",
    "another format": changed(format="something else"),
    "a later version": changed(version=VERSION + 1),
    "kinds is a list": changed(kinds=[]),
    "a negative time": changed(kinds={KIND: {"f": {"s": {"seconds": [-1.0], "steps": 1, "bytes": 1, "at": 0}}}}),
    "a time that is text": changed(kinds={KIND: {"f": {"s": {"seconds": ["1"], "steps": 1, "bytes": 1, "at": 0}}}}),
    "no times": changed(kinds={KIND: {"f": {"s": {"seconds": [], "steps": 1, "bytes": 1, "at": 0}}}}),
    "infinite": changed(links={"a": {"latency": 1e999, "per_byte": 0, "at": 0}}),
    "longer than a number holds": changed(links={"a": {"latency": 10**400, "per_byte": 0, "at": 0}}),
    "too long to add up": changed(kinds={KIND: {"f": {"s": {"seconds": [1e308], "steps": 1, "bytes": 1, "at": 0}}}}),
    "a moment that no date shows": changed(links={"a": {"latency": 1, "per_byte": 0, "at": 1e300}}),
    "deep": "[" * 100_000,
}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_file_is_left_out_with_one_warning_and_replaced(tmp_path, text):
    path = tmp_path / "costs.json"
    path.write_text(text)
    with pytest.warns(RuntimeWarning, match="are left out") as found:
        store = CostStore(path)
    assert len(found) == 1
    assert len(store) == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        CostStore(path)
        store.note(KIND, KEY, WORK, 1.0)
        store.save()
    assert len(CostStore(path)) == 1


def test_what_stands_for_good_is_good(tmp_path):
    (tmp_path / "costs.json").write_text(json.dumps(GOOD))
    assert len(CostStore(tmp_path / "costs.json")) == 1


def test_a_file_that_cannot_be_written_warns_and_all_goes_on(tmp_path):
    (tmp_path / "file").write_text("")
    store = filled(tmp_path / "file" / "costs.json", 1.0)
    with pytest.warns(RuntimeWarning, match="cannot be written"):
        store.save_if_possible()
    assert store.measured(KIND, KEY) is not None


def test_the_environment_names_the_file(tmp_path, monkeypatch):
    monkeypatch.setenv("SITUS_COSTS", str(tmp_path / "mine.json"))
    assert stores.shared_store().path == tmp_path / "mine.json"
    assert stores.shared_store() is stores.shared_store()
    monkeypatch.delenv("SITUS_COSTS")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert stores.store_path() == tmp_path / "situs" / "costs.json"


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@given(kinds=json_values, links=json_values)
def test_whatever_json_a_file_holds_it_is_taken_or_left_out(tmp_path_factory, kinds, links):
    path = tmp_path_factory.mktemp("costs") / "costs.json"
    path.write_text(json.dumps({"format": FORMAT, "version": VERSION, "kinds": kinds, "links": links}))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        store = CostStore(path)
    for _, _, found in store.items():
        assert found.median >= 0


def test_a_pace_is_saved_and_the_newer_one_counts(path):
    store = CostStore(path, clock=lambda: 1000.0)
    assert store.pace(KIND).of(2.0) == 2.0  # nothing is known: as by itself
    store.note_pace(KIND, 0.5, 0.8)
    store.save()
    assert CostStore(path).pace(KIND).of(2.0) == pytest.approx(1.5 * 0.8)
    assert CostStore(path).pace(KIND).of(0.1) == pytest.approx(0.01 * 0.8)  # never less than a tenth
    later = CostStore(path, clock=lambda: 2000.0)
    later.note_pace(KIND, 0.0, 2.0)
    later.save()
    assert CostStore(path).pace(KIND).share == 2.0


@pytest.mark.parametrize("bad", [{"per_call": -1.0, "share": 1.0, "at": 0.0}, {"share": 1.0}, "fast"])
def test_a_file_with_a_pace_that_cannot_be_is_left_out(path, bad):
    path.parent.mkdir()
    path.write_text(json.dumps({"format": FORMAT, "version": VERSION, "kinds": {}, "links": {}, "paces": {KIND: bad}}))
    with pytest.warns(RuntimeWarning, match="are left out"):
        assert CostStore(path).pace(KIND).share == 1.0
