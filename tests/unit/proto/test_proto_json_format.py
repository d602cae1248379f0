"""JSON of messages: ours, and the JSON that protocol buffers write (recorded from TensorFlow 2.21)."""

from __future__ import annotations

import json

import pytest

from situs.errors import InvalidArgumentError
from situs.proto.config import ConfigProto
from situs.proto.errors import ParseError
from situs.proto.graph import AttrValue, NodeDef
from situs.proto.json_format import from_json, to_json
from situs.proto.stats import DeviceStepStats


@pytest.mark.parametrize(
    ("message", "content"),
    [
        (ConfigProto(), {}),
        (ConfigProto(gpu_options={}), {"gpu_options": {}}),
        (ConfigProto(device_count={"GPU": 0}), {"device_count": {"GPU": 0}}),
        (DeviceStepStats(thread_names={3: "x"}), {"thread_names": {"3": "x"}}),
        (AttrValue(s=b"\xff"), {"s": "/w=="}),
        (AttrValue(type=1), {"type": "DT_FLOAT"}),
        (AttrValue(type=555), {"type": 555}),
        (AttrValue(i=2**63 - 1), {"i": 2**63 - 1}),
        (AttrValue(f=float("nan")), {"f": "NaN"}),
        (AttrValue(list={"f": [float("-inf"), 0.5]}), {"list": {"f": ["-Infinity", 0.5]}}),
    ],
)
def test_a_message_is_written_and_read(message, content):
    assert json.loads(to_json(message)) == content
    assert from_json(to_json(message, indent=2), type(message)()) == message


def test_the_json_of_protocol_buffers_is_read():
    text = """{"name": "n", "attr": {"p": {"placeholder": ""}, "a": {"s": "5pel5pysw6k="}, "i": {"i": "2"},
        "t": {"tensor": {"dtype": "DT_FLOAT", "tensorContent": "AAFh", "floatVal": [1.0, "Infinity"],
        "tensorShape": {"dim": [{"size": "-1"}], "unknownRank": null}}}}}"""
    node = from_json(text, NodeDef())
    assert node.attr["p"].WhichOneof("value") == "placeholder"
    assert node.attr["a"].s == "日本é".encode()
    assert node.attr["i"].i == 2
    assert node.attr["t"].tensor.tensor_content == b"\x00\x01a"
    assert node.attr["t"].tensor.float_val == [1.0, float("inf")]
    assert node.attr["t"].tensor.tensor_shape.dim[0].size == -1


def test_json_is_merged():
    assert from_json('{"input": ["b"]}', NodeDef(name="x", input=["a"])) == NodeDef(name="x", input=["a", "b"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        (None, "not JSON"),
        ("[" * 100_000, "not JSON"),
        (b"\xff", "not JSON"),
        ("[]", "AttrValue is a message, in JSON an object; got \\[\\]"),
        ("3", "AttrValue is a message"),
        ('{"foo": 1}', 'AttrValue: Protocol message AttrValue has no "foo" field'),
        ('{"i": 1.5}', "AttrValue.i is an int64"),
        ('{"i": "x"}', "AttrValue.i is an int64; got 'x'"),
        ('{"i": true}', "AttrValue.i is an int64"),
        ('{"i": 1e400}', "AttrValue.i is an int64"),
        ('{"f": "x"}', "AttrValue.f is a float; got 'x'"),
        ('{"b": "true"}', "AttrValue.b is a bool"),
        ('{"s": "*"}', "AttrValue.s is bytes"),
        ('{"s": 3}', "AttrValue.s is bytes"),
        ('{"type": "FOO"}', "has no value defined for name 'FOO'"),
        ('{"shape": 3}', "AttrValue.shape is a message"),
        ('{"shape": {"dim": {"size": 1}}}', "AttrValue.shape.dim is repeated, in JSON an array"),
        ('{"shape": {"dim": [{"size": 1}, 3]}}', r"AttrValue.shape.dim\[1\] is a message"),
        ('{"shape": {"dim": [null]}}', r"AttrValue.shape.dim\[0\] is a message"),
        ('{"func": {"attr": []}}', "AttrValue.func.attr is a map, in JSON an object"),
        ('{"func": {"attr": {"a": 1}}}', r"AttrValue.func.attr\['a'\] is a message"),
        ('{"func": {"attr": {"a": ' * 200 + "{}" + "}}}" * 200, "nested more than 100 deep"),
    ],
)
def test_wrong_json_is_refused_at_its_path_and_changes_nothing(text, said):
    message = AttrValue(i=7)
    with pytest.raises(InvalidArgumentError, match=said):
        from_json(text, message)
    assert message == AttrValue(i=7)


def test_a_key_of_a_wrong_kind_is_refused():
    with pytest.raises(ParseError, match=r"DeviceStepStats.thread_names is an uint32; got 'x'"):
        from_json('{"thread_names": {"x": "a"}}', DeviceStepStats())
