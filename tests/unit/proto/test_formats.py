"""Text, JSON and bytes of messages, read with errors of Situs."""

from __future__ import annotations

import contextlib
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from situs._src.base.proto.config import ConfigProto, GPUOptions
from situs._src.base.proto.formats import ParseError, from_bytes, from_json, parse, read_any, to_json, to_text
from situs._src.base.proto.graph import AttrValue, GraphDef, NodeDef
from situs.errors import DataLossError, InvalidArgumentError

NODE = NodeDef(name="n", op="Neg", input=["a"], attr={"T": AttrValue(type=1), "s": AttrValue(s=b"\xff\0")})


@pytest.mark.parametrize(
    "text",
    [
        "gpu_options { allow_growth: true }",
        "gpu_options: < allow_growth: 1 > # a comment",
        b"gpu_options { allow_growth: True }",
        io.StringIO("gpu_options {\n  allow_growth: true\n}\n"),
        io.BytesIO(b"gpu_options { allow_growth: true }"),
    ],
    ids=["text", "comment", "bytes", "file of text", "file of bytes"],
)
def test_text_is_read(text):
    assert parse(text, ConfigProto()) == ConfigProto(gpu_options=GPUOptions(allow_growth=True))


def test_text_and_json_are_merged_into_what_is_there():
    assert parse('input: "b"', NodeDef(name="x", input=["a"])) == NodeDef(name="x", input=["a", "b"])
    assert from_json('{"input": ["b"]}', NodeDef(name="x", input=["a"])) == NodeDef(name="x", input=["a", "b"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("allow_growth: 1\n  allow_grow: 2", r"^2:3 : .*allow_grow"),
        ("allow_growth: maybe", r"^1:15 : "),
        ("polling_active_delay_usecs: 9999999999", r"^1:29 : .*out of range|^1:29 : Value out of range"),
        ("experimental {", r"^1:14 : |^1:15 : "),
        ('visible_device_list: "a', r"^1:"),
        ('visible_device_list: "\\377"', r"^1:"),
        ("\ud800", "is Unicode"),
        (b"\xff", "is Unicode"),
        (3, "got a int"),
        (None, "got a NoneType"),
    ],
    ids=lambda value: str(value)[:30] if not isinstance(value, str) else ascii(value)[:30],
)
def test_wrong_text_is_refused_with_its_line_and_changes_nothing(text, said):
    message = GPUOptions(allow_growth=True)
    with pytest.raises(ParseError, match=said):
        parse(text, message)
    assert message == GPUOptions(allow_growth=True)


def test_messages_that_are_nested_too_deep_are_refused():
    with pytest.raises(ParseError, match="nested too deep"):
        parse('func { attr { key: "a" value { ' * 5000, AttrValue())


@pytest.mark.parametrize("wrong", [None, GPUOptions, "text"])
def test_text_is_parsed_into_messages_only(wrong):
    with pytest.raises(ParseError, match="parsed into a message"):
        parse("", wrong)


@pytest.mark.parametrize(
    "text",
    ["", "{", "[3]", "3", '{"foo": 1}', '{"i": 1.5}', '{"type": "FOO"}', '{"shape": {"dim": 3}}', b"\xff"]
    + ["[" * 100_000, '{"func": {"attr": {"a": ' * 300 + "{}" + "}}}" * 300],
    ids=lambda text: ascii(text)[:30],
)
def test_wrong_json_is_refused_and_changes_nothing(text):
    message = AttrValue(i=7)
    with pytest.raises(ParseError, match="no JSON of a AttrValue"):
        from_json(text, message)
    assert message == AttrValue(i=7)


@pytest.mark.parametrize(
    "content",
    [
        NODE.SerializeToString(),
        str(NODE).encode(),
        b"\n\n  " + to_text(NODE).encode(),
        to_json(NODE).encode(),
        b"\n" + to_json(NODE).encode(),
        # What SerializeToString() of Situs 0.1.0 wrote.
        b'{"name":"n","op":"Neg","input":["a"],"attr":{"T":{"type":"DT_FLOAT"},"s":{"s":"/wA="}}}',
    ],
    ids=["bytes", "text", "spaces and text", "JSON", "spaces and JSON", "JSON of Situs 0.1"],
)
def test_a_file_may_be_bytes_text_or_json(content):
    assert read_any(content, NodeDef) == NODE


@pytest.mark.parametrize("length", range(1, 300))
def test_bytes_of_any_length_are_not_taken_for_json(length):
    """The number of bytes of a node stands right behind a line feed: 123 is a brace."""
    made = GraphDef(node=[NodeDef(name="n" * length)])
    assert read_any(made.SerializeToString(), GraphDef) == made


@pytest.mark.parametrize(
    ("content", "error", "said"),
    [
        (b"\x0a\x10\xff\xfe", InvalidArgumentError, "These bytes are no GraphDef message"),
        (b"\x0a\x10node", ParseError, "^2:2|^2:1"),
        (b"nod { }", ParseError, '^1:1 : .*no field named "nod"'),
        (b'{"nod": 1}', ParseError, 'no field named "nod"'),
        (b"{\xff", ParseError, "no JSON"),
    ],
)
def test_other_files_are_refused(content, error, said):
    with pytest.raises(error, match=said):
        read_any(content, GraphDef)
    with pytest.raises(DataLossError, match="no GraphDef message"):
        from_bytes(content, GraphDef)


@given(st.text(max_size=60) | st.sampled_from(["node { name: 'a' }", "versions { producer: -1e999 }"]))
def test_any_text_is_read_or_refused(text):
    with contextlib.suppress(InvalidArgumentError):
        parse(text, GraphDef())
    with contextlib.suppress(InvalidArgumentError):
        from_json(text, GraphDef())


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(content):
    with contextlib.suppress(InvalidArgumentError):
        read_any(content, GraphDef)


def test_text_and_json_come_back():
    assert parse(to_text(NODE), NodeDef()) == NODE == from_json(to_json(NODE), NodeDef())
    assert parse(str(NODE), NodeDef()) == NODE
