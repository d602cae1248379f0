"""The text format, printed and read; the printed texts and what is accepted were recorded from TensorFlow 2.21."""

from __future__ import annotations

import io
import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from situs.errors import InvalidArgumentError
from situs.proto.config import ConfigProto, GPUOptions, OptimizerOptions
from situs.proto.errors import ParseError
from situs.proto.graph import AttrValue, GraphDef, NodeDef, TensorProto
from situs.proto.json_format import from_json, to_json
from situs.proto.literal import quote, unquote
from situs.proto.printer import to_text
from situs.proto.stats import RunMetadata
from situs.proto.text import parse


class TestPrinting:
    def test_nested_messages_are_indented_by_two(self):
        config = ConfigProto(gpu_options={"per_process_gpu_memory_fraction": 0.4})
        config.gpu_options.experimental.virtual_devices.add(memory_limit_mb=[1024, 2048.5])
        assert str(config) == textwrap.dedent("""\
            gpu_options {
              per_process_gpu_memory_fraction: 0.4
              experimental {
                virtual_devices {
                  memory_limit_mb: 1024
                  memory_limit_mb: 2048.5
                }
              }
            }
            """)

    def test_a_map_is_printed_by_key(self):
        assert str(ConfigProto(device_count={"GPU": 0, "CPU": 4})) == textwrap.dedent("""\
            device_count {
              key: "CPU"
              value: 4
            }
            device_count {
              key: "GPU"
              value: 0
            }
            """)

    def test_keys_that_are_numbers_are_ordered_as_numbers(self):
        metadata = RunMetadata()
        metadata.step_stats.dev_stats.add(device="/cpu", thread_names={30: "x", 4: "y"})
        printed = str(metadata)
        assert printed.index("key: 4") < printed.index("key: 30")

    def test_a_graph_prints_as_in_tensorflow(self):
        graph = GraphDef(versions={"producer": 2474}, library={})
        graph.node.add(name="add", op="AddV2", input=["mm/_3", "neg/_5"], device="/device:CPU:0").attr["T"].type = 1
        assert str(graph) == textwrap.dedent("""\
            node {
              name: "add"
              op: "AddV2"
              input: "mm/_3"
              input: "neg/_5"
              device: "/device:CPU:0"
              attr {
                key: "T"
                value {
                  type: DT_FLOAT
                }
              }
            }
            library {
            }
            versions {
              producer: 2474
            }
            """)

    @pytest.mark.parametrize(
        ("value", "text"),
        [
            (0.1, "0.1"),
            (1 / 3, "0.333333343"),
            (123456789, "123456792"),
            (16777216, "16777216"),
            (1e6, "1e+06"),
            (1e5, "100000"),
            (1e-5, "1e-05"),
            (3.4e38, "3.4e+38"),
            (3, "3"),
            (-0.0, "-0"),
            (1e39, "inf"),
            (float("-inf"), "-inf"),
            (float("nan"), "nan"),
        ],
    )
    def test_a_float_prints_as_short_as_it_can(self, value, text):
        assert str(AttrValue(f=value)) == f"f: {text}\n"

    @pytest.mark.parametrize(
        ("value", "text"),
        [
            (0.4, "0.4"),
            (1 / 3, "0.33333333333333331"),
            (1e15, "1e+15"),
            (1e16, "1e+16"),
            (123456789012345678, "1.2345678901234568e+17"),
            (-0.0, "-0"),
        ],
    )
    def test_a_double_prints_as_short_as_it_can(self, value, text):
        assert str(GPUOptions(per_process_gpu_memory_fraction=value)) == f"per_process_gpu_memory_fraction: {text}\n"

    def test_strings_keep_unicode_and_bytes_do_not(self):
        assert str(NodeDef(name="é\"'\\\t\x01\x7f日")) == 'name: "é\\"\\\'\\\\\\t\\001\\177日"\n'
        assert str(AttrValue(s=b"a\x00\"'\n\xff\xe9")) == 's: "a\\000\\"\\\'\\n\\377\\351"\n'

    def test_an_enum_prints_its_name_or_an_unknown_number(self):
        assert str(OptimizerOptions(opt_level=-1, global_jit_level=1)) == "opt_level: L0\nglobal_jit_level: ON_1\n"
        assert str(AttrValue(type=555)) == "type: 555\n"
        assert str(AttrValue(type=101)) == "type: DT_FLOAT_REF\n"

    def test_to_text_is_str(self):
        assert to_text(AttrValue(i=3)) == str(AttrValue(i=3)) == "i: 3\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", AttrValue()),
        ("# only a comment", AttrValue()),
        ("s: \"a\" 'b'", AttrValue(s=b"ab")),
        (r's: "\x41\101\n\u00e9\U0001F600\?"', AttrValue(s=b"AA\n\xc3\xa9\xf0\x9f\x98\x80?")),
        ("i: 0x10", AttrValue(i=16)),
        ("i: -0x10", AttrValue(i=-16)),
        ("i: 010", AttrValue(i=8)),
        ("i: -5", AttrValue(i=-5)),
        ("i:+3,", AttrValue(i=3)),
        ("i: 0;", AttrValue(i=0)),
        ("f: 1.5f", AttrValue(f=1.5)),
        ("f: 1", AttrValue(f=1)),
        ("f: .5", AttrValue(f=0.5)),
        ("f: 5.", AttrValue(f=5)),
        ("f: -1.5e-3", AttrValue(f=-1.5e-3)),
        ("f: inf", AttrValue(f=float("inf"))),
        ("f: -inf", AttrValue(f=float("-inf"))),
        ("f: nan", AttrValue(f=float("nan"))),
        ("f: 1e400", AttrValue(f=float("inf"))),
        ("b: True", AttrValue(b=True)),
        ("b: 0", AttrValue(b=False)),
        ("type: DT_FLOAT", AttrValue(type=1)),
        ("type: 1", AttrValue(type=1)),
        ("type: 99", AttrValue(type=99)),
        ("list{i:[1,2] i:3}", AttrValue(list={"i": [1, 2, 3]})),
        ("list{i:[]}", AttrValue(list={})),
        ("list: < i: 1 >", AttrValue(list={"i": [1]})),
        ("list { type: [DT_FLOAT, 2] }", AttrValue(list={"type": [1, 2]})),
        ("shape{dim{size:2},dim{size:3};}", AttrValue(shape={"dim": [{"size": 2}, {"size": 3}]})),
        ("shape{dim [{size:1},{size:2}]}", AttrValue(shape={"dim": [{"size": 1}, {"size": 2}]})),
        (r'placeholder: "\303\251é"', AttrValue(placeholder="éé")),
        ("i: 3 b: true", AttrValue(b=True)),
        ("i: 3 i: 4", AttrValue(i=4)),
        ("shape{dim{size:2}} shape{dim{size:3}}", AttrValue(shape={"dim": [{"size": 2}, {"size": 3}]})),
    ],
)
def test_text_is_read(text, expected):
    assert parse(text, AttrValue()) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('attr{key:"a"}', {"a": {}}),
        ("attr{value{i:3}}", {"": {"i": 3}}),
        ('attr{value{i:3},key:"k"}', {"k": {"i": 3}}),
        ('attr{key:"a" value{i:1}} attr{key:"a" value{b:true}}', {"a": {"b": True}}),
        ('attr: [{key:"a"}, <key:"b">]', {"a": {}, "b": {}}),
    ],
)
def test_entries_of_maps_are_read(text, expected):
    assert parse(text, NodeDef(name="x")) == NodeDef(name="x", attr=expected)


def test_a_text_is_merged_into_what_is_there():
    assert parse('name: "y" input: "b"', NodeDef(name="x", input=["a"])) == NodeDef(name="y", input=["a", "b"])


def test_bytes_and_open_files_are_read():
    assert parse(b'name: "x"', NodeDef()) == NodeDef(name="x")
    assert parse(io.StringIO('name: "x"'), NodeDef()) == NodeDef(name="x")
    assert parse(io.BytesIO(b'name: "x"'), NodeDef()) == NodeDef(name="x")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("foo: 1", r'1:1 : .*AttrValue has no "foo" field'),
        ("\n  shap { }", r"2:3 : .*Did you mean 'shape'"),
        ("b: T", '1:4 : Expected "true" or "false"'),
        ("b: 2", '1:4 : Expected "true" or "false"'),
        ('b: "true"', '1:4 : Expected "true" or "false"'),
        ("type: FOO", "1:7 : Enum DataType has no value defined for name 'FOO'"),
        ("type: 1.5", "1:7 : Couldn't parse integer: '1.5'"),
        ("i: 1.5", "1:4 : Couldn't parse integer: '1.5'"),
        ("i: - 5", "1:4 : Unexpected character '-'"),
        ("i: 09", "1:4 : Couldn't parse integer"),
        ("i: 0x", "1:4 : Couldn't parse integer"),
        ('i: "3"', "1:4 : Couldn't parse integer"),
        ("i: 99999999999999999999", "1:4 : .*Value out of range"),
        (f"i: {'9' * 5000}", "1:4 : Couldn't parse integer"),
        ("f: 1e", "1:4 : Couldn't parse float"),
        ("f: abc", "1:4 : Couldn't parse float"),
        ("f: 1_0", "1:4 : Couldn't parse float"),
        ("s: abc", "1:4 : Expected string but found: 'abc'"),
        ("s: 3", "1:4 : Expected string"),
        ('s: "abc', "1:4 : String missing ending quote"),
        ('s: "a\nb"', "1:4 : String missing ending quote"),
        (r's: "\q"', r"1:4 : there is no escape"),
        (r's: "\x"', "1:4 : there is no escape"),
        (r's: "\777"', "1:4 : .*more than one byte"),
        (r's: "\ud800"', "1:4 : .*names no character"),
        (r's: "\UFFFFFFFF"', "1:4 : .*names no character"),
        (r'placeholder: "\377"', "1:14 : .*UTF-8"),
        ("i", '1:2 : Expected ":" after'),
        ("i 3", '1:3 : Expected ":" after'),
        ("i:", "1:3 : Couldn't parse integer: the end of the text"),
        ("{", "1:1 : Expected the name of a field"),
        ("}", "1:1 : Expected the name of a field"),
        ("i: 3 }", "1:6 : Expected the name of a field"),
        ("i:3;;", "1:5 : Expected the name of a field"),
        ("list {", '1:7 : Expected "}", found the end of the text'),
        ("list { i: 1 >", "1:13 : Expected the name of a field"),
        ("list }", '1:6 : Expected "{"'),
        ("list: 3", '1:7 : Expected "{"'),
        ("list { i: [1 2] }", '1:14 : Expected "," or "]"'),
        ("list { i: [1,] }", "1:14 : Couldn't parse integer"),
        ("list { i: [1", '1:13 : Expected "," or "]"'),
        ("i: [3]", "1:4 : Couldn't parse integer"),
        ("\x00", "1:1 : Unexpected character"),
        ("func { attr { foo: 1 } }", "1:15 : An entry of NameAttrList.attr has a key and a value"),
        ("func { attr: 3 }", '1:14 : Expected "{"'),
        ("func { attr { key: 3 } }", "1:20 : Expected string"),
        ('func { attr { key: "a"', '1:23 : Expected "}"'),
    ],
)
def test_wrong_text_is_refused_at_its_place_and_changes_nothing(text, said):
    message = AttrValue(i=7)
    with pytest.raises(ParseError, match=rf"(?s)^{said}"):
        parse(text, message)
    assert message == AttrValue(i=7)


def test_nesting_has_a_limit():
    deep = 'func { attr { key: "a" value { ' * 40 + "i: 1" + " } } }" * 40
    assert parse(deep, AttrValue()).HasField("func")
    with pytest.raises(ParseError, match="nested more than 100 deep"):
        parse('func { attr { key: "a" value { ' * 100_000, AttrValue())


@pytest.mark.parametrize("wrong", [3, None, b"\xff"])
def test_only_strings_are_parsed(wrong):
    with pytest.raises(ParseError, match="from a string"):
        parse(wrong, AttrValue())


@pytest.mark.parametrize("wrong", [3, None, AttrValue])
def test_text_is_parsed_into_messages_only(wrong):
    with pytest.raises(ParseError, match="into a message"):
        parse("", wrong)


scalars = st.one_of(
    st.builds(lambda v: {"s": v}, st.binary()),
    st.builds(lambda v: {"i": v}, st.integers(-(2**63), 2**63 - 1)),
    st.builds(lambda v: {"f": v}, st.floats(width=32)),
    st.builds(lambda v: {"b": v}, st.booleans()),
    st.builds(lambda v: {"type": v}, st.integers(0, 200)),
    st.builds(lambda v: {"placeholder": v}, st.text()),
    st.builds(
        lambda v: {"tensor": {"tensor_content": v[0], "double_val": v[1]}},
        st.tuples(st.binary(), st.lists(st.floats())),
    ),
    st.builds(lambda v: {"shape": {"dim": [{"size": d} for d in v]}}, st.lists(st.integers(-1, 9))),
)
nodes = st.builds(
    NodeDef, name=st.text(), input=st.lists(st.text()), attr=st.dictionaries(st.text(), scalars, max_size=4)
)


@given(nodes)
def test_every_message_comes_back_from_its_text_its_json_and_its_bytes(node):
    assert parse(str(node), NodeDef()) == node
    assert from_json(to_json(node), NodeDef()) == node
    assert NodeDef.FromString(node.SerializeToString()) == node


@given(st.text())
def test_any_text_is_read_or_refused(text):
    try:
        parse(text, NodeDef())
    except InvalidArgumentError:
        pass


@given(st.one_of(st.text(), st.binary()))
def test_quoting_comes_back(value):
    assert unquote(quote(value)[1:-1]) == (value.encode() if isinstance(value, str) else value)


def test_a_tensor_of_every_dtype_list_comes_back():
    tensor = TensorProto(
        dtype=1, tensor_shape={"dim": [{"size": 2}]}, float_val=[1.5], string_val=[b"\xff"], bool_val=[True]
    )
    assert parse(str(tensor), TensorProto()) == tensor
