"""Graphs with gradients of branches, loops and calls, written to messages and read back."""

from __future__ import annotations

import numpy as np
import pytest

import situs.compat.v1 as v1
from situs._src.ir.graph.verify import verify
from situs.errors import InternalError

PROGRAMS = {
    "branch": lambda x: v1.cond(x > 0, lambda: v1.sin(x) * x * x, lambda: v1.exp(x)),
    "loop": lambda x: v1.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * v1.sin(y) * x), [0, x])[1],
    "loop in a loop": lambda x: v1.while_loop(
        lambda i, y: i < 3,
        lambda i, y: (i + 1, v1.while_loop(lambda j, z: j < 2, lambda j, z: (j + 1, v1.sin(z) * y), [0, y])[1]),
        [0, x],
    )[1],
    "branch in a loop": lambda x: v1.while_loop(
        lambda i, y: i < 3,
        lambda i, y: (i + 1, v1.cond(y > 0.5, lambda: y * y * v1.sin(x), lambda: v1.exp(y) * x)),
        [0, x],
    )[1],
    "loop in a branch": lambda x: v1.cond(
        x > 0,
        lambda: v1.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, v1.sin(y) * y), [0, x])[1],
        lambda: x * x * x,
    ),
    "call": lambda x: v1.function(lambda t: v1.sin(t) * t * v1.exp(t))(x),
    "map": lambda x: v1.reduce_sum(v1.map_fn(lambda t: v1.sin(t) * t * x, v1.stack([x, x * x, x + 1]))),
}


def derivatives(program):
    """A graph with a value and its first two derivatives, and the names of these."""
    with v1.Graph().as_default() as graph:
        x = v1.placeholder(v1.float64, [], name="x")
        y = program(x)
        first = v1.gradients(y, x)[0]
        names = [tensor.name for tensor in (y, first, v1.gradients(first, x)[0])]
    return graph, names


def values(graph, x, fetches, at):
    with v1.Session(graph=graph) as session:
        return session.run(fetches, {x: at})


@pytest.mark.parametrize("at", [0.7, -0.6])
@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_survive(name, at):
    graph, names = derivatives(PROGRAMS[name])
    verify(graph)
    expected = values(graph, "x:0", names, at)
    assert expected[2] != 0
    message = v1.GraphDef.FromString(graph.as_graph_def().SerializeToString())
    with v1.Graph().as_default() as read:
        *found, x = v1.import_graph_def(message, return_elements=[*names, "x:0"], name="read")
        np.testing.assert_array_equal(values(read, x, found, at), expected)
        # What was read has gradients like what was built: the third derivative from all three, the others anew.
        anew = v1.gradients(v1.gradients(found[0], x)[0], x)[0]
        thirds = [v1.gradients(of, x)[0] for of in (anew, found[2])]
        verify(read)
    second, *third = values(read, x, [anew, *thirds], at)
    np.testing.assert_allclose(second, expected[2], rtol=1e-9)
    near = [values(graph, "x:0", names[2], at + step) for step in (-1e-5, 1e-5)]
    np.testing.assert_allclose(third, [(near[1] - near[0]) / 2e-5] * 2, rtol=1e-5)
    with v1.Graph().as_default() as again:
        v1.import_graph_def(read.as_graph_def(), name="")
    np.testing.assert_array_equal(values(again, "read/x:0", [f"read/{name}" for name in names], at), expected)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda names: [*names, b"Sin:0"], r"names \d+ tensors for the 2 functions"),
        (lambda names: [b"nobody", *names[1:]], "'nobody' not found"),
        (lambda names: [b"Sin:7", *names[1:]], "Invalid return output 7 of node 'Sin'"),
        (lambda names: [b"^Sin", *names[1:]], "A result of a function is a tensor|Invalid|not found"),
        (lambda names: [b"\xff\xfe", *names[1:]], "not found|Illegal|[Ii]nvalid"),
        (lambda names: names[2:], "do not fit the node. .*its then_branch gives"),
        (lambda names: [], "do not fit the node. .*its then_branch gives"),
        (lambda names: names + names[:2], "do not fit the node. .*its then_branch gives"),
    ],
)
def test_residuals_that_do_not_fit_are_refused(change, said):
    graph, _ = derivatives(PROGRAMS["branch"])
    message = graph.as_graph_def()
    node = next(node for node in message.node if node.op == "If")
    kept = change(list(node.attr["_residuals"].list.s))
    del node.attr["_residuals"].list.s[:]
    node.attr["_residuals"].list.s.extend(kept)
    with v1.Graph().as_default() as read:
        with pytest.raises(ValueError, match=said):
            v1.import_graph_def(message)
        assert not read.get_operations()


def test_a_loop_with_residuals_has_a_history():
    graph, _ = derivatives(PROGRAMS["loop"])
    loop = graph.get_operation_by_name("while")
    loop.outputs.pop()
    with pytest.raises(InternalError):
        verify(graph)


def test_a_residual_is_a_tensor_of_each_graph():
    graph, _ = derivatives(PROGRAMS["branch"])
    branch = graph.get_operation_by_name("cond")
    branch.residuals[0] = branch.residuals[0][::-1]
    with pytest.raises(InternalError, match="is not one tensor of each of its graphs"):
        verify(graph)
