"""Repeated fields and maps: they behave as lists and dicts, check what comes in, and copy messages."""

from __future__ import annotations

import copy
import pickle

import pytest

from situs.errors import DTypeError
from situs.proto.config import ConfigProto
from situs.proto.errors import FieldError, MissingKeyError
from situs.proto.graph import AttrValue, GraphDef, NodeDef


@pytest.fixture
def inputs():
    return NodeDef(input=["a", "b", "c"]).input


@pytest.mark.parametrize(
    ("change", "left"),
    [
        (lambda v: v.append("d"), ["a", "b", "c", "d"]),
        (lambda v: v.extend(iter("de")), ["a", "b", "c", "d", "e"]),
        (lambda v: v.MergeFrom(["d"]), ["a", "b", "c", "d"]),
        (lambda v: v.insert(0, "z"), ["z", "a", "b", "c"]),
        (lambda v: v.remove("b"), ["a", "c"]),
        (lambda v: v.pop(), ["a", "b"]),
        (lambda v: v.pop(0), ["b", "c"]),
        (lambda v: v.reverse(), ["c", "b", "a"]),
        (lambda v: v.sort(reverse=True), ["c", "b", "a"]),
        (lambda v: v.__setitem__(-1, "z"), ["a", "b", "z"]),
        (lambda v: v.__setitem__(slice(1, None), ["z"]), ["a", "z"]),
        (lambda v: v.__delitem__(0), ["b", "c"]),
        (lambda v: v.__delitem__(slice(None)), []),
        (lambda v: v.clear(), []),
    ],
)
def test_values_change_as_a_list(inputs, change, left):
    change(inputs)
    assert inputs == left
    assert list(inputs) == left


def test_values_read_as_a_list(inputs):
    assert (inputs[0], inputs[-1], inputs[1:], len(inputs)) == ("a", "c", ["b", "c"], 3)
    assert ("b" in inputs, inputs.index("c"), inputs.count("a"), list(reversed(inputs))) == (
        True,
        2,
        1,
        ["c", "b", "a"],
    )
    assert repr(inputs) == "['a', 'b', 'c']"
    assert inputs == NodeDef(input=["a", "b", "c"]).input
    assert inputs != ["a"]
    assert inputs != "abc"


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda v: v.append(3), TypeError),
        (lambda v: v.append(None), TypeError),
        (lambda v: v.extend(["d", 3]), TypeError),
        (lambda v: v.extend(3), TypeError),
        (lambda v: v.extend(None), TypeError),
        (lambda v: v.extend("de"), TypeError),
        (lambda v: v.insert(0, 3), TypeError),
        (lambda v: v.remove("q"), ValueError),
        (lambda v: v.__setitem__(0, 3), TypeError),
        (lambda v: v.__setitem__(3, "d"), IndexError),
        (lambda v: v.__setitem__(slice(0, 1), "d"), TypeError),
        (lambda v: v.__delitem__(3), IndexError),
        (lambda v: v[3], IndexError),
        (lambda v: v["a"], TypeError),
        (lambda v: hash(v), TypeError),
    ],
)
def test_a_wrong_change_is_refused_and_changes_nothing(inputs, change, error):
    with pytest.raises(error):
        change(inputs)
    assert inputs == ["a", "b", "c"]


def test_one_string_is_not_a_list_of_its_letters():
    with pytest.raises(TypeError, match=r"got the single '/job:a'\. Write \['/job:a'\]"):
        ConfigProto(device_filters="/job:a")


def test_adding_in_place_is_an_assignment_and_refused():
    node = NodeDef()
    with pytest.raises(TypeError, match=r"Use extend\(\)"):
        node.input += ["a"]


def test_copies_of_containers_are_plain():
    node = NodeDef(input=["a"], attr={"i": {"i": 1}})
    for duplicate in (copy.copy, copy.deepcopy, lambda c: pickle.loads(pickle.dumps(c))):
        assert duplicate(node.input) == ["a"]
        assert duplicate(node.attr) == {"i": AttrValue(i=1)}


class TestMessages:
    def test_add_returns_the_new_element(self):
        graph = GraphDef()
        graph.node.add(name="a").op = "Const"
        assert graph.node == [NodeDef(name="a", op="Const")]

    def test_messages_are_copied_in(self):
        graph, node = GraphDef(), NodeDef(name="a")
        graph.node.append(node)
        graph.node.extend([node, {"name": "c"}])
        graph.node.insert(0, node)
        node.name = "changed"
        assert [n.name for n in graph.node] == ["a", "a", "a", "c"]

    def test_they_are_removed_by_value_and_sorted_by_key(self):
        graph = GraphDef(node=[NodeDef(name="b"), NodeDef(name="a"), NodeDef(name="c")])
        graph.node.remove(NodeDef(name="c"))
        graph.node.sort(key=lambda node: node.name)
        assert [node.name for node in graph.node] == ["a", "b"]

    @pytest.mark.parametrize(
        ("change", "error"),
        [
            (lambda nodes: nodes.append(3), TypeError),
            (lambda nodes: nodes.append(GraphDef()), TypeError),
            (lambda nodes: nodes.extend([NodeDef(), None]), TypeError),
            (lambda nodes: nodes.__setitem__(0, NodeDef()), TypeError),
            (lambda nodes: nodes.add(foo=1), FieldError),
            (lambda nodes: nodes.add(name=1), TypeError),
        ],
    )
    def test_wrong_elements_are_refused(self, change, error):
        graph = GraphDef(node=[NodeDef(name="a")])
        with pytest.raises(error):
            change(graph.node)
        assert len(graph.node) == 1


class TestMaps:
    def test_a_map_is_used_as_a_dict(self):
        counts = ConfigProto(device_count={"CPU": 4}).device_count
        counts["GPU"] = 2
        counts.update({"TPU": 1})
        assert counts == {"CPU": 4, "GPU": 2, "TPU": 1}
        assert (counts.pop("TPU"), counts.pop("TPU", 7), counts.get("TPU"), counts.get("TPU", 7)) == (1, 7, None, 7)
        assert ("GPU" in counts, 3 in counts, len(counts), sorted(counts)) == (True, False, 2, ["CPU", "GPU"])
        assert repr(counts) == "{'CPU': 4, 'GPU': 2}"
        assert (counts.setdefault("CPU", 9), counts.setdefault("X", 9), counts.setdefault("Y")) == (4, 9, 0)
        counts.clear()
        assert not counts

    def test_a_key_may_be_given_as_bytes(self):
        counts = ConfigProto(device_count={"CPU": 4, "GPU": 2, "TPU": 1}).device_count
        assert (counts[b"CPU"], counts.get(b"CPU"), counts.setdefault(b"CPU", 9), counts.pop(b"TPU")) == (4, 4, 4, 1)
        del counts[b"GPU"]
        assert counts == {"CPU": 4}

    def test_reading_a_missing_key_sets_the_default_as_in_protocol_buffers(self):
        config = ConfigProto()
        assert config.device_count["CPU"] == 0
        assert str(config) == 'device_count {\n  key: "CPU"\n  value: 0\n}\n'

    def test_reading_a_missing_key_of_a_map_to_messages_adds_one(self):
        node = NodeDef()
        assert node.attr["T"] is node.attr.get_or_create("T")
        assert str(node) == 'attr {\n  key: "T"\n  value {\n  }\n}\n'

    def test_messages_are_copied_in_by_the_constructor_and_merge(self):
        value = AttrValue(i=1)
        node = NodeDef(attr={"a": value})
        node.attr.MergeFrom({"b": value})
        value.i = 2
        assert node.attr == {"a": AttrValue(i=1), "b": AttrValue(i=1)}

    def test_merging_replaces_the_whole_entry(self):
        node = NodeDef(attr={"a": {"list": {"i": [1]}}})
        node.MergeFrom(NodeDef(attr={"a": {"list": {"i": [2]}}}))
        assert node.attr["a"].list.i == [2]

    @pytest.mark.parametrize(
        ("use", "error"),
        [
            (lambda c: c.device_count.__setitem__(3, 3), TypeError),
            (lambda c: c.device_count.__setitem__("CPU", "a"), TypeError),
            (lambda c: c.device_count.__setitem__("CPU", 2**31), ValueError),
            (lambda c: c.device_count[3], TypeError),
            (lambda c: c.device_count.__delitem__("GPU"), KeyError),
            (lambda c: c.device_count.pop("GPU"), MissingKeyError),
            (lambda c: c.device_count.update({"CPU": None}), TypeError),
            (lambda c: c.device_count.MergeFrom([("CPU", 1)]), DTypeError),
            (lambda c: ConfigProto(device_count=3), TypeError),
            (lambda c: ConfigProto(device_count=[("CPU", 1)]), TypeError),
            (lambda c: ConfigProto(device_count={"CPU": "a"}), TypeError),
            (lambda c: hash(c.device_count), TypeError),
        ],
    )
    def test_wrong_uses_are_refused_and_change_nothing(self, use, error):
        config = ConfigProto(device_count={"CPU": 4})
        with pytest.raises(error):
            use(config)
        assert config.device_count == {"CPU": 4}

    def test_messages_cannot_be_assigned_to_a_key(self):
        with pytest.raises(ValueError, match=r"may not be assigned. Use NodeDef.attr\['T'\].CopyFrom"):
            NodeDef().attr["T"] = AttrValue(i=3)

    def test_the_error_for_a_missing_key_names_the_keys(self):
        with pytest.raises(KeyError) as caught:
            del ConfigProto(device_count={"CPU": 4}).device_count["GPU"]
        assert str(caught.value) == "Key not present in map ConfigProto.device_count: 'GPU'; it has ['CPU']."
