"""``tf.flags`` and ``tf.app``: absl's, and what is added to them."""

from __future__ import annotations

from typing import Any

import pytest
from absl import flags as absl_flags

from situs.compat.v1 import flags


@pytest.fixture(autouse=True)
def _own_flags(monkeypatch: pytest.MonkeyPatch) -> None:
    """Flags of this test alone, in the place of the one object that a process has."""
    monkeypatch.setattr(absl_flags, "FLAGS", absl_flags.FlagValues())


def define(kind: str, *args: Any, **kwargs: Any) -> Any:
    return getattr(flags, f"DEFINE_{kind}")(*args, flag_values=absl_flags.FLAGS, **kwargs)


def test_the_first_use_reads_the_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    define("integer", "a", 1, "An a.")
    monkeypatch.setattr("sys.argv", ["program", "--a=3", "pos"])
    assert not flags.FLAGS.is_parsed()
    assert flags.FLAGS.a == 3
    assert flags.FLAGS.is_parsed()


def test_the_first_use_refuses_what_nobody_has_defined(monkeypatch: pytest.MonkeyPatch) -> None:
    define("integer", "a", 1, "An a.")
    monkeypatch.setattr("sys.argv", ["program", "--unknown"])
    with pytest.raises(flags.UnrecognizedFlagError, match="Unknown command line flag 'unknown'"):
        assert flags.FLAGS.a


def test_flags_of_other_libraries_are_among_them() -> None:
    absl_flags.DEFINE_string("theirs", "x", "", flag_values=absl_flags.FLAGS)
    define("string", "ours", "y", "")
    assert flags.FLAGS(["program", "--theirs=1", "--ours=2", "rest"]) == ["program", "rest"]
    assert (flags.FLAGS.theirs, absl_flags.FLAGS.ours) == ("1", "2")


def test_flags_are_an_object_as_absl_has_it() -> None:
    define("float", "rate", 0.5, "A rate.")
    flags.FLAGS(["program"])
    flags.FLAGS.rate = 2.0
    assert absl_flags.FLAGS.rate == 2.0
    assert "rate" in flags.FLAGS
    assert list(flags.FLAGS) == list(absl_flags.FLAGS)
    assert len(flags.FLAGS) == len(absl_flags.FLAGS)
    assert flags.FLAGS["rate"].default == 0.5
    assert "rate" in dir(flags.FLAGS)
    assert "A rate." in str(flags.FLAGS)
    flags.FLAGS["other"] = flags.FLAGS["rate"]
    del flags.FLAGS.rate
    assert not hasattr(flags.FLAGS, "rate")


@pytest.mark.parametrize(
    ("kind", "default", "given", "value"),
    [
        ("string", "1", "2", "2"),
        ("integer", 1, "0x10", 16),
        ("float", 1.0, "2", 2.0),
        ("boolean", False, "true", True),
        ("bool", False, "1", True),
        ("list", ["x"], "1,2", ["1", "2"]),
    ],
)
def test_keywords_of_early_programs_are_taken(kind: str, default: Any, given: str, value: Any) -> None:
    holder = define(kind, flag_name="old", default_value=default, docstring="An old one.")
    assert holder.default == default
    flags.FLAGS(["program", f"--old={given}"])
    assert (holder.name, holder.value, holder.present) == ("old", value, 1)


def test_wrong_definitions_are_refused_in_absls_words() -> None:
    define("integer", "a", 1, "An a.")
    with pytest.raises(flags.DuplicateFlagError, match="The flag 'a' is defined twice"):
        define("string", "a", "", "")
    with pytest.raises(flags.IllegalFlagValueError, match="--i=x"):
        define("integer", "i", "x", "")


# Programs.

PROGRAM = """
import situs.compat.v1.app as app
flags = app.flags
flags.DEFINE_integer("a", 1, "How many.")
flags.DEFINE_boolean("b", True, "Whether.")
def main(argv):
    print("left", argv[1:], flags.FLAGS.a)
    return 3 if flags.FLAGS.a == 3 else None
import sys
sys.argv[1:] = {argv}
{last}
"""


@pytest.mark.parametrize(
    ("argv", "last", "fails", "text"),
    [
        (["--a=2", "x"], "app.run()", False, "left ['x'] 2"),
        ([], "app.run(main, ['p', '--a=2', 'y'])", False, "left ['y'] 2"),
        (["--a=3"], "app.run()", True, "left [] 3"),
        (["--zz", "--a=2"], "app.run()", False, "left ['--zz'] 2"),
        (["--a=x"], "app.run()", True, "FATAL Flags parsing error: flag --a=x"),
        ([], "del main; app.run()", True, "calls main(argv) of the program, which has none"),
        ([], "app.run(5)", True, "calls a function of the command line, got 5"),
        (["--help"], "app.run()", True, "--[no]b: Whether."),
    ],
)
def test_programs(run_python: Any, argv: list[str], last: str, fails: bool, text: str) -> None:
    assert text in run_python(PROGRAM.format(argv=argv, last=last), fails=fails)


def test_a_program_may_define_what_absls_logging_has_taken() -> None:
    theirs = absl_flags.Flag(absl_flags.ArgumentParser(), None, "log_dir", "", "absl's")
    absl_flags.DEFINE_flag(theirs, absl_flags.FLAGS, module_name="absl.logging")
    define("string", "log_dir", "./logs", "The program's.")
    flags.FLAGS(["program"])
    assert flags.FLAGS.log_dir == "./logs"
    define("string", "mine", "", "")
    with pytest.raises(flags.DuplicateFlagError):
        define("string", "mine", "", "")
