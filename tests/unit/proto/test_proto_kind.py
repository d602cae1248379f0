"""Which values each kind of field takes; expectations recorded from TensorFlow 2.21's messages, bar what is said."""

from __future__ import annotations

import math

import numpy as np
import pytest

from situs.errors import DTypeError, InvalidArgumentError
from situs.proto.enums import EnumType
from situs.proto.kind import BOOL, BYTES, DOUBLE, FLOAT, INT32, INT64, STRING, UINT32, UINT64

LEVEL = EnumType("Level", L1=0, L0=-1)


@pytest.mark.parametrize(
    ("kind", "value", "kept"),
    [
        (INT32, -(2**31), -(2**31)),
        (INT32, np.int64(3), 3),
        (INT32, np.array(3), 3),
        (INT64, 2**63 - 1, 2**63 - 1),
        (UINT32, 2**32 - 1, 2**32 - 1),
        (UINT64, 2**64 - 1, 2**64 - 1),
        (DOUBLE, 1, 1.0),
        (DOUBLE, np.float32(0.1), 0.10000000149011612),
        (FLOAT, 0.1, 0.10000000149011612),
        (FLOAT, 1e39, math.inf),
        (FLOAT, -1e39, -math.inf),
        (BOOL, True, True),
        (BOOL, 2, True),
        (BOOL, 0, False),
        (BOOL, np.bool_(True), True),
        (STRING, "é", "é"),
        (STRING, "é".encode(), "é"),
        (STRING, np.str_("a"), "a"),
        (BYTES, b"\xff", b"\xff"),
        (LEVEL, -1, -1),
        (LEVEL, "L0", -1),
        (LEVEL, 7, 7),
    ],
)
def test_a_value_is_kept_as_a_plain_one(kind, value, kept):
    checked = kind.check(value, "x")
    assert checked == kept
    assert type(checked) is type(kept)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (INT32, True),
        (INT32, np.bool_(True)),
        (INT32, 1.0),
        (INT32, np.float64(1)),
        (INT32, "1"),
        (INT32, None),
        (INT32, [1]),
        (INT32, np.array([1])),
        (DOUBLE, "0.4"),
        (DOUBLE, b"0.4"),
        (DOUBLE, 1j),
        (DOUBLE, True),  # protocol buffers take it for 1.0
        (DOUBLE, None),
        (BOOL, 1.0),
        (BOOL, "true"),
        (BOOL, None),
        (STRING, 3),
        (STRING, None),
        (STRING, ["a"]),
        (BYTES, "text"),
        (BYTES, 3),
        (LEVEL, 1.0),
        (LEVEL, True),
        (LEVEL, None),
    ],
)
def test_a_value_of_another_type_is_a_type_error_that_names_the_field_and_the_value(kind, value):
    with pytest.raises(DTypeError, match=r"^ConfigProto.f is an? |^ConfigProto.f is bytes") as caught:
        kind.check(value, "ConfigProto.f")
    assert repr(value) in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (INT32, 2**31),
        (INT32, -(2**31) - 1),
        pytest.param(INT32, 10**5000, id="int32-huge"),
        (INT64, 2**63),
        (UINT32, -1),
        (UINT32, 2**32),
        (UINT64, 2**64),
        (DOUBLE, 10**400),
        pytest.param(DOUBLE, 10**5000, id="double-huge"),
        (LEVEL, 2**31),
    ],
)
def test_a_value_out_of_range_is_a_value_error_and_no_type_error(kind, value):
    with pytest.raises(InvalidArgumentError, match="Value out of range") as caught:
        kind.check(value, "f")
    assert not isinstance(caught.value, TypeError)


@pytest.mark.parametrize("value", [b"\xff", "\ud800"])
def test_a_string_that_utf8_cannot_spell_is_a_value_error(value):
    with pytest.raises(InvalidArgumentError, match="UTF-8"):
        STRING.check(value, "f")


def test_a_string_for_bytes_is_told_to_encode():
    with pytest.raises(DTypeError, match=r"\.encode\(\)"):
        BYTES.check("a", "f")


class TestEnums:
    def test_names_and_numbers(self):
        assert (LEVEL.Name(-1), LEVEL.Value("L0"), LEVEL.L0) == ("L0", -1, -1)
        assert LEVEL.keys() == ["L1", "L0"]
        assert LEVEL.values() == [0, -1]
        assert LEVEL.items() == [("L1", 0), ("L0", -1)]

    @pytest.mark.parametrize("number", [7, "L0", None, True])
    def test_a_number_without_a_name(self, number):
        with pytest.raises(ValueError, match=f"Level has no name defined for value {number!r}; it has L1=0, L0=-1"):
            LEVEL.Name(number)

    @pytest.mark.parametrize("name", ["L5", "", "l0"])
    def test_a_name_without_a_number(self, name):
        with pytest.raises(ValueError, match=f"Level has no value defined for name '{name}'"):
            LEVEL.Value(name)
        with pytest.raises(ValueError, match="no value defined"):
            LEVEL.check(name, "f")

    def test_what_is_neither_a_number_nor_a_name(self):
        with pytest.raises(ValueError, match="no name defined for value"):
            LEVEL.Name({})
        with pytest.raises(ValueError, match="no value defined for name"):
            LEVEL.Value({})

    def test_an_unknown_attribute(self):
        with pytest.raises(AttributeError, match="Level has no name 'L5'"):
            LEVEL.L5

    def test_a_long_enum_is_not_listed_in_full(self):
        long = EnumType("Long", **{f"V{i}": i for i in range(99)})
        with pytest.raises(ValueError, match=r"V11=11, \.\.\.\.$"):
            long.Value("x")
