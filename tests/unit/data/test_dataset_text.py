"""Lines of files, and names of files. What counts as a line is TensorFlow 2.21's."""

from __future__ import annotations

import gzip
import os
import sys
import tracemalloc
import zlib
from pathlib import Path
from types import SimpleNamespace

import pytest

import situs as tf
from situs import errors
from situs._src.files.crc32c import crc32c, fastest, masked_crc32c, with_numpy
from situs._src.files.record_writer import TFRecordWriter
from situs.data import Dataset, FixedLengthRecordDataset, TextLineDataset, TFRecordDataset


@pytest.fixture
def files(tmp_path):
    contents = {"a.txt": b"one\ntwo\r\n\nfo\rur", "b.txt": b"x\ny\n", "empty.txt": b""}
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    return tmp_path


A = [b"one", b"two", b"", b"four"]
B = [b"x", b"y"]


def test_lines_come_without_their_ends(files, values):
    assert values(TextLineDataset(str(files / "a.txt"))) == A
    assert values(TextLineDataset([str(files / name) for name in ("a.txt", "empty.txt", "b.txt")])) == A + B
    assert values(TextLineDataset(files / "b.txt")) == values(TextLineDataset([files / "b.txt"])) == B
    assert TextLineDataset(str(files / "b.txt")).element_spec == tf.TensorSpec([], tf.string)


def test_names_may_come_from_a_dataset(files, values):
    names = Dataset.from_tensor_slices([str(files / "b.txt"), str(files / "a.txt")])
    assert values(TextLineDataset(names)) == B + A
    assert values(names.flat_map(TextLineDataset)) == B + A
    assert values(names.interleave(TextLineDataset, cycle_length=2)) == [b"x", b"one", b"y", b"two", b"", b"four"]


def test_several_files_at_a_time(files, values):
    ds = TextLineDataset([str(files / "a.txt"), str(files / "b.txt")], num_parallel_reads=2)
    assert values(ds) == [b"one", b"x", b"two", b"y", b"", b"four"]


@pytest.mark.parametrize(("kind", "compress"), [("GZIP", gzip.compress), ("ZLIB", zlib.compress)])
def test_compressed_files(files, kind, compress, values):
    content = b"".join(b"line %d\n" % number for number in range(20000))
    (files / "c").write_bytes(compress(content))
    assert values(TextLineDataset(str(files / "c"), kind)) == content.splitlines()
    (files / "c").write_bytes(compress(content)[:-20])
    with pytest.raises(errors.DataLossError, match=kind):
        values(TextLineDataset(str(files / "c"), kind))
    with pytest.raises(errors.DataLossError, match=kind):
        values(TextLineDataset(str(files / "a.txt"), kind))


def test_two_compressed_files_in_one(files, values):
    (files / "c").write_bytes(gzip.compress(b"a\nb") + gzip.compress(b"c\n"))
    assert values(TextLineDataset(str(files / "c"), "GZIP")) == [b"a", b"bc"]


def test_a_file_that_is_missing_fails_at_its_place(files):
    ds = TextLineDataset([str(files / "b.txt"), str(files / "nothing"), str(files / "b.txt")])
    lines = iter(ds)
    assert [next(lines).numpy(), next(lines).numpy()] == B
    with pytest.raises(errors.NotFoundError, match="nothing; No such file or directory"):
        next(lines)
    assert [line.numpy() for line in lines] == B


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: TextLineDataset(3), TypeError, "string"),
        (lambda: TextLineDataset([["a"]]), TypeError, "scalar or a vector"),
        (lambda: TextLineDataset(Dataset.range(3)), TypeError, "must contain `tf.string` elements"),
        (lambda: TextLineDataset("a", compression_type="LZMA"), ValueError, "Unsupported compression type"),
        (lambda: TextLineDataset("a", num_parallel_reads=0), ValueError, "num_parallel_calls"),
        (lambda: Dataset.list_files(3), TypeError, "string"),
    ],
)
def test_what_is_no_name_is_refused(make, error, text):
    with pytest.raises(error, match=text):
        make()


def test_files_that_fit_a_pattern(files, values):
    names = [str(files / name).encode() for name in ("a.txt", "b.txt", "empty.txt")]
    assert values(Dataset.list_files(f"{files}/*.txt", shuffle=False)) == names
    assert values(Dataset.list_files([f"{files}/b*", f"{files}/a*"], shuffle=False)) == names[:2]
    assert sorted(values(Dataset.list_files(f"{files}/*.txt"))) == names
    seeded = [values(Dataset.list_files(f"{files}/*", seed=1)) for _ in range(2)]
    assert seeded[0] == seeded[1]
    assert len(Dataset.list_files(f"{files}/*.txt")) == 3
    with pytest.raises(errors.InvalidArgumentError, match=r"No files matched pattern: .*\.nothing"):
        Dataset.list_files(f"{files}/*.nothing")


# Records.

# b"first", b"" and b"x" * 9 as TensorFlow 2.21 wrote them.
RECORDS = bytes.fromhex(
    "0500000000000000eab2043e666972737455ff23e500000000000000002903"
    "9807d8ea82a2090000000000000037f97139787878787878787878200cba5c"
)


def slow_crc32c(data: bytes) -> int:
    """Bit by bit, as the definition says."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


@pytest.mark.parametrize("crc32c", [with_numpy, crc32c], ids=["numpy", "fastest"])
def test_a_checksum_is_castagnolis(crc32c):
    assert crc32c(b"") == 0
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(bytes(32)) == 0x8A9136AA
    assert crc32c(bytes(range(32))) == 0x46DD794E
    long = bytes(range(256)) * 9
    assert [crc32c(long[:n]) for n in (1, 3, 4, 5, 1023, 1024, 1025)] == [slow_crc32c(long[:n]) for n in LENGTHS]


LENGTHS = (1, 3, 4, 5, 1023, 1024, 1025)


def library(monkeypatch, module):
    monkeypatch.setitem(sys.modules, "google_crc32c", module)
    return fastest()


def test_checksums_are_the_librarys_where_it_is_installed(monkeypatch):
    assert library(monkeypatch, SimpleNamespace(value=slow_crc32c, implementation="c")) is slow_crc32c


@pytest.mark.parametrize("module", [None, SimpleNamespace(value=slow_crc32c, implementation="python")])
def test_checksums_are_our_own_where_it_is_missing_or_slow(monkeypatch, module):
    assert library(monkeypatch, module) is with_numpy


def test_records_are_read_as_they_were_written(tmp_path, values):
    written = [b"first", b"", b"x" * 5000]
    with TFRecordWriter(str(tmp_path / "r")) as writer:
        for record in written:
            writer.write(record)
    assert values(TFRecordDataset(str(tmp_path / "r"))) == written
    (tmp_path / "r.gz").write_bytes(gzip.compress((tmp_path / "r").read_bytes()))
    assert values(TFRecordDataset([str(tmp_path / "r.gz")], "GZIP")) == written


def test_tensorflows_records(tmp_path, values):
    (tmp_path / "r").write_bytes(RECORDS)
    assert values(TFRecordDataset(str(tmp_path / "r"))) == [b"first", b"", b"x" * 9]


@pytest.mark.parametrize("position", [0, 8, 12, 17, len(RECORDS) - 1])
def test_a_changed_byte_is_found(tmp_path, position):
    damaged = bytearray(RECORDS)
    damaged[position] ^= 1
    (tmp_path / "r").write_bytes(damaged)
    with pytest.raises(errors.DataLossError, match="corrupted record at"):
        list(TFRecordDataset(str(tmp_path / "r")))


@pytest.mark.parametrize("length", [3, 12, 15, len(RECORDS) - 1])
def test_a_file_that_is_cut_off_is_found_out(tmp_path, length):
    (tmp_path / "r").write_bytes(RECORDS[:length])
    with pytest.raises(errors.DataLossError, match="truncated record at"):
        list(TFRecordDataset(str(tmp_path / "r")))


def test_a_writer_refuses_what_is_no_record(tmp_path):
    writer = TFRecordWriter(str(tmp_path / "r"))
    with pytest.raises(TypeError, match="bytes"):
        writer.write("text")
    writer.close()
    with pytest.raises(errors.FailedPreconditionError, match="closed"):
        writer.write(b"late")
    with pytest.raises(errors.NotFoundError):
        TFRecordWriter(str(tmp_path / "no" / "such"))


def test_names_of_files_may_be_any_bytes(tmp_path, values):
    name = bytes(tmp_path) + b"/\xff.txt"
    try:
        Path(os.fsdecode(name)).write_bytes(b"line")
    except OSError:
        pytest.skip("this file system takes UTF-8 only")
    assert values(Dataset.list_files(str(tmp_path / "*"))) == [name]
    assert values(TextLineDataset(Dataset.list_files(str(tmp_path / "*")))) == [b"line"]
    assert values(TextLineDataset(name)) == [b"line"]


@pytest.mark.parametrize("kind", ["GZIP", "ZLIB"])
def test_small_records_of_a_file_that_is_compressed_well(tmp_path, kind, values):
    """Of each block, a thousand times as many bytes come out."""
    path = str(tmp_path / "records")
    with TFRecordWriter(path, kind) as writer:
        for _ in range(3):
            writer.write(b"x" * 1000)
        writer.write(b"y" * 5_000_000)
        writer.write(b"z")
    assert [len(record) for record in values(TFRecordDataset(path, kind))] == [1000, 1000, 1000, 5_000_000, 1]


# Long lines and records.

MANY = 2**20  # more than is read at a time


@pytest.mark.parametrize("kind", ["", "GZIP", "ZLIB"])
@pytest.mark.parametrize("ending", [b"", b"\n", b"\r\n", b"\n\nend"])
def test_long_lines_are_whole(tmp_path, values, kind, ending):
    lines = [b"a" * (MANY - 1), b"b\rc" * MANY, b"", b"d" * MANY, b"short", b"e" * (2 * MANY + 1)]
    content = b"\n".join(lines) + ending
    pack = {"": bytes, "GZIP": gzip.compress, "ZLIB": zlib.compress}[kind]
    (tmp_path / "long").write_bytes(pack(content))
    expected = [line.replace(b"\r", b"") for line in content.removesuffix(b"\n").split(b"\n")]
    assert values(TextLineDataset(str(tmp_path / "long"), kind)) == expected


@pytest.mark.parametrize("reader", ["lines", "records"])
def test_a_long_element_takes_its_own_memory_and_little_more(tmp_path, reader):
    size, path = 64 * MANY, str(tmp_path / "long")
    if reader == "lines":
        Path(path).write_bytes(gzip.compress(b"x" * size))
    else:
        with TFRecordWriter(path, "GZIP") as writer:
            writer.write(b"x" * size)
    read = iter((TextLineDataset if reader == "lines" else TFRecordDataset)(path, "GZIP"))
    tracemalloc.start()
    try:
        assert len(next(read).numpy()) == size
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1.4 * size


@pytest.mark.parametrize("kind", ["", "GZIP"])
@pytest.mark.parametrize(("limit", "size"), [("1KiB", 1025), ("3MiB", 3 * MANY + 1)])
def test_what_is_too_long_is_refused_and_the_next_file_follows(tmp_path, monkeypatch, kind, limit, size):
    monkeypatch.setenv("SITUS_LONGEST_RECORD", limit)
    pack = gzip.compress if kind else bytes
    (tmp_path / "a").write_bytes(pack(b"x" * (size - 1) + b"\n" + b"y" * size + b"\nz"))
    (tmp_path / "b").write_bytes(pack(b"next"))
    lines = iter(TextLineDataset([str(tmp_path / "a"), str(tmp_path / "b")], kind))
    assert len(next(lines).numpy()) == size - 1
    with pytest.raises(errors.ResourceExhaustedError, match=r"a line is longer than .* SITUS_LONGEST_RECORD"):
        next(lines)
    assert next(lines).numpy() == b"next"
    for name, length in (("c", size - 1), ("d", size)):
        with TFRecordWriter(str(tmp_path / name), kind) as writer:
            writer.write(b"x" * length)
    records = iter(TFRecordDataset([str(tmp_path / "c"), str(tmp_path / "d")], kind))
    assert len(next(records).numpy()) == size - 1
    with pytest.raises(errors.ResourceExhaustedError, match="a record is longer than"):
        next(records)


def test_a_little_that_stands_for_a_lot_is_refused_before_it_is_unpacked(tmp_path, monkeypatch):
    monkeypatch.setenv("SITUS_LONGEST_RECORD", "8MiB")
    packer = zlib.compressobj(wbits=31)
    with (tmp_path / "bomb").open("wb") as file:
        for _ in range(256):  # 256 MiB without an end of line
            file.write(packer.compress(bytes(MANY)))
        file.write(packer.flush())
    lines = iter(TextLineDataset(str(tmp_path / "bomb"), "GZIP"))
    tracemalloc.start()
    try:
        with pytest.raises(errors.ResourceExhaustedError):
            next(lines)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 24 * MANY


@pytest.mark.parametrize("length", [2**40, 2**63])
@pytest.mark.parametrize("kind", ["", "GZIP"])
def test_a_record_whose_length_is_a_lie_takes_no_memory(tmp_path, kind, length):
    head = length.to_bytes(8, "little")
    content = head + masked_crc32c(head).to_bytes(4, "little") + b"x" * 100
    (tmp_path / "lie").write_bytes(gzip.compress(content) if kind else content)
    with pytest.raises(errors.DataLossError, match="truncated record at 0"):
        next(iter(TFRecordDataset(str(tmp_path / "lie"), kind)))
    with pytest.raises(errors.InvalidArgumentError, match="not an exact multiple"):
        list(FixedLengthRecordDataset(str(tmp_path / "lie"), length // 2, compression_type=kind))


def test_a_limit_that_is_none_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("SITUS_LONGEST_RECORD", "much")
    (tmp_path / "a").write_bytes(b"x")
    with pytest.raises(errors.InvalidArgumentError, match="as a size in bytes"):
        next(iter(TextLineDataset(str(tmp_path / "a"))))


def test_names_of_files_in_order_take_no_random_numbers(tmp_path):
    for name in "abc":
        (tmp_path / name).write_text("")
    found = []
    for listed in (None, False):
        tf.random.set_seed(7)
        if listed is False:
            assert len(list(Dataset.list_files(str(tmp_path / "*"), shuffle=False))) == 3
        found.append(list(Dataset.range(20).shuffle(20).as_numpy_iterator()))
    assert found[0] == found[1]
