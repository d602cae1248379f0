"""``tf.flags`` and ``tf.app``: command lines, as recorded from TensorFlow where it reads them the same way."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from situs.compat.v1 import app, flags
from situs.errors import InvalidArgumentError


@pytest.fixture
def values() -> flags.FlagValues:
    made = flags.FlagValues()
    flags.DEFINE_integer("a", 1, "An a.", flag_values=made)
    flags.DEFINE_string("s", None, "An s.", flag_values=made, short_name="z")
    flags.DEFINE_bool("b", True, "A b.", flag_values=made)
    flags.DEFINE_float("f", 1, "An f.", flag_values=made)
    flags.DEFINE_list("l", "x,y", "An l.", flag_values=made)
    flags.DEFINE_multi_string("m", ["q"], "An m.", flag_values=made)
    flags.DEFINE_multi_integer("mi", 3, "An mi.", flag_values=made)
    flags.DEFINE_enum("e", "red", ["red", "blue"], "An e.", flag_values=made)
    return made


DEFAULTS = {"a": 1, "s": None, "b": True, "f": 1.0, "l": ["x", "y"], "m": ["q"], "mi": [3], "e": "red"}


@pytest.mark.parametrize(
    ("arguments", "changed", "left"),
    [
        (["--a=5", "--nob", "x", "--s", "v", "y"], {"a": 5, "b": False, "s": "v"}, ["x", "y"]),
        (["-a", "7"], {"a": 7}, []),
        (["-z=short"], {"s": "short"}, []),
        (["--a=1", "--a=2"], {"a": 2}, []),
        (["--a=0x10"], {"a": 16}, []),
        (["--a=-3"], {"a": -3}, []),
        (["--a", "-3"], {"a": -3}, []),
        (["--b=false"], {"b": False}, []),
        (["--b", "false"], {}, ["false"]),
        (["--", "--a=99"], {}, ["--a=99"]),
        (["--l=1, 2,3"], {"l": ["1", "2", "3"]}, []),
        (["--l="], {"l": []}, []),
        (['--l="a,b",c'], {"l": ["a,b", "c"]}, []),
        (["--m=1", "--m=2"], {"m": ["1", "2"]}, []),
        (["--mi=1"], {"mi": [1]}, []),
        (["--e=blue"], {"e": "blue"}, []),
        (["--f=2"], {"f": 2.0}, []),
        (["--s="], {"s": ""}, []),
        (["--s=a=b"], {"s": "a=b"}, []),
        (["-"], {}, ["-"]),
        (["pos", "--a=4"], {"a": 4}, ["pos"]),
        ([], {}, []),
    ],
)
def test_command_lines_are_read(
    values: flags.FlagValues, arguments: list[str], changed: dict[str, Any], left: list[str]
) -> None:
    assert values(["program", *arguments]) == ["program", *left]
    assert values.flag_values_dict() == {**DEFAULTS, **changed}


@pytest.mark.parametrize(
    ("argument", "error", "text"),
    [
        ("--a=x", flags.IllegalFlagValueError, "flag --a=x: invalid literal for int"),
        ("--a=1.5", flags.IllegalFlagValueError, "flag --a=1.5"),
        ("--f=zz", flags.IllegalFlagValueError, "could not convert string to float"),
        ("--b=maybe", flags.IllegalFlagValueError, "Non-boolean argument to boolean flag: 'maybe'"),
        ("--e=green", flags.IllegalFlagValueError, "value should be one of <red|blue>"),
        ("--mi=z", flags.IllegalFlagValueError, "flag --mi=z"),
        ('--l="x', flags.IllegalFlagValueError, 'flag --l="x: it is no list of texts'),
        ("--s", flags.Error, "Missing value for flag --s"),
        ("--nob=1", flags.Error, "--nob=1 does not take an argument"),
        ("--noa", flags.UnrecognizedFlagError, "Unknown command line flag 'noa'"),
        ("--unknown=3", flags.UnrecognizedFlagError, "Unknown command line flag 'unknown'"),
        ("---", flags.UnrecognizedFlagError, "Unknown command line flag"),
    ],
)
def test_what_does_not_fit_is_refused_and_changes_nothing(
    values: flags.FlagValues, argument: str, error: type[Exception], text: str
) -> None:
    with pytest.raises(error) as caught:
        values(["program", "--a=5", argument])
    assert text in str(caught.value)
    values.mark_as_parsed()
    assert values.flag_values_dict() == DEFAULTS


def test_a_flag_misspelt_is_told_the_right_name(values: flags.FlagValues) -> None:
    flags.DEFINE_integer("batch_size", 1, "", flag_values=values)
    with pytest.raises(flags.UnrecognizedFlagError, match="Did you mean: batch_size"):
        values(["program", "--batchsize=3"])


def test_unknown_flags_may_be_left_alone(values: flags.FlagValues) -> None:
    assert values(["program", "--a=2", "--zz=1", "x"], known_only=True) == ["program", "--zz=1", "x"]
    assert values.a == 2


@pytest.mark.parametrize("argv", [[], "program --a=3", None, 5, ["program", 3]])
def test_a_command_line_is_a_list_with_the_program(values: flags.FlagValues, argv: Any) -> None:
    with pytest.raises(flags.Error, match="A command line is a list"):
        values(argv)


# Without tf.app.run.


def test_the_first_use_reads_the_command_line(values: flags.FlagValues, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["program", "--a=3", "--unknown", "pos"])
    assert not values.is_parsed()
    assert values.a == 3
    assert values.is_parsed()


def test_a_flag_defined_after_the_first_use_finds_its_value_too(
    values: flags.FlagValues, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["program", "--a=3", "--late=7"])
    assert values.a == 3
    values.a = 8
    flags.DEFINE_integer("late", 0, "", flag_values=values)
    assert (values.late, values.a) == (7, 8)


def test_what_the_program_sets_is_not_overwritten_by_the_first_use(
    values: flags.FlagValues, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["program", "--a=3"])
    values.a = 8
    assert values.a == 8


# FLAGS as an object.


def test_flags_are_found_by_name(values: flags.FlagValues) -> None:
    assert "a" in values
    assert "nope" not in values
    assert len(values) == 9  # one has a short name
    assert sorted(values) == list(values)
    assert "a" in dir(values)
    assert values["a"].default == 1


@pytest.mark.parametrize("use", [lambda v: v.nope, lambda v: v["nope"], lambda v: setattr(v, "nope", 1)])
@pytest.mark.parametrize("caught", [AttributeError, KeyError, flags.Error, InvalidArgumentError])
def test_there_is_no_other_flag(values: flags.FlagValues, use: Any, caught: type[Exception]) -> None:
    with pytest.raises(caught, match="Unknown command line flag 'nope'"):
        use(values)
    assert not hasattr(values, "nope")


def test_flags_may_be_copied_and_deleted(values: flags.FlagValues) -> None:
    other = copy.deepcopy(values)
    values(["program", "--a=3"])
    other(["program"])
    assert (values.a, other.a) == (3, 1)
    del values.s
    assert "s" not in values
    assert "z" not in values


def test_a_default_may_be_changed(values: flags.FlagValues) -> None:
    values(["program", "--a=3"])
    values.set_default("a", 9)
    values.set_default("f", 9)
    assert (values.a, values.f) == (3, 9.0)
    values.unparse_flags()
    assert values(["program"]) == ["program"]
    assert values.a == 9
    assert values.get_flag_value("a", 5) == 9
    assert values.get_flag_value("s", 5) == values.get_flag_value("nope", 5) == 5


def test_a_default_is_changed_by_what_the_definition_returned() -> None:
    made = flags.FlagValues()
    flags.set_default(flags.DEFINE_integer("n", 1, "", flag_values=made), 2)
    assert made.n == 2
    with pytest.raises(flags.Error, match="what a DEFINE function returned, got 'n'"):
        flags.set_default("n", 3)  # type: ignore[arg-type]


# Definitions.


@pytest.mark.parametrize(
    ("define", "error", "text"),
    [
        (lambda v: flags.DEFINE_integer("a", 2, "", flag_values=v), flags.DuplicateFlagError, "occurrence: An a."),
        (lambda v: flags.DEFINE_string("a b", "", "", flag_values=v), flags.Error, "word without spaces"),
        (lambda v: flags.DEFINE_string("", "", "", flag_values=v), flags.Error, "word without spaces"),
        (lambda v: flags.DEFINE_string(3, "", "", flag_values=v), flags.Error, "word without spaces"),
        (
            lambda v: flags.DEFINE_string("flag_values_dict", "", "", flag_values=v),
            flags.FlagNameConflictsWithMethodError,
            "is a method",
        ),
        (lambda v: flags.DEFINE_integer("i", "x", "", flag_values=v), flags.IllegalFlagValueError, "--i=x"),
        (lambda v: flags.DEFINE_integer("i", 1.5, "", flag_values=v), flags.IllegalFlagValueError, "string or int"),
        (lambda v: flags.DEFINE_string("i", 5, "", flag_values=v), flags.IllegalFlagValueError, "must be a string"),
        (lambda v: flags.DEFINE_bool("i", 2, "", flag_values=v), flags.IllegalFlagValueError, "Non-boolean"),
        (lambda v: flags.DEFINE_enum("i", "x", ["y"], "", flag_values=v), flags.IllegalFlagValueError, "one of <y>"),
        (lambda v: flags.DEFINE_enum("i", None, [], "", flag_values=v), flags.Error, "none were given"),
        (lambda v: flags.DEFINE_string("i", "x", "", flag_values=v, required=True), flags.Error, "required"),
    ],
)
def test_wrong_definitions_are_refused(
    values: flags.FlagValues, define: Any, error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        define(values)


def test_a_second_definition_says_where_the_first_is(values: flags.FlagValues) -> None:
    with pytest.raises(flags.DuplicateFlagError, match=r"First at .*test_flags.py:\d+, second at .*test_flags.py:\d+"):
        flags.DEFINE_string("s", "", "", flag_values=values)


def test_keywords_of_early_programs_are_taken() -> None:
    values = flags.FlagValues()
    holder = flags.DEFINE_string(flag_name="old", default_value="1", docstring="An old one.", flag_values=values)
    values(["program", "--old=2"])
    assert (holder.name, holder.value, holder.default, holder.present) == ("old", "2", "1", 1)
    flags.set_default(holder, "4")
    assert (holder.value, holder.default) == ("2", "4")


@pytest.mark.parametrize(
    ("bounds", "given", "text"),
    [
        ({"lower_bound": 1, "upper_bound": 9}, 0, r"0 is not an integer in the range \[1, 9\]"),
        ({"lower_bound": 1}, 0, "0 is not an integer >= 1"),
        ({"upper_bound": 9}, 10, "10 is not an integer <= 9"),
    ],
)
def test_numbers_may_have_bounds(bounds: dict[str, int], given: int, text: str) -> None:
    values = flags.FlagValues()
    flags.DEFINE_integer("n", 5, "", flag_values=values, **bounds)
    flags.DEFINE_multi_integer("many", None, "", flag_values=values, **bounds)
    flags.DEFINE_multi_float("reals", [1, 2.5], "", flag_values=values)
    for name in ("n", "many"):
        with pytest.raises(flags.IllegalFlagValueError, match=text):
            values(["program", f"--{name}={given}"])
    values(["program", "--n=9"])
    assert values.flag_values_dict() == {"n": 9, "many": None, "reals": [1.0, 2.5]}


def test_choices_and_spaces() -> None:
    values = flags.FlagValues()
    flags.DEFINE_enum("color", "Red", ["Red", "Blue"], "", case_sensitive=False, flag_values=values)
    flags.DEFINE_spaceseplist("words", "a  b", "", flag_values=values)
    values(["program", "--color=BLUE"])
    assert (values.color, values.words) == ("Blue", ["a", "b"])


def test_required_flags_must_have_a_value(values: flags.FlagValues) -> None:
    flags.mark_flags_as_required(["s"], values)
    with pytest.raises(flags.IllegalFlagValueError, match="Flag --s must have a value other than None"):
        values(["program"])
    values(["program", "--s=x"])
    with pytest.raises(flags.IllegalFlagValueError, match="must have a value"):
        values.s = None
    assert values.s == "x"


def test_values_may_be_checked_by_functions(values: flags.FlagValues) -> None:
    @flags.validator("a", message="must be even", flag_values=values)
    def even(value: int) -> bool:
        return value % 2 == 0

    assert even(2)
    with pytest.raises(flags.IllegalFlagValueError, match="flag --a=3: must be even"):
        values(["program", "--a=3"])
    values(["program", "--a=4"])


def test_a_value_that_is_refused_leaves_the_flag_to_the_command_line(
    values: flags.FlagValues, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["program", "--a=3"])
    flags.register_validator("a", lambda value: value < 10, "must be small", flag_values=values)
    with pytest.raises(flags.IllegalFlagValueError, match="must be small"):
        values.a = 99
    with pytest.raises(TypeError):  # what the check itself raises
        values.a = "many"
    assert values.a == 3


# Programs.

PROGRAM = """
import situs.compat.v1.app as app
flags = app.flags
flags.DEFINE_integer("a", 1, "How many steps there are, in a text that is long enough to need more than one line.")
flags.DEFINE_boolean("b", True, "Whether.")
flags.DEFINE_enum("e", "red", ["red", "blue"], "Which.")
flags.DEFINE_multi_string("m", ["q"], "Some.")
flags.DEFINE_string("s", None, "A text.")
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
        (["--zz"], "app.run()", True, "FATAL Flags parsing error: Unknown command line flag 'zz'\nPass --help"),
        (["--a=x"], "app.run()", True, "FATAL Flags parsing error: flag --a=x"),
        ([], "del main; app.run()", True, "calls main(argv) of the program, which has none"),
        (["--a=2", "--zz"], "print(flags.FLAGS.a)", False, "2"),
        (["--help"], "app.run()", True, "--[no]b: Whether.\n    (default: 'true')"),
        (["--help"], "app.run()", True, "  --e: Which.\n    (default: 'red')\n    (one of <red|blue>)"),
        (["--help"], "app.run()", True, "  --a: How many steps there are, in a text that is long enough to need"),
        (["--help"], "app.run()", True, "  --s: A text."),
        (["--help"], "flags.FLAGS.a", True, "USAGE: "),
    ],
)
def test_programs(run_python: Any, argv: list[str], last: str, fails: bool, text: str) -> None:
    printed = run_python(PROGRAM.format(argv=argv, last=last), fails=fails)
    assert text in printed
    assert fails or "Traceback" not in printed


def test_a_program_ends_with_what_main_returns(values: flags.FlagValues) -> None:
    with pytest.raises(SystemExit) as ended:
        app.run(main=lambda argv: len(argv), argv=["program", "x"])
    assert ended.value.code == 2
    flags.FLAGS.unparse_flags()


def test_a_flag_whose_short_name_is_taken_is_not_defined():
    made = flags.FlagValues()
    flags.DEFINE_string("first", None, "", flag_values=made, short_name="f")
    with pytest.raises(flags.DuplicateFlagError):
        flags.DEFINE_string("file", None, "", flag_values=made, short_name="f")
    assert "file" not in made
    flags.DEFINE_string("file", None, "", flag_values=made)
