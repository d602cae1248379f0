"""Programs that TensorFlow saved: the functions that a signature calls are placed, without their variables."""

from __future__ import annotations

import pytest

import situs as tf
from situs._src.base.proto.graph import FunctionDef, GraphDef
from situs._src.base.proto.saved_model import MetaGraphDef
from situs._src.cli import graph_file
from situs._src.cli.foreign_program import message_of_program
from situs._src.cli.main import main
from situs._src.saved_model.files import write_model

FLOAT = 1


def function(name, *nodes):
    """A function of one argument, with nodes as (name, op, inputs, function that it calls)."""
    made = FunctionDef()
    made.signature.name = name
    made.signature.input_arg.add(name="x", type=FLOAT)
    for each, op, inputs, called in nodes:
        node = made.node_def.add(name=each, op=op, input=inputs)
        if called:
            node.attr["f"].func.name = called
    return made


def program(folder, signature="serving_default", gives="out:0", functions=()):
    meta = MetaGraphDef()
    meta.meta_info_def.tags.append("serve")
    graph = GraphDef()
    graph.node.add(name="x", op="Placeholder").attr["dtype"].type = FLOAT
    graph.node.add(name="saver", op="SaveV2")
    graph.node.add(name="out", op="StatefulPartitionedCall", input=["x"]).attr["f"].func.name = "outer"
    graph.library.function.extend(functions)
    meta.graph_def.CopyFrom(graph)
    if signature:
        meta.signature_def[signature].outputs["y"].name = gives
    write_model(folder, [meta])
    return folder


FUNCTIONS = (
    function("outer", ("call", "PartitionedCall", ["x"], "inner"), ("y", "Identity", ["call:output:0"], None)),
    function(
        "inner",
        ("w", "VarHandleOp", [], None),
        ("read", "ReadVariableOp", ["w:resource:0"], None),
        ("product", "MatMul", ["x", "read:value:0"], None),
        ("last", "Theirs", ["product:product:0", "^read"], None),
    ),
)


def test_the_function_that_does_the_work_is_found(tmp_path):
    message = message_of_program(program(tmp_path, functions=FUNCTIONS))
    assert [node.name for node in message.node] == ["x", "w", "read", "product", "last"]


def test_a_short_function_on_the_way_is_passed(tmp_path):
    middle = function("outer", ("call", "PartitionedCall", ["x"], "inner"))
    message = message_of_program(program(tmp_path, functions=[middle, FUNCTIONS[1]]))
    assert "product" in [node.name for node in message.node]


def test_a_function_that_calls_itself_ends(tmp_path):
    again = function("outer", *((f"n{i}", "PartitionedCall", ["x"], "outer") for i in range(4)))
    assert len(message_of_program(program(tmp_path, functions=[again])).node) == 5


def test_it_is_placed_by_the_command(tmp_path, capsys):
    program(tmp_path, functions=FUNCTIONS)
    assert graph_file.problem_of(tmp_path).index.keys() == {"x", "w", "read", "product", "last"}
    assert main(["place", str(tmp_path), "--budget", "0.1"]) == 0
    assert "not known here" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [({"signature": ""}, "no signature"), ({"gives": "nowhere:0"}, "no node of that name")],
)
def test_a_program_without_an_answer_is_refused(tmp_path, options, message):
    program(tmp_path, functions=FUNCTIONS, **options)
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        message_of_program(tmp_path)
