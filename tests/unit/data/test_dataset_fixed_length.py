"""Files of records: of one length, of TFRecords, and whole. The messages are TensorFlow 2.21's."""

from __future__ import annotations

import gzip

import pytest

import situs as tf
import situs.compat.v1 as v1
from situs._src.files.record_writer import TFRecordCompressionType

Fixed = tf.data.FixedLengthRecordDataset
BODY = bytes(range(10))


@pytest.fixture
def path(tmp_path):
    """A file with a header of two bytes and a footer of three."""
    place = tmp_path / "data.bin"
    place.write_bytes(b"HH" + BODY + b"FFF")
    return str(place)


def contents(dataset):
    """The records of a dataset."""
    return [record.numpy() for record in dataset]


def test_records_between_header_and_footer(path):
    assert contents(Fixed(path, 5, header_bytes=2, footer_bytes=3)) == [BODY[:5], BODY[5:]]
    assert contents(Fixed([path, path], 10, 2, 3)) == [BODY, BODY]
    assert Fixed(path, 5).element_spec == tf.TensorSpec([], tf.string)


def test_records_of_a_compressed_file(tmp_path):
    place = tmp_path / "data.gz"
    place.write_bytes(gzip.compress(b"HH" + BODY + b"FFF"))
    made = Fixed(str(place), 5, header_bytes=2, footer_bytes=3, compression_type="GZIP")
    assert contents(made) == [BODY[:5], BODY[5:]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="not an exact multiple"):
        contents(Fixed(str(place), 4, header_bytes=2, footer_bytes=3, compression_type="GZIP"))


def test_large_files_are_read_piece_by_piece(tmp_path):
    place = tmp_path / "large.bin"
    data = bytes(range(256)) * 10_000
    place.write_bytes(b"H" + data + b"F")
    assert b"".join(contents(Fixed(str(place), 2560, 1, 1))) == data


@pytest.mark.parametrize(
    ("size", "header", "footer", "body"), [(4, 2, 3, 10), (4, None, None, 15), (4, 40, None, -25), (1, 0, 16, -1)]
)
def test_a_file_of_another_length_is_an_error(path, size, header, footer, body):
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"body length {body} bytes, which is not an"):
        contents(Fixed(path, size, header, footer))


@pytest.mark.parametrize(
    ("args", "message"), [((0,), "`record_bytes` must be > 0"), ((4, -1), "`header_bytes` must be >= 0")]
)
def test_lengths_that_cannot_be(path, args, message):
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        Fixed(path, *args)


def test_a_missing_file_is_an_error_and_the_next_follows(path):
    items = iter(Fixed([path + "x", path], 15))
    with pytest.raises(tf.errors.NotFoundError, match="No such file"):
        next(items)
    assert next(items).numpy() == b"HH" + BODY + b"FFF"


def test_in_a_session(path):
    with v1.Graph().as_default(), v1.Session() as session:
        record = v1.data.make_one_shot_iterator(v1.data.FixedLengthRecordDataset(path, 5, 2, 3)).get_next()
        numbers = v1.io.decode_raw(record, tf.uint8)
        assert session.run(numbers).tolist() == [0, 1, 2, 3, 4]
        assert session.run(numbers).tolist() == [5, 6, 7, 8, 9]


@pytest.mark.parametrize("compression", ["", "GZIP", "ZLIB"])
def test_records_that_are_written_are_read(tmp_path, compression):
    path = str(tmp_path / "data.tfrecord")
    records = [b"", b"one", bytes(5000), b"last"]
    with tf.io.TFRecordWriter(path, tf.io.TFRecordOptions(compression_type=compression)) as writer:
        for record in records:
            writer.write(record)
            writer.flush()
    assert contents(tf.data.TFRecordDataset(path, compression_type=compression)) == records


def test_options_of_tensorflow_1(tmp_path):
    path = str(tmp_path / "data.tfrecord")
    options = tf.io.TFRecordOptions(TFRecordCompressionType.GZIP)
    with tf.io.TFRecordWriter(path, options) as writer:
        writer.write(b"x")
    assert contents(tf.data.TFRecordDataset(path, "GZIP")) == [b"x"]
    with pytest.raises(tf.errors.InvalidArgumentError, match="Unsupported compression type"):
        tf.io.TFRecordOptions("LZMA")


def test_a_writer_that_is_closed(tmp_path):
    writer = tf.io.TFRecordWriter(str(tmp_path / "x"))
    writer.close()
    writer.close()
    for call in (lambda: writer.write(b"x"), writer.flush):
        with pytest.raises(tf.errors.FailedPreconditionError, match="closed"):
            call()


def test_whole_files(tmp_path):
    path = str(tmp_path / "folder" / "file")
    tf.io.write_file(path, b"some \xff bytes")
    read = tf.io.read_file(path)
    assert (read.dtype, read.shape, read.numpy()) == (tf.string, [], b"some \xff bytes")
    with v1.Graph().as_default(), v1.Session() as session:
        name = v1.placeholder(tf.string, [])
        whole = v1.io.read_file(name)
        assert session.run(whole, {name: path}) == b"some \xff bytes"
        with pytest.raises(tf.errors.NotFoundError, match="No such file"):
            session.run(whole, {name: path + "x"})


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("/nonexistent/x", tf.errors.NotFoundError, "/nonexistent/x; No such file or directory"),
        (["/x", "/y"], tf.errors.InvalidArgumentError, r"must be scalar, but had shape: \[2\]"),
        ("", tf.errors.NotFoundError, "empty"),
        ("gs://bucket/x", tf.errors.UnimplementedError, "gs"),
    ],
)
def test_files_that_cannot_be_read(name, error, message):
    with pytest.raises(error, match=message):
        tf.io.read_file(name)


def test_files_of_a_dataset(tmp_path):
    for number in range(3):
        (tmp_path / f"{number}.txt").write_text(str(number))
    names = tf.data.Dataset.list_files(str(tmp_path / "*.txt"), shuffle=False)
    assert contents(names.map(tf.io.read_file)) == [b"0", b"1", b"2"]
