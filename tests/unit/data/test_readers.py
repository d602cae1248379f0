"""Readers of TensorFlow 1. Keys, values and counts are those of TensorFlow 2.21 for the same files."""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import situs.compat.v1 as tf
from situs import errors
from situs._src.data import readers as eager

A, B = b"h\r\n1,2\n\n3,4\n", b"h\n5,6"


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "a").write_bytes(A)
    (tmp_path / "b").write_bytes(B)
    (tmp_path / "f").write_bytes(bytes(range(23)))
    (tmp_path / "z").write_bytes(zlib.compress(bytes(range(23))))
    for name, compression in (("r", ""), ("g", "GZIP")):
        with tf.io.TFRecordWriter(str(tmp_path / name), compression) as writer:
            for record in (b"one", b"", b"three"):
                writer.write(record)
    with tf.Graph().as_default():
        yield tmp_path


def read_all(folder: Path, reader: Any, names: list[str]) -> tuple[list[Any], list[int]]:
    """The records of files, and how many records and files there were, in a session with queue runners."""
    files = tf.train.string_input_producer([str(folder / name) for name in names], num_epochs=1, shuffle=False)
    record, found = reader.read(files), []
    counts = [reader.num_records_produced(), reader.num_work_units_completed()]
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coordinator)

        def read() -> None:
            while True:
                key, value = session.run(record)
                found.append((key.decode().removeprefix(f"{folder}/"), value))

        with pytest.raises(errors.OutOfRangeError, match="is closed and has insufficient elements"):
            read()
        numbers = session.run(counts)
        coordinator.request_stop()
        coordinator.join(threads)
    return found, [int(number) for number in numbers]


LINES = [("a:1", b"h"), ("a:2", b"1,2"), ("a:3", b""), ("a:4", b"3,4"), ("b:1", b"h"), ("b:2", b"5,6")]
RECORDS = [("r:0", b"one"), ("r:19", b""), ("r:35", b"three")]
CASES: dict[str, tuple[Any, list[str], list[Any], list[int]]] = {
    "lines": (lambda: tf.TextLineReader(), ["a", "b"], LINES, [6, 2]),
    "without heads": (
        lambda: tf.TextLineReader(skip_header_lines=1),
        ["a", "b"],
        [line for line in LINES if line[1] != b"h"],
        [4, 2],
    ),
    "records": (lambda: tf.TFRecordReader(), ["r", "r"], RECORDS * 2, [6, 2]),
    "fixed": (
        lambda: tf.FixedLengthRecordReader(5, 2, 3),
        ["f"],
        [(f"f:{n}", bytes(range(2 + 5 * n, 7 + 5 * n))) for n in range(3)],
        [3, 1],
    ),
    "overlapping": (
        lambda: tf.FixedLengthRecordReader(5, 2, 3, 2),
        ["f"],
        [(f"f:{n}", bytes(range(2 + 2 * n, 7 + 2 * n))) for n in range(7)],
        [7, 1],
    ),
    "apart": (
        lambda: tf.FixedLengthRecordReader(5, 2, 1, 7),
        ["f"],
        [(f"f:{n}", bytes(range(2 + 7 * n, 7 + 7 * n))) for n in range(3)],
        [3, 1],
    ),
    "compressed": (
        lambda: tf.FixedLengthRecordReader(5, 2, 3, encoding="ZLIB"),
        ["z"],
        [(f"z:{n}", bytes(range(2 + 5 * n, 7 + 5 * n))) for n in range(3)],
        [3, 1],
    ),
    "whole": (lambda: tf.WholeFileReader(), ["a", "b"], [("a", A), ("b", B)], [2, 2]),
}


@pytest.mark.parametrize("case", CASES)
def test_records_of_files_come_one_by_one(case: str, folder: Path) -> None:
    make, names, wanted, counts = CASES[case]
    assert read_all(folder, make(), names) == (wanted, counts)


def test_compressed_records_and_names_themselves(folder: Path) -> None:
    options = tf.python_io.TFRecordOptions(tf.python_io.TFRecordCompressionType.GZIP)
    found, _ = read_all(folder, tf.TFRecordReader(options=options), ["g"])
    assert [value for _, value in found] == [b"one", b"", b"three"]
    name = str(folder / "a").encode()
    assert read_all(folder, tf.IdentityReader(), ["a"]) == ([("a", name)], [1, 1])


def test_several_records_at_once_end_with_their_file(folder: Path) -> None:
    names, reader = tf.FIFOQueue(9, tf.string), tf.TextLineReader()
    keys, values = reader.read_up_to(names, 3)
    assert keys.shape.as_list() == values.shape.as_list() == [None]
    with tf.Session() as session:
        session.run(names.enqueue_many([[str(folder / "a"), str(folder / "b")]]))
        session.run(names.close())
        found = [[value.decode() for value in session.run(values)] for _ in range(3)]
        assert found == [["h", "1,2", ""], ["3,4"], ["h", "5,6"]]
        with pytest.raises(errors.OutOfRangeError):
            session.run(values)


def test_a_reader_begins_anew_and_every_session_has_its_own(folder: Path) -> None:
    names, reader = tf.FIFOQueue(9, tf.string), tf.TextLineReader(name="mine")
    (_, line), reset = reader.read(names), reader.reset()
    fill = names.enqueue_many([[str(folder / "a")] * 3])
    assert reader.reader_ref.op.name == "mine"
    with tf.Session() as first, tf.Session() as second:
        first.run(fill)
        second.run(fill)
        assert [first.run(line), first.run(line), second.run(line)] == [b"h", b"1,2", b"h"]
        first.run(reset)
        assert first.run(line) == b"h"
        assert first.run(reader.num_records_produced()) == 1


def test_a_file_that_is_missing_is_an_error_and_the_next_one_is_read(folder: Path) -> None:
    names, reader = tf.FIFOQueue(9, tf.string), tf.TextLineReader()
    _, line = reader.read(names)
    with tf.Session() as session:
        session.run(names.enqueue_many([[str(folder / "nothing"), str(folder / "b")]]))
        with pytest.raises(errors.NotFoundError, match="nothing"):
            session.run(line)
        assert session.run(line) == b"h"


def test_lines_become_batches_of_numbers(folder: Path) -> None:
    (folder / "c").write_text("".join(f"{n},{n * n}\n" for n in range(6)))
    files = tf.train.string_input_producer([str(folder / "c")], num_epochs=1, shuffle=False)
    _, line = tf.TextLineReader().read(files)
    x, y = tf.decode_csv(line, [[0.0], [0]])
    batch = tf.train.batch([x, y], 4, allow_smaller_final_batch=True)
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coordinator)
        found = [session.run(batch) for _ in range(2)]
        coordinator.request_stop()
        coordinator.join(threads)
    assert [[array.tolist() for array in pair] for pair in found] == [
        [[0.0, 1.0, 2.0, 3.0], [0, 1, 4, 9]],
        [[4.0, 5.0], [16, 25]],
    ]


def test_what_is_no_queue_of_names_is_refused(folder: Path) -> None:
    reader = tf.TextLineReader()
    with pytest.raises(TypeError, match="string_input_producer"):
        reader.read("a.txt")
    with pytest.raises(errors.InvalidArgumentError, match="record_bytes must be > 0"):
        tf.FixedLengthRecordReader(0)
    with pytest.raises(errors.InvalidArgumentError, match="hop_bytes must be >= 0"):
        tf.FixedLengthRecordReader(1, hop_bytes=-1)
    with pytest.raises(errors.UnimplementedError, match=r"tf\.data"):
        reader.serialize_state()
    numbers = tf.FIFOQueue(9, tf.int32)
    _, value = reader.read(numbers)
    with tf.Session() as session:
        session.run(numbers.enqueue(1))
        with pytest.raises(errors.InvalidArgumentError, match="queue of single strings, got one of"):
            session.run(value)


def test_readers_are_for_graphs() -> None:
    with pytest.raises(RuntimeError, match=r"please use tf\.data"):
        eager.TextLineReader()


def test_names_that_fit_a_pattern_are_looked_up_once(folder: Path) -> None:
    names = tf.train.match_filenames_once(str(folder / "[ab]"))
    assert names.name == "matching_filenames:0"
    files = tf.train.string_input_producer(names, num_epochs=1, shuffle=False)
    _, content = tf.WholeFileReader().read(files)
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        (folder / "b").unlink()
        assert session.run(names).tolist() == [str(folder / name).encode() for name in "ab"]
        assert session.run(tf.matching_files([str(folder / "[ab]"), str(folder / "f*")])).tolist() == [
            str(folder / name).encode() for name in "af"
        ]
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coordinator)
        assert session.run(content) == A
        coordinator.request_stop()
        coordinator.join(threads)


def test_the_time_is_that_of_the_run() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        now = tf.timestamp()
        before = time.time()
        first, second = session.run(now), session.run(now)
        assert before <= first <= second <= time.time()
