"""Damaged and hostile checkpoints are errors: no crash, no wrong value, no memory for what is not there."""

from __future__ import annotations

import json
import os
import random
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from situs._src.checkpoints import encoding
from situs._src.checkpoints.index import LARGEST, Index
from situs._src.checkpoints.layout import index_path, shards_on_disk
from situs._src.checkpoints.reader import CheckpointReader
from situs._src.checkpoints.strict_json import DEEPEST, NotStrictError, loads
from situs.errors import (
    DataLossError,
    InvalidArgumentError,
    NotFoundError,
    OpError,
    ResourceExhaustedError,
    UnimplementedError,
)
from tests.unit.checkpoints.samples import VALUES, forge, forged, is_sample, read_all, write_sample


@pytest.fixture
def sample(tmp_path):
    prefix = write_sample(tmp_path / "model-1")
    assert is_sample(read_all(prefix))
    return prefix


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A sample for tests with many examples, which put back what they change."""
    return write_sample(tmp_path_factory.mktemp("shared") / "m")


def files(prefix: Path) -> list[Path]:
    return [index_path(prefix), *shards_on_disk(prefix)]


# Damage.


def test_no_bit_can_flip_unnoticed(sample):
    for path in files(sample):
        content = path.read_bytes()
        for place in range(len(content)):
            path.write_bytes(content[:place] + bytes([content[place] ^ (1 << place % 8)]) + content[place + 1 :])
            with pytest.raises((DataLossError, UnimplementedError)):
                read_all(sample)
        path.write_bytes(content)
    assert is_sample(read_all(sample))


def test_a_file_that_was_cut_is_noticed(sample):
    for path in files(sample):
        content = path.read_bytes()
        for length in {*range(0, len(content), 5), len(content) - 1}:
            path.write_bytes(content[:length])
            with pytest.raises(DataLossError):
                read_all(sample)
        path.write_bytes(content)


def test_a_file_that_grew_is_noticed(sample):
    for path in files(sample):
        content = path.read_bytes()
        path.write_bytes(content + b"\x00")
        with pytest.raises(DataLossError, match="damaged"):
            read_all(sample)
        path.write_bytes(content)


def test_shards_that_were_exchanged_are_noticed(sample):
    one, other = shards_on_disk(sample)
    one_content, other_content = one.read_bytes(), other.read_bytes()
    one.write_bytes(other_content)
    other.write_bytes(one_content)
    with pytest.raises(DataLossError):
        read_all(sample)


def test_only_the_variables_in_a_damaged_place_are_lost(sample):
    with CheckpointReader(sample) as reader:
        entry = reader.entry("w")
        path = shards_on_disk(sample)[entry.shard]
    content = bytearray(path.read_bytes())
    content[entry.begin] ^= 1
    path.write_bytes(content)
    with CheckpointReader(sample) as reader:
        assert reader.get_tensor("b").tolist() == [True, False, True]
        with pytest.raises(DataLossError, match=r"Variable 'w' in .* is damaged.*Use an older checkpoint"):
            reader.get_tensor("w")


def test_a_missing_shard_is_named(sample):
    lost = shards_on_disk(sample)[1]
    lost.unlink()
    with pytest.raises(NotFoundError, match=f"{lost.name} is missing: the checkpoint is not complete"):
        read_all(sample)


def test_no_checkpoint_at_all_is_not_found(tmp_path):
    with pytest.raises(NotFoundError, match=r"Failed to find any matching files for .*nothing\. You may be missing"):
        CheckpointReader(tmp_path / "nothing")
    with pytest.raises(NotFoundError, match=r"It is a folder: tf.train.latest_checkpoint"):
        CheckpointReader(tmp_path)


@pytest.mark.parametrize("content", [b"", b"\x00", b"{}", b"null", b"garbage" * 20, b'{"crc32":"', b"\xff" * 100])
def test_a_file_that_is_no_index_is_data_loss(sample, content):
    index_path(sample).write_bytes(content)
    with pytest.raises(DataLossError, match="index"):
        CheckpointReader(sample)


def test_a_checkpoint_of_a_newer_version_is_recognised(sample):
    forge(sample, lambda content: content.update(version=2))
    with pytest.raises(UnimplementedError, match="version 2 of the format"):
        CheckpointReader(sample)


# Lies with the right checksum.


def of_w(**changes):
    return lambda content: content["variables"]["w"].update(changes)


def of_shard(**changes):
    return lambda content: content["shards"][0].update(changes)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (of_shard(file="../other.data-00000-of-00001.safetensors"), "could lead anywhere"),
        (of_shard(file="/etc/passwd"), "could lead anywhere"),
        (of_shard(file="data-00000-of-00001.safetensors/../../x"), "could lead anywhere"),
        (of_shard(file="data-00000-of-00001.safetensors\n"), "could lead anywhere"),
        (of_shard(file="data-\u0660\u0660\u0660\u0660\u0660-of-00001.safetensors"), "could lead anywhere"),
        (of_shard(file="data-00000-of-00001.safetensors\x00"), "could lead anywhere"),
        (of_shard(file=""), "could lead anywhere"),
        (of_shard(file=3), "'file' is 3"),
        (of_shard(size=-1), "'size' is -1"),
        (of_shard(size=2**63), "'size' is"),
        (of_shard(size=1.5), "'size' is 1.5"),
        (of_shard(size=True), "'size' is True"),
        (of_shard(header=10**6), "longer than the file"),
        (lambda content: content["shards"].append(content["shards"][0]), "one of them twice"),
        (lambda content: content.update(shards=None), "'shards' is None"),
        (lambda content: content.update(shards=[None]), "'file' is None"),
        (lambda content: content.update(variables=[]), r"'variables' is \[\]"),
        (lambda content: content.update(format="other"), "its format is 'other'"),
        (lambda content: content.update(name=None), "'name' is None"),
        (of_w(dtype="float33"), "variable 'w': the dtype 'float33' is not known"),
        (of_w(dtype="resource"), "the dtype 'resource' is not known"),
        (of_w(dtype=["float32"]), "'dtype' is"),
        (of_w(dtype="float64"), "24 bytes are no float64 values"),
        (of_w(shape=[7]), r"24 bytes are no float32 values of shape \[7\]"),
        (of_w(shape=[-2, -3]), "is no shape"),
        (of_w(shape=[2.0, 3]), "is no shape"),
        (of_w(shape=[True, 6]), "is no shape"),
        (of_w(shape=[2**70]), "is no shape"),
        (of_w(shape=[2**62] * 200), "24 bytes are no float32 values"),
        (of_w(shape=[1] * 300), "is no shape"),
        (of_w(shape="23"), "'shape' is '23'"),
        (of_w(shape=[2**40], size=2**42), "are not among the values"),
        (of_w(shard=2), "there is no shard 2"),
        (of_w(shard=-1), "'shard' is -1"),
        (of_w(begin=0), "bytes 0 to 24 are not among the values"),
        (of_w(begin=10**9), "are not among the values"),
        (of_w(begin=2**62, size=2**62), "are not among the values"),
        (of_w(device=None), "'device' is None"),
        (lambda content: content["variables"].update(w=[]), "'dtype' is None"),
        (lambda content: content["variables"].update(copy=content["variables"]["w"]), "two variables share byte"),
    ],
)
def test_an_index_that_lies_is_refused(sample, change, match):
    forge(sample, change)
    with pytest.raises(InvalidArgumentError, match=match):
        CheckpointReader(sample)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        (b'{"a":1,"a":2}', "it has 'a' twice"),
        (b'{"x":{"a":1,"b":2,"a":3}}', "it has 'a' twice"),
        (b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested too deep"),
        (b'{"a":' + b'{"a":' * 100_000 + b"1" + b"}" * 100_001, "nested too deep"),
        (b'{"a":NaN}', "the number NaN"),
        (b'{"a":-Infinity}', "the number -Infinity"),
        (b'{"a":' + b"9" * 10_000 + b"}", "not JSON"),
        (b'{"a":"\xff"}', "not JSON"),
        (b'{"a":"\xed\xa0\x80"}', "not JSON"),
        (b"{", "not JSON"),
        (b'{"a":1}}', "not JSON"),
        (b'{"a":1,}', "not JSON"),
        (b'{"format":"situs checkpoint","version":1,"name":"x","shards":[],"variables":{"w":{}}}', "'dtype' is None"),
    ],
)
def test_json_that_is_meant_badly_is_refused(text, match):
    with pytest.raises((InvalidArgumentError, DataLossError), match=match):
        Index.from_bytes(forged(text), "the index")


def test_a_shard_that_the_index_calls_larger_than_it_is_is_refused(sample):
    forge(sample, lambda content: (of_shard(size=2**40)(content), of_w(shape=[2**36], size=2**38, shard=0)(content)))
    with pytest.raises(OpError):
        read_all(sample)


def test_no_memory_is_taken_for_what_the_file_does_not_have(sample, monkeypatch):
    sizes = []
    empty = torch.empty
    monkeypatch.setattr(encoding.torch, "empty", lambda shape, **kw: sizes.append(np.prod(shape)) or empty(shape, **kw))
    forge(sample, lambda content: (of_shard(size=2**50)(content), of_w(shape=[2**40], size=2**42, shard=0)(content)))
    with pytest.raises(OpError):
        read_all(sample)
    assert sum(sizes) < 1000


def test_an_index_that_is_too_large_is_refused_before_it_is_read(sample):
    with index_path(sample).open("r+b") as file:
        file.truncate(LARGEST + 1)
    with pytest.raises(InvalidArgumentError, match=f"has {LARGEST + 1} bytes; such a file has at most"):
        CheckpointReader(sample)


def test_an_index_that_would_be_too_large_is_not_written(tmp_path, monkeypatch):
    monkeypatch.setattr("situs._src.checkpoints.writer.LARGEST", 100)
    with pytest.raises(InvalidArgumentError, match="A checkpoint of 4 variables would have an index of"):
        write_sample(tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def test_a_name_without_end_makes_no_message_without_end(tmp_path):
    name = "n" * 100_000
    prefix = write_sample(tmp_path / "m", {name: VALUES["w"]})
    path = shards_on_disk(prefix)[0]
    path.write_bytes(path.read_bytes()[:-1] + b"\xff")
    with pytest.raises(DataLossError) as caught:
        read_all(prefix)
    assert len(str(caught.value)) < 1000


def test_brackets_count_that_are_open_at_once():
    deepest = b"[" * DEEPEST + b"]" * DEEPEST
    assert len(loads(b"[" + b"[[]]," * 1000 + b"0]")) == 1001
    assert loads(deepest)
    with pytest.raises(NotStrictError, match="nested too deep"):
        loads(b"[" + deepest + b"]")


def test_a_program_that_allows_deep_recursion_is_not_led_into_it():
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(10**6)
    try:
        with pytest.raises(InvalidArgumentError, match="nested too deep"):
            Index.from_bytes(forged(b'{"a":' + b"[" * 10**6), "the index")
    finally:
        sys.setrecursionlimit(limit)


def test_a_file_full_of_holes_does_not_fill_the_memory(sample):
    """A file may be as long as the index says and take no room on the disk."""
    size = 2**43
    path = shards_on_disk(sample)[0]
    with path.open("r+b") as file:
        try:
            file.truncate(size)
        except OSError:
            pytest.skip("this file system has no files of 8 TiB")
    with CheckpointReader(sample) as reader:
        begin = max(entry.begin + entry.size for entry in reader.index.entries.values())
    place = of_w(shard=0, begin=begin, shape=[2**40], size=2**42)
    forge(sample, lambda content: (of_shard(size=size)(content), place(content)))
    with pytest.raises(ResourceExhaustedError, match="OOM when reading 'w'"), CheckpointReader(sample) as reader:
        reader.get_tensor("w")


# What is not an ordinary file.


def test_links_within_the_folder_are_followed(sample):
    for path in files(sample):
        path.rename(path.with_name(f"real-{path.name}"))
        path.symlink_to(f"real-{path.name}")
    assert is_sample(read_all(sample))


@pytest.mark.parametrize("number", [0, 1, 2])
def test_links_out_of_the_folder_are_refused(sample, tmp_path_factory, number):
    path = files(sample)[number]
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "file"
    path.rename(elsewhere)
    path.symlink_to(elsewhere)
    with pytest.raises(InvalidArgumentError, match=r"is a link to .*, out of the folder of the checkpoint"):
        read_all(sample)


@pytest.mark.parametrize(
    ("target", "error"),
    [("/dev/zero", InvalidArgumentError), ("itself", InvalidArgumentError), ("nowhere", NotFoundError)],
)
@pytest.mark.parametrize("number", [0, 1])
def test_links_to_nothing_good_are_errors(sample, number, target, error):
    path = files(sample)[number]
    path.unlink()
    path.symlink_to(path.name if target == "itself" else target)
    with pytest.raises(error):
        read_all(sample)


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_pipes_and_folders_are_refused_and_not_waited_for(sample, number, make):
    path = files(sample)[number]
    path.unlink()
    make(path)
    with pytest.raises(InvalidArgumentError, match="is no ordinary file"):
        read_all(sample)


def test_a_checkpoint_in_a_linked_folder_is_read(sample, tmp_path_factory):
    link = tmp_path_factory.mktemp("link") / "run"
    link.symlink_to(sample.parent)
    assert is_sample(read_all(link / sample.name))


def test_a_checkpoint_can_be_moved_and_renamed(sample, tmp_path_factory):
    folder = tmp_path_factory.mktemp("other")
    for path in files(sample):
        path.rename(folder / path.name.replace("model-1", "best"))
    assert is_sample(read_all(folder / "best"))


# Anything at all.


@given(st.binary(max_size=300))
def test_random_bytes_are_no_index(content):
    with pytest.raises(DataLossError):
        Index.from_bytes(content, "the index")


@given(st.binary(max_size=300))
def test_random_bytes_with_the_right_checksum_are_no_index(content):
    with pytest.raises(InvalidArgumentError):
        Index.from_bytes(forged(b"{" + content), "the index")


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def places_in(value):
    """Every place in nested lists and dictionaries, as a container and a key."""
    for key in value if isinstance(value, dict) else range(len(value)):
        yield value, key
        if isinstance(value[key], (dict, list)):
            yield from places_in(value[key])


@settings(max_examples=150)
@given(st.data())
def test_whatever_stands_in_an_index_only_errors_come_of_it(shared, data):
    whole = index_path(shared).read_bytes()

    def change(content):
        for _ in range(data.draw(st.integers(1, 3))):
            value, key = data.draw(st.sampled_from(list(places_in(content))))
            value[key] = data.draw(plain | st.sampled_from([0, 1, 7, 8, 2**31, 2**62, -1]))

    forge(shared, change)
    try:
        found = read_all(shared)
        assert sum(np.asarray(value).nbytes for value in found.values()) < 10_000  # what is read was really there
    except OpError:
        pass
    finally:
        index_path(shared).write_bytes(whole)


@settings(max_examples=100)
@given(st.integers(), st.sampled_from([1, 2]))
def test_a_shard_of_random_bytes_is_never_believed(shared, seed, number):
    path = files(shared)[number]
    whole, noise = path.read_bytes(), random.Random(seed)
    path.write_bytes(noise.randbytes(noise.choice([0, 1, 8, 100, len(whole)])))
    with pytest.raises(DataLossError):
        read_all(shared)
    path.write_bytes(whole)


def test_the_first_byte_of_json_is_checked_with_the_rest(sample):
    content = index_path(sample).read_bytes()
    assert json.loads(content)["name"] == "model-1"
    index_path(sample).write_bytes(b" " + content)
    with pytest.raises(DataLossError):
        CheckpointReader(sample)
