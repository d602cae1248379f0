"""The file ``checkpoint``, and finding, listing, deleting and waiting for checkpoints."""

from __future__ import annotations

import logging
import os
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from situs._src.base import dtype as dt
from situs._src.base.proto.meta_graph import CheckpointState
from situs._src.checkpoints.finding import (
    checkpoint_exists,
    get_checkpoint_mtimes,
    latest_checkpoint,
    list_variables,
    load_checkpoint,
    load_variable,
    remove_checkpoint,
)
from situs._src.checkpoints.index import Index
from situs._src.checkpoints.layout import index_path, shards_on_disk
from situs._src.checkpoints.reader import CheckpointReader
from situs._src.checkpoints.state import generate_checkpoint_state_proto, get_checkpoint_state, update_checkpoint_state
from situs._src.checkpoints.waiting import checkpoints_iterator, wait_for_new_checkpoint
from situs.errors import DTypeError, InvalidArgumentError, NotFoundError
from tests.conftest import STUCK
from tests.unit.checkpoints.samples import VALUES, is_sample, read_all, write_sample


def saved(folder, *names):
    for name in names:
        write_sample(folder / name)
    update_checkpoint_state(folder, folder / names[-1], [folder / name for name in names])


# The file.


def test_the_file_names_checkpoints_relative_to_its_folder(tmp_path):
    update_checkpoint_state(tmp_path, tmp_path / "m-1", [tmp_path / "m-0", tmp_path / "m-1"])
    assert (tmp_path / "checkpoint").read_text() == (
        'model_checkpoint_path: "m-1"\nall_model_checkpoint_paths: "m-0"\nall_model_checkpoint_paths: "m-1"\n'
    )


@pytest.mark.parametrize(
    ("folder", "latest", "others", "written"),
    [
        ("/run", "/run/m-1", ["/run/m-0"], ["/run/m-0", "/run/m-1"]),
        ("/run", "/run/m-1", ["m-0", "/run/m-1"], ["m-0", "/run/m-1"]),
        ("/run", "/other/m-1", [], ["/other/m-1"]),
        ("/run", "/run/sub/m-1", [], ["/run/sub/m-1"]),
        ("/run", "/running/m-1", [], ["/running/m-1"]),
        ("run", "run/m-1", ["run/m-0"], ["m-0", "m-1"]),
        ("run", "m-1", [], ["../m-1"]),
        (".", "./m-1", [], ["m-1"]),
        ("", "m-1", [], ["m-1"]),
        ("file:///run", "file:///run/m-1", [], ["/run/m-1"]),
    ],
)
def test_relative_paths_are_those_of_the_folder_and_full_ones_stay(folder, latest, others, written):
    state = generate_checkpoint_state_proto(folder, latest, others)
    assert list(state.all_model_checkpoint_paths) == written
    assert state.model_checkpoint_path == written[-1]


def test_the_file_is_read_with_the_folder_before_every_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run").mkdir()
    update_checkpoint_state("run", "run/m-1", ["run/m-0"], all_model_checkpoint_timestamps=[3.0])
    state = get_checkpoint_state("run")
    assert isinstance(state, CheckpointState)
    assert state.model_checkpoint_path == "run/m-1"
    assert list(state.all_model_checkpoint_paths) == ["run/m-0", "run/m-1"]
    (tmp_path / "run").rename(tmp_path / "moved")
    assert get_checkpoint_state(tmp_path / "moved").model_checkpoint_path == f"{tmp_path}/moved/m-1"


def test_times_are_kept(tmp_path):
    update_checkpoint_state(tmp_path, "b", ["a", "b"], None, [1.5, 2.5], 0.25)
    state = get_checkpoint_state(tmp_path)
    assert list(state.all_model_checkpoint_timestamps) == [1.5, 2.5]
    assert state.last_preserved_timestamp == 0.25
    with pytest.raises(ValueError, match="Checkpoint timestamps, if provided, must match checkpoint paths"):
        update_checkpoint_state(tmp_path, "b", ["a", "b"], None, [1.5])


def test_paths_with_anything_in_them_are_read_back(tmp_path):
    name = 'a "quoted" \\ name\nwith ключ'
    update_checkpoint_state(tmp_path, name)
    assert get_checkpoint_state(tmp_path).model_checkpoint_path == f"{tmp_path}/{name}"


def test_no_file_is_no_state(tmp_path):
    assert get_checkpoint_state(tmp_path) is None
    assert get_checkpoint_state(tmp_path / "nowhere") is None
    with pytest.raises(TypeError):
        get_checkpoint_state(None)


@pytest.mark.parametrize(
    "content", [b"garbage {{{", b"\xff\xfe", b'model_checkpoint_path: "a', b"x: 1", b"{" * 100_000]
)
def test_a_file_that_cannot_be_read_is_ignored_with_a_warning(tmp_path, content, caplog):
    (tmp_path / "checkpoint").write_bytes(content)
    with caplog.at_level(logging.WARNING, "situs"):
        assert get_checkpoint_state(tmp_path) is None
        assert latest_checkpoint(tmp_path) is None
    assert "checkpoint cannot be used, and is ignored" in caplog.text


def test_a_file_that_names_nothing_is_an_error(tmp_path):
    (tmp_path / "checkpoint").write_bytes(b"")
    with pytest.raises(ValueError, match=f"Invalid checkpoint state loaded from {tmp_path}"):
        get_checkpoint_state(tmp_path)


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_whatever_stands_in_the_file_only_errors_come_of_it(tmp_path_factory, content):
    folder = tmp_path_factory.getbasetemp() / "states"
    folder.mkdir(exist_ok=True)
    (folder / "checkpoint").write_bytes(content)
    try:
        assert latest_checkpoint(folder) is None
    except InvalidArgumentError:
        pass


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: path.symlink_to("/dev/zero")])
def test_what_is_no_ordinary_file_is_ignored(tmp_path, make):
    make(tmp_path / "checkpoint")
    assert get_checkpoint_state(tmp_path) is None


def test_a_huge_file_is_ignored(tmp_path):
    with (tmp_path / "checkpoint").open("wb") as file:
        file.truncate(2**40)
    assert get_checkpoint_state(tmp_path) is None


# Finding.


def test_the_latest_is_the_one_that_is_named(tmp_path):
    saved(tmp_path, "m-1", "m-2", "m-3")
    assert latest_checkpoint(tmp_path) == f"{tmp_path}/m-3"
    assert latest_checkpoint(str(tmp_path)) == f"{tmp_path}/m-3"


@pytest.mark.parametrize("damage", ["index gone", "index cut", "shard gone", "shard cut"])
def test_the_latest_is_one_that_is_complete(tmp_path, damage, caplog):
    saved(tmp_path, "m-1", "m-2", "m-3")
    what, how = damage.split()
    path = index_path(tmp_path / "m-3") if what == "index" else shards_on_disk(tmp_path / "m-3")[0]
    if how == "gone":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:50])
    with caplog.at_level(logging.WARNING, "situs"):
        assert latest_checkpoint(tmp_path) == f"{tmp_path}/m-2"
    assert "m-3 is not complete, and is passed over" in caplog.text


def test_not_every_path_of_a_long_list_is_tried(tmp_path, caplog):
    update_checkpoint_state(tmp_path, tmp_path / "m", [tmp_path / f"m-{number}" for number in range(10_000)])
    with caplog.at_level(logging.WARNING, "situs"):
        assert latest_checkpoint(tmp_path) is None
    assert len(caplog.records) == 100
    assert "/m-9999 is not complete" in caplog.text


def test_a_folder_without_checkpoints_has_no_latest(tmp_path):
    assert latest_checkpoint(tmp_path) is None
    update_checkpoint_state(tmp_path, "gone")
    assert latest_checkpoint(tmp_path) is None


def test_a_checkpoint_is_there_if_its_index_is(tmp_path):
    write_sample(tmp_path / "m-1")
    assert checkpoint_exists(tmp_path / "m-1")
    for other in (tmp_path / "m", tmp_path / "m-1.index", tmp_path, "", f"{tmp_path}/"):
        assert not checkpoint_exists(other)
    assert get_checkpoint_mtimes([tmp_path / "m-1", tmp_path / "m"]) == [index_path(tmp_path / "m-1").stat().st_mtime]


# Looking into it.


def test_variables_are_listed_with_their_shapes(tmp_path):
    saved(tmp_path, "m-1")
    expected = [("b", [3]), ("c", [2]), ("s", [2, 2]), ("w", [2, 3])]
    assert list_variables(tmp_path) == list_variables(tmp_path / "m-1") == expected


def test_a_reader_answers_as_tensorflows_does(tmp_path):
    write_sample(tmp_path / "m", {"n": (dt.int64, VALUES["w"][1].long()), "w": VALUES["w"], "s": VALUES["s"]})
    reader = load_checkpoint(tmp_path / "m")
    assert reader.get_variable_to_shape_map() == {"n": [2, 3], "s": [2, 2], "w": [2, 3]}
    assert reader.get_variable_to_dtype_map() == {"n": dt.int64, "s": dt.string, "w": dt.float32}
    assert (reader.has_tensor("w"), reader.has_tensor("q")) == (True, False)
    assert reader.debug_string() == b"n (DT_INT64) [2,3]\ns (DT_STRING) [2,2]\nw (DT_FLOAT) [2,3]\n"
    with pytest.raises(NotFoundError, match=r"Key ww not found in checkpoint .* Did you mean 'w'"):
        reader.get_tensor("ww")


def test_scalars_come_as_scalars(tmp_path):
    values = {"n": (dt.int64, VALUES["w"][1].sum().long()), "s": (dt.string, np.array(b"abc", dtype=object))}
    write_sample(tmp_path / "m", values)
    assert type(load_variable(tmp_path / "m", "n")) is np.int64
    assert load_variable(tmp_path / "m", "n") == 15
    assert load_variable(tmp_path / "m", "s") == b"abc"


def test_the_name_of_a_tensor_stands_for_its_variable(tmp_path):
    write_sample(tmp_path / "m")
    assert np.array_equal(load_variable(tmp_path / "m", "w:0"), load_variable(tmp_path / "m", "w"))


@pytest.mark.parametrize("name", ["nokey", "", None, 3])
def test_a_variable_that_is_not_there_is_not_found(tmp_path, name):
    write_sample(tmp_path / "m")
    with pytest.raises(NotFoundError, match=f"Key {name} not found in checkpoint"):
        load_variable(tmp_path / "m", name)


def test_a_folder_without_checkpoints_cannot_be_looked_into(tmp_path):
    with pytest.raises(NotFoundError, match="Couldn't find 'checkpoint' file or checkpoints in given directory"):
        load_checkpoint(tmp_path)


def test_a_reader_can_be_closed_and_used_again(tmp_path):
    write_sample(tmp_path / "m")
    reader = CheckpointReader(tmp_path / "m")
    reader.get_tensor("w")
    reader.close()
    reader.close()
    assert reader.get_tensor("w").shape == (2, 3)
    files = len(list(Path("/proc/self/fd").iterdir()))
    del reader
    assert len(list(Path("/proc/self/fd").iterdir())) == files - 1


# Deleting.


def test_a_checkpoint_is_deleted_with_all_its_files(tmp_path):
    write_sample(tmp_path / "m-1")
    write_sample(tmp_path / "m-2")
    (tmp_path / "m-1.meta").write_bytes(b"")
    remove_checkpoint(tmp_path / "m-1")
    assert sorted(path.name.split(".")[0] for path in tmp_path.iterdir()) == ["m-2"] * 3
    remove_checkpoint(tmp_path / "m-1")
    remove_checkpoint(tmp_path / "nowhere" / "m-1")


def test_an_index_names_the_checkpoint_it_was_saved_as(tmp_path):
    write_sample(tmp_path / "m-1")
    assert Index.from_bytes(index_path(tmp_path / "m-1").read_bytes(), "it").name == "m-1"
    assert is_sample(read_all(tmp_path / "m-1"))


# Waiting.


def test_each_new_checkpoint_is_given_once(tmp_path):
    saved(tmp_path, "m-1")
    found = checkpoints_iterator(tmp_path, timeout=STUCK)
    assert next(found) == f"{tmp_path}/m-1"
    later = threading.Timer(0.05, saved, (tmp_path, "m-2"))
    later.start()
    assert next(found) == f"{tmp_path}/m-2"
    later.join()


def test_waiting_ends(tmp_path):
    assert list(checkpoints_iterator(tmp_path, timeout=0)) == []
    saved(tmp_path, "m-1")
    assert list(checkpoints_iterator(tmp_path, timeout=0)) == [f"{tmp_path}/m-1"]
    assert wait_for_new_checkpoint(tmp_path, f"{tmp_path}/m-1", 0.01, timeout=0.02) is None


def test_who_waits_decides_whether_to_go_on(tmp_path):
    asked = []
    saved(tmp_path, "m-1")
    answers = checkpoints_iterator(tmp_path, timeout=0, timeout_fn=lambda: len(asked) == 2 or asked.append(1))
    assert list(answers) == [f"{tmp_path}/m-1"]
    assert len(asked) == 2


def test_checkpoints_are_given_no_faster_than_is_wanted(tmp_path):
    saved(tmp_path, "m-1")
    found = checkpoints_iterator(tmp_path, min_interval_secs=0.2, timeout=0)
    start = time.monotonic()
    next(found)
    saved(tmp_path, "m-2")
    next(found)
    assert time.monotonic() - start >= 0.2


@pytest.mark.parametrize("arguments", [{"timeout": "soon"}, {"min_interval_secs": "x"}])
def test_times_are_numbers(tmp_path, arguments):
    saved(tmp_path, "m-1")
    with pytest.raises(TypeError):
        list(checkpoints_iterator(tmp_path, **{"timeout": 0, **arguments}))


def test_lists_of_paths_are_lists(tmp_path):
    for wrong in (5, "model"):
        with pytest.raises(DTypeError, match="Checkpoints are given as a list of paths"):
            get_checkpoint_mtimes(wrong)
        with pytest.raises(DTypeError, match="Checkpoints are given as a list of paths"):
            update_checkpoint_state(tmp_path, "model", wrong)
    state = CheckpointState(all_model_checkpoint_paths=[str(tmp_path / "none")])
    assert get_checkpoint_mtimes(state.all_model_checkpoint_paths) == []


def test_what_cannot_be_a_name_is_an_error_of_ours(tmp_path):
    with pytest.raises(DTypeError, match="Expected binary or unicode string"):
        latest_checkpoint(tmp_path, 5)
    for ask in (load_checkpoint, lambda path: get_checkpoint_mtimes([path])):
        with pytest.raises(InvalidArgumentError, match="File name too long"):
            ask(tmp_path / ("a" * 5000))


@pytest.mark.parametrize("name", [["w"], None, 5])
def test_a_variable_is_asked_for_by_a_string(tmp_path, name):
    write_sample(tmp_path / "m")
    reader = CheckpointReader(tmp_path / "m")
    assert not reader.has_tensor(name)
    with pytest.raises(NotFoundError, match="not found in checkpoint"):
        reader.get_tensor(name)
