"""``tf.gfile`` and ``tf.io.gfile``: files and folders, with errors as recorded from TensorFlow."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest

import situs as tf
from situs import errors
from situs.compat.v1 import gfile
from situs.io import gfile as file_io

TEXT = "héllo\nworld\n"


@pytest.fixture(autouse=True)
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "full" / "sub").mkdir(parents=True)
    (tmp_path / "full" / "x.txt").write_text(TEXT)
    (tmp_path / "full" / ".hidden").write_text("")
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_both_spellings_lead_to_the_same() -> None:
    assert tf.io.gfile is file_io
    assert gfile.GFile is gfile.FastGFile is gfile.Open is file_io.GFile
    assert list(inspect.signature(gfile.Copy).parameters) == ["oldpath", "newpath", "overwrite"]


# Questions.


@pytest.mark.parametrize(
    ("path", "there", "folder"),
    [
        ("full", True, True),
        ("full/x.txt", True, False),
        ("zz", False, False),
        (b"full", True, True),
        ("", False, False),
    ],
)
def test_exists_and_isdir(path: Any, there: bool, folder: bool) -> None:
    assert file_io.exists(path) is gfile.Exists(path) is there
    assert file_io.isdir(path) is gfile.IsDirectory(path) is folder


def test_paths_of_any_kind(tree: Path) -> None:
    assert file_io.exists(tree / "full")
    assert file_io.exists(f"file://{tree}/full")
    assert not file_io.exists("a\0b")


def test_listings_are_sorted(tree: Path) -> None:
    assert file_io.listdir("full") == gfile.ListDirectory("full") == [".hidden", "sub", "x.txt"]
    with pytest.raises(errors.NotFoundError, match="Could not find directory zz"):
        file_io.listdir("zz")
    with pytest.raises(errors.NotFoundError, match=r"Could not find directory full/x.txt"):
        file_io.listdir("full/x.txt")


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("full/*", ["full/.hidden", "full/sub", "full/x.txt"]),
        (["full/*.txt", "nope*", "fu*"], ["full/x.txt", "./full"]),
        ("**/*.txt", ["full/x.txt"]),
        ("full/?.txt", ["full/x.txt"]),
        ("full/[xyz].txt", ["full/x.txt"]),
        (b"full/x.txt", ["full/x.txt"]),
        ("", []),
        ([], []),
    ],
)
def test_patterns(pattern: Any, found: list[str]) -> None:
    assert file_io.glob(pattern) == gfile.Glob(pattern) == found


def test_stat(tree: Path) -> None:
    stat = gfile.Stat("full/x.txt")
    assert (stat.length, stat.is_directory) == (13, False)
    assert stat.mtime_nsec == (tree / "full" / "x.txt").stat().st_mtime_ns
    assert file_io.stat("full").is_directory
    with pytest.raises(errors.NotFoundError, match="zz; No such file or directory"):
        file_io.stat("zz")


def test_walking() -> None:
    outer, inner = ("full", ["sub"], [".hidden", "x.txt"]), ("full/sub", [], [])
    assert list(file_io.walk("full")) == list(gfile.Walk("full")) == [outer, inner]
    assert list(file_io.walk("full", topdown=False)) == list(gfile.Walk("full", in_order=False)) == [inner, outer]
    assert list(file_io.walk("zz")) == list(file_io.walk("full/x.txt")) == list(file_io.walk("")) == []
    seen: list[Exception] = []
    assert list(file_io.walk("zz", onerror=seen.append)) == []
    assert [type(error) for error in seen] == [errors.NotFoundError]


# Changes.


def test_folders_are_made() -> None:
    file_io.mkdir("full")
    gfile.MkDir("new")
    gfile.MakeDirs("a/b/c")
    file_io.makedirs("a/b/c")
    file_io.makedirs("")
    assert all(map(file_io.isdir, ["new", "a/b/c"]))


def test_trees_and_files_are_deleted() -> None:
    gfile.Remove("full/x.txt")
    gfile.DeleteRecursively("full")
    assert file_io.listdir(".") == ["empty"]


def test_a_link_to_a_folder_is_deleted_alone(tree: Path) -> None:
    Path("link").symlink_to(tree / "full")
    file_io.rmtree("link")
    assert file_io.listdir(".") == ["empty", "full"]


def test_files_are_copied_and_renamed() -> None:
    Path("full/x.txt").chmod(0o750)
    gfile.Copy("full/x.txt", "y")
    assert Path("y").stat().st_mode & 0o777 == 0o750
    gfile.Copy("full/x.txt", "y", overwrite=True)
    gfile.Rename("y", "z")
    gfile.Rename("z", "full/x.txt", overwrite=True)
    gfile.Rename("full", "moved")
    assert Path("moved/x.txt").read_text() == TEXT
    assert file_io.listdir(".") == ["empty", "moved"]


@pytest.mark.parametrize(
    ("action", "error", "text"),
    [
        (lambda: file_io.mkdir("q/w"), errors.NotFoundError, "q/w; No such file or directory"),
        (lambda: file_io.mkdir("full/x.txt"), errors.AlreadyExistsError, "full/x.txt; File exists"),
        (lambda: file_io.makedirs("full/x.txt"), errors.FailedPreconditionError, "full/x.txt is not a directory"),
        (lambda: file_io.makedirs("full/x.txt/y"), errors.FailedPreconditionError, "full/x.txt/y; Not a directory"),
        (lambda: file_io.remove("full"), errors.FailedPreconditionError, "full; Is a directory"),
        (lambda: file_io.remove("zz"), errors.NotFoundError, "zz; No such file or directory"),
        (lambda: file_io.rmtree("zz"), errors.NotFoundError, "zz; No such file or directory"),
        (lambda: file_io.copy("full/x.txt", "full/.hidden"), errors.AlreadyExistsError, "file already exists"),
        (lambda: file_io.copy("zz", "y"), errors.NotFoundError, "zz; No such file or directory"),
        (lambda: file_io.copy("full", "y"), errors.FailedPreconditionError, "full; Is a directory"),
        (lambda: file_io.copy("full/x.txt", "qq/y"), errors.NotFoundError, "qq/y; No such file or directory"),
        (lambda: file_io.rename("empty", "full"), errors.AlreadyExistsError, "pass overwrite=True"),
        (lambda: file_io.rename("empty", "full", True), errors.FailedPreconditionError, "Directory not empty"),
        (lambda: file_io.rename("zz", "y"), errors.NotFoundError, "zz; No such file or directory"),
        (lambda: file_io.mkdir("x" * 300), errors.InvalidArgumentError, "File name too long"),
        (lambda: file_io.mkdir("a\0b"), errors.InvalidArgumentError, "cannot be a path"),
        (lambda: file_io.mkdir(""), errors.NotFoundError, "The path is empty"),
        (lambda: file_io.exists(3), TypeError, "Expected binary or unicode string, got 3"),
        (lambda: file_io.glob(None), TypeError, "Expected binary or unicode string, got None"),
        (lambda: file_io.exists("gs://a/b"), errors.UnimplementedError, "scheme 'gs' not implemented"),
        (lambda: file_io.glob("s3://a/*"), errors.UnimplementedError, r"file: 's3://a/\*'"),
        (lambda: file_io.GFile("hdfs://x/y"), errors.UnimplementedError, "scheme 'hdfs' not implemented"),
    ],
)
def test_what_cannot_be_done_is_said_with_the_path(action: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        action()


@pytest.mark.parametrize(
    ("code", "error"),
    [(13, errors.PermissionDeniedError), (28, errors.ResourceExhaustedError), (5, errors.UnknownError)],
)
def test_refusals_of_the_system_have_names(monkeypatch: pytest.MonkeyPatch, code: int, error: type[Exception]) -> None:
    def refuse(self: Path) -> None:
        raise OSError(code, "refused", str(self))

    monkeypatch.setattr(Path, "unlink", refuse)
    with pytest.raises(error, match=r"full/x.txt; refused"):
        file_io.remove("full/x.txt")


@pytest.mark.parametrize(
    ("parts", "joined"),
    [
        (("a", "b", "c"), "a/b/c"),
        (("a", "/c"), "/c"),
        (("a",), "a"),
        ((b"a", b"b"), b"a/b"),
        (("/a/", "b"), "/a/b"),
        (("gs://a", "b"), "gs://a/b"),
        (("", "b"), "b"),
        ((Path("a"), "b"), "a/b"),
    ],
)
def test_joining(parts: tuple[Any, ...], joined: Any) -> None:
    assert file_io.join(*parts) == joined


@pytest.mark.parametrize("parts", [("a", b"b"), (3,), ("a", None)])
def test_parts_of_a_path_are_all_text_or_all_bytes(parts: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError, match="must all be str or all be bytes"):
        file_io.join(*parts)


# GFile.


def test_reading_text() -> None:
    file = file_io.GFile("full/x.txt")
    assert (file.name, file.mode, file.size(), file.seekable()) == ("full/x.txt", "r", 13, True)
    assert (file.read(1), file.tell(), file.read(0), file.readline(), file.readlines()) == (
        "h", 1, "", "éllo\n", ["world\n"],
    )  # fmt: skip
    assert (file.read(), file.readline()) == ("", "")
    file.seek(0)
    assert file.read() == TEXT
    assert list(file_io.GFile("full/x.txt")) == ["héllo\n", "world\n"]


def test_reading_bytes() -> None:
    file = file_io.GFile("full/x.txt", "rb")
    assert (file.read(2), file.next()) == (b"h\xc3", b"\xa9llo\n")
    assert list(file) == [b"world\n"]


@pytest.mark.parametrize("text", ["aé", "a€", "a\U0001f600", "é€\U0001f600"])
def test_a_character_is_not_cut_in_two(text: str) -> None:
    Path("t").write_text(text * 3)
    for count in range(1, len(text.encode()) + 1):
        file = file_io.GFile("t")
        assert "".join(iter(lambda file=file, count=count: file.read(count), "")) == text * 3


def test_line_ends_are_left_as_they_are() -> None:
    Path("t").write_bytes(b"a\r\nb\rc\n")
    assert file_io.GFile("t").readlines() == ["a\r\n", "b\rc\n"]


def test_writing() -> None:
    with file_io.GFile("t", "w") as file:
        file.write("aé")
        file.write(b"\nb")
        assert (file.tell(), file.size()) == (5, 5)
    with file_io.GFile("t", "a") as file:
        file.write("c")
    assert file_io.GFile("t").read() == "aé\nbc"
    with file_io.GFile("t", "wb") as file:
        file.write("text")
        file.write(b"\xff")
        file.flush()
        assert Path("t").read_bytes() == b"text\xff"


def test_reading_and_writing_one_file() -> None:
    with file_io.GFile("t", "w+") as file:
        file.write("abcd")
        file.seek(1)
        assert file.read() == "bcd"
    with file_io.GFile("t", "r+") as file:
        file.write("Z")
        assert file.read() == "Zbcd"
    assert Path("t").read_text() == "Zbcd"


@pytest.mark.parametrize(("seek", "position"), [((3,), 3), ((-3, 2), 10), ((2, 1), 4), ((13,), 13), ((None, 0, 5), 5)])
def test_seeking(seek: tuple[Any, ...], position: int) -> None:
    file = file_io.GFile("full/x.txt", "rb")
    file.read(2)
    file.seek(*seek)
    assert file.tell() == position


@pytest.mark.parametrize(
    ("action", "error", "text"),
    [
        (lambda: file_io.GFile("zz").read(), errors.NotFoundError, "zz; No such file or directory"),
        (lambda: file_io.GFile("full").read(), errors.FailedPreconditionError, "full; Is a directory"),
        (lambda: file_io.GFile("zz/zz", "w").write("x"), errors.NotFoundError, "zz/zz; No such file"),
        (lambda: file_io.GFile("zz", "q"), errors.InvalidArgumentError, "mode is not 'r' or 'w' or 'a'"),
        (lambda: file_io.GFile("zz", None), errors.InvalidArgumentError, "mode is not 'r' or 'w' or 'a'"),
        (lambda: file_io.GFile("zz", "b"), errors.InvalidArgumentError, "mode is not 'r' or 'w' or 'a'"),
        (lambda: file_io.GFile(3), TypeError, "Expected binary or unicode string, got 3"),
        (lambda: file_io.GFile("full/x.txt").write("x"), errors.PermissionDeniedError, "isn't open for writing"),
        (lambda: file_io.GFile("t", "w").read(), errors.PermissionDeniedError, "isn't open for reading"),
        (lambda: file_io.GFile("t", "w").write(3), TypeError, "Expected binary or unicode string, got 3"),
        (lambda: file_io.GFile("full/x.txt").seek(-1), errors.InvalidArgumentError, "negative position: -1"),
        (lambda: file_io.GFile("full/x.txt").seek(99), errors.OutOfRangeError, "past the end of the file, 13"),
        (lambda: file_io.GFile("full/x.txt").seek(), errors.InvalidArgumentError, "seek takes an offset"),
        (lambda: file_io.GFile("full/x.txt").seek(0, 7), errors.InvalidArgumentError, "seek takes an offset"),
    ],
)
def test_what_a_file_refuses(action: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        action()


def test_bytes_that_are_no_text_are_told_how_to_be_read() -> None:
    Path("t").write_bytes(b"ok\xff")
    with pytest.raises(ValueError, match=r"t is not UTF-8 text .* open it with mode 'rb'"):
        file_io.GFile("t").read()


def test_a_closed_file_opens_again() -> None:
    file = file_io.GFile("full/x.txt")
    assert file.readline() == "héllo\n"
    file.close()
    file.close()
    assert file.readline() == "héllo\n"
    assert repr(file) == "GFile('full/x.txt', 'r')"


@pytest.mark.parametrize("number", ["a", 1.5])
def test_positions_and_counts_are_integers(number: Any) -> None:
    with pytest.raises(errors.DTypeError, match="Expected int for argument 'n'"):
        file_io.GFile("full/x.txt").read(number)
    with pytest.raises(errors.DTypeError, match="Expected int for argument 'offset'"):
        file_io.GFile("full/x.txt").seek(number)


def test_text_that_cannot_be_encoded_is_not_blamed_on_the_path() -> None:
    with pytest.raises(errors.InvalidArgumentError, match="This text has no UTF-8"), file_io.GFile("new", "w") as file:
        file.write("\udcff")


def test_a_folder_that_cannot_be_is_not_walked() -> None:
    with pytest.raises(errors.InvalidArgumentError, match="cannot be a path"):
        list(file_io.walk("a\0"))


@pytest.mark.parametrize("level", [10, -2, "a", 1.5])
def test_levels_of_compression_are_from_0_to_9(level: Any) -> None:
    with pytest.raises(errors.InvalidArgumentError, match="`compression_level` is from -1 to 9"):
        tf.io.TFRecordOptions("GZIP", compression_level=level)


@pytest.mark.parametrize("mode", ["w+", "w+b", "a+", "r+"])
def test_what_was_written_can_be_read_at_once(mode: str) -> None:
    Path("both.txt").write_text("")
    expected: Any = b"testing" if "b" in mode else "testing"
    with file_io.GFile("both.txt", mode) as f:
        f.write(expected)
        assert (f.read(), f.tell()) == (expected, 7)
        f.seek(2)
        assert (f.read(3), f.tell()) == (expected[2:5], 5)
        f.write(expected)
    assert Path("both.txt").read_text() == "testingtesting"


def test_a_file_to_be_changed_is_made_by_what_is_written_to_it() -> None:
    with file_io.GFile("new.txt", "r+") as f:
        f.write("testing")
    assert (f.size(), f.read(4), f.read()) == (7, "test", "ing")
    with pytest.raises(errors.NotFoundError):
        file_io.GFile("missing.txt", "r+").read()
    assert not Path("missing.txt").exists()
