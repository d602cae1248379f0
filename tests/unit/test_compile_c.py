"""C compiled on first use: found again, made anew where it is damaged, and done without where there is no compiler."""

from __future__ import annotations

import ctypes
import shutil
import stat
from pathlib import Path

import pytest

from situs._src.base import compile_c

SOURCE = "int answer(void) { return %d; }\n"
needs_compiler = pytest.mark.skipif(compile_c._compiler() is None, reason="no C compiler")


@pytest.fixture(autouse=True)
def _fresh(monkeypatch, tmp_path):
    monkeypatch.setattr(compile_c, "_loaded", {})
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("SITUS_NO_COMPILER", raising=False)


def folder(tmp_path):
    return tmp_path / "cache" / "situs" / "c"


def libraries(tmp_path):
    return sorted(folder(tmp_path).glob("*.so"))


def answer(number):
    found = compile_c.library("answer", SOURCE % number)
    return None if found is None else found.answer()


@needs_compiler
def test_a_library_is_compiled_once_and_kept(tmp_path, monkeypatch):
    assert answer(41) == 41
    (file,) = libraries(tmp_path)
    written = file.stat().st_mtime_ns
    assert compile_c.library("answer", SOURCE % 41) is compile_c.library("answer", SOURCE % 41)
    monkeypatch.setattr(compile_c, "_loaded", {})  # as in the next process
    monkeypatch.setattr(compile_c, "_compile", None)
    assert answer(41) == 41
    assert file.stat().st_mtime_ns == written
    assert stat.S_IMODE(folder(tmp_path).stat().st_mode) == 0o700
    assert not list(folder(tmp_path).glob(".making-*"))


@needs_compiler
def test_other_sources_and_flags_are_other_libraries(tmp_path):
    assert answer(1) == 1
    assert answer(2) == 2
    assert len(libraries(tmp_path)) == 2
    digests = {compile_c._digest("a", flags, shutil.which("cc") or "/bin/sh") for flags in ((), ("-O1",), ("-O2",))}
    assert len(digests) == 3


@needs_compiler
@pytest.mark.parametrize("damage", [b"", b"not a library", None])
def test_a_damaged_library_is_compiled_again(tmp_path, monkeypatch, damage):
    assert answer(3) == 3
    (file,) = libraries(tmp_path)
    content = file.read_bytes()
    file.unlink()  # what is loaded stays as it is
    file.write_bytes(content[: len(content) // 2] if damage is None else damage)
    monkeypatch.setattr(compile_c, "_loaded", {})
    assert answer(3) == 3
    assert len(libraries(tmp_path)) == 1
    assert compile_c._load(file) is not None


@needs_compiler
def test_a_library_without_its_sum_is_not_loaded(tmp_path):
    assert answer(4) == 4
    (file,) = libraries(tmp_path)
    compile_c._sum_file(file).unlink()
    assert compile_c._load(file) is None


@needs_compiler
def test_where_nothing_can_be_written_the_library_is_made_for_this_process_alone(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert answer(5) == 5
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file"]


@needs_compiler
def test_a_folder_that_others_may_write_to_is_not_used(tmp_path):
    folder(tmp_path).mkdir(parents=True)
    folder(tmp_path).chmod(0o777)
    assert answer(6) == 6
    assert not list(folder(tmp_path).iterdir())


@needs_compiler
def test_a_source_that_does_not_compile_gives_none(tmp_path):
    assert compile_c.library("answer", "this is not C") is None
    assert not libraries(tmp_path)


def test_without_a_compiler_there_is_none(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert answer(7) is None


def test_the_environment_may_forbid_it(monkeypatch, tmp_path):
    monkeypatch.setenv("SITUS_NO_COMPILER", "1")
    assert answer(8) is None
    assert not folder(tmp_path).exists()


@needs_compiler
def test_two_processes_at_once_both_get_a_whole_library(tmp_path, run_python):
    from concurrent.futures import ThreadPoolExecutor

    program = f"from situs._src.base import compile_c; print(compile_c.library('answer', {SOURCE % 9!r}).answer())"
    with ThreadPoolExecutor(3) as pool:
        made = list(pool.map(lambda _: run_python(program, XDG_CACHE_HOME=str(tmp_path / "cache")), range(3)))
    assert [text.strip() for text in made] == ["9"] * 3
    (file,) = libraries(tmp_path)
    assert ctypes.CDLL(str(file)).answer() == 9
    assert {path.suffix for path in Path(file.parent).iterdir()} == {".so", ".sum"}
