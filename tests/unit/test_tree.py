"""Structures of tensors: what goes in comes out in the same form."""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict, namedtuple
from collections.abc import MutableMapping
from types import MappingProxyType

import pytest

from situs._src.base.tree import flatten, listed, made_like, pack_like
from situs.errors import DTypeError

Pair = namedtuple("Pair", ["one", "other"])


@pytest.mark.parametrize(
    "structure",
    [
        [1, (2, {"b": 3, "a": 4})],
        Pair(1, [2]),
        OrderedDict([("b", 1), ("a", 2)]),
        defaultdict(list, {"b": 1, "a": [2]}),
        Counter("abba"),
        {},
    ],
    ids=lambda structure: type(structure).__name__,
)
def test_what_was_flattened_is_packed_in_the_same_form(structure):
    packed = pack_like(structure, flatten(structure))
    assert packed == structure
    assert type(packed) is type(structure)
    assert list(packed) == list(structure)


def test_dictionaries_are_flattened_by_their_sorted_keys():
    assert flatten({"b": 1, "a": [2, 3]}) == [2, 3, 1]
    assert flatten({1: "x", "a": "y"}) == ["x", "y"]  # these keys have no order


def test_packing_leaves_the_structure_alone():
    structure = {"a": 1}
    assert pack_like(structure, [2]) == {"a": 2}
    assert structure == {"a": 1}


def test_a_mapping_that_does_not_change_is_made_anew():
    made = made_like(MappingProxyType({"a": 1}), [2])
    assert type(made) is MappingProxyType
    assert dict(made) == {"a": 2}


def test_a_mapping_that_is_no_dict_is_made_anew():
    class Kept(MutableMapping):
        def __init__(self):
            self.items_of = {}

        def __getitem__(self, key):
            return self.items_of[key]

        def __setitem__(self, key, item):
            self.items_of[key] = item

        def __delitem__(self, key):
            del self.items_of[key]

        def __iter__(self):
            return iter(self.items_of)

        def __len__(self):
            return len(self.items_of)

    structure = Kept()
    structure["a"] = 1
    made = made_like(structure, [2])
    assert type(made) is Kept
    assert (dict(made), dict(structure)) == ({"a": 2}, {"a": 1})


def test_lists_of_anything_with_items():
    assert listed((x for x in (1, 2)), "numbers") == [1, 2]
    with pytest.raises(DTypeError, match="Expected a list of numbers, got 5 of type 'int'"):
        listed(5, "numbers")


def test_what_a_generator_of_the_program_raises_is_its_own():
    def items():
        yield 1
        raise TypeError("mine")

    with pytest.raises(TypeError, match=r"^mine$"):
        listed(items(), "numbers")
