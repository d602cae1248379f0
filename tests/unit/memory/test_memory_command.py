"""``situs memory PROGRAM``: a program runs as it would by itself, and what filled the memory is said."""

from __future__ import annotations

import gc
import sys

import pytest

from situs._src.cli.main import main

PROGRAM = """
import sys
import situs as tf

def helper():
    return tf.ones([512, 512])

if __name__ == "__main__":
    kept = helper()
    print(sys.argv[1:], sys.path[0])
    {ending}
"""


@pytest.fixture
def program(tmp_path):
    gc.collect()  # the globals of an earlier program, which its functions hold

    def write(ending="pass"):
        path = tmp_path / "train.py"
        path.write_text(PROGRAM.format(ending=ending))
        return str(path)

    return write


def test_it_runs_the_program_and_says_what_filled_the_memory(program, tmp_path, capsys):
    argv, path = list(sys.argv), list(sys.path)
    assert main(["memory", program(), "--epochs", "1", "-o", "x"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"['--epochs', '1', '-o', 'x'] {tmp_path}\n")
    assert "Alive at the peak:" in out
    row = next(line for line in out.splitlines() if "train.py" in line and "Full" in line)
    assert row.split()[1:3] == ["1.0", "MiB"]
    assert row.split()[-2:] == ["train.py:6", "train.py:9"]
    assert (sys.argv, sys.path) == (argv, path)


@pytest.mark.parametrize("name", ["memory.svg", "memory.html", "memory.json"])
def test_it_writes_a_picture_or_the_data(program, tmp_path, name):
    assert main(["memory", "-o", str(tmp_path / name), program()]) == 0
    assert "Full" in (tmp_path / name).read_text()


@pytest.mark.parametrize(
    ("ending", "status", "said"),
    [
        ("sys.exit()", 0, ""),
        ("sys.exit(3)", 3, ""),
        ("sys.exit('bad')", 1, "bad\n"),
        ("tf.ones([2**40])", 1, "ResourceExhaustedError: OOM"),
        ("1 / 0", 1, "ZeroDivisionError: division by zero"),
        ("raise KeyboardInterrupt", 130, "KeyboardInterrupt"),
    ],
)
def test_however_the_program_ends_the_report_is_made(program, capsys, ending, status, said):
    assert main(["memory", program(ending)]) == status
    shown = capsys.readouterr()
    assert "Alive at the peak:" in shown.out
    assert said in shown.err
    assert "runpy" not in shown.err


def test_a_program_that_does_not_compile(program, tmp_path, capsys):
    (tmp_path / "no_program.py").write_text("def:\n")
    assert main(["memory", str(tmp_path / "no_program.py")]) == 1
    shown = capsys.readouterr()
    assert "SyntaxError" in shown.err
    assert "no_program.py" not in shown.out


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        (["missing.py"], "There is no program 'missing.py'"),
        (["-o", "x.png", "train.py"], "should end in one of"),
        (["-o", "nowhere/x.svg", "train.py"], "no folder"),
        (["-o", "folder.svg", "train.py"], "is a folder"),
    ],
)
def test_mistakes_are_told_before_the_program_runs(program, tmp_path, monkeypatch, capsys, arguments, match):
    program()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.svg").mkdir()
    assert main(["memory", *arguments]) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("situs: ")
    assert match in shown.err


def test_without_a_program_it_says_how_to_call_it(capsys):
    with pytest.raises(SystemExit):
        main(["memory"])
    assert "PROGRAM" in capsys.readouterr().err
