"""Graphs of older releases of TensorFlow, as TensorFlow (2.21) imports and runs them."""

from __future__ import annotations

import numpy as np
import pytest

from situs._src.ir.graph.graph import Graph
from situs._src.runtime.session.session import Session
from situs._src.tracing.importing import import_graph_def
from situs.errors import InvalidArgumentError

KINDS = {"i": ("DT_INT32", "int_val"), "f": ("DT_FLOAT", "float_val"), "b": ("DT_BOOL", "bool_val")}
KINDS_OF = {"i": np.int32, "f": np.float32}


def const(name, values):
    array = np.array(values)
    dtype, field = KINDS[array.dtype.kind]
    sizes = " ".join(f"dim {{ size: {size} }}" for size in array.shape)
    items = " ".join(f"{field}: {str(item).lower()}" for item in array.ravel().tolist())
    return (
        f'node {{ name: "{name}" op: "Const" attr {{ key: "dtype" value {{ type: {dtype} }} }} attr {{ key: "value" '
        f"value {{ tensor {{ dtype: {dtype} tensor_shape {{ {sizes} }} {items} }} }} }} }}"
    )


def node(op, inputs, **attrs):
    listed = " ".join(f'input: "{name}"' for name in inputs)
    spelled = " ".join(f'attr {{ key: "{key}" value {{ {value} }} }}' for key, value in attrs.items())
    return f'node {{ name: "r" op: "{op}" {listed} {spelled} }}'


def run(text, fetch="r:0"):
    with Graph().as_default():
        (found,) = import_graph_def(text, return_elements=[fetch], name="")
        with Session() as session:
            return session.run(found)


INT, FLOAT, A, B = "type: DT_INT32", "type: DT_FLOAT", [[1, 2], [3, 4]], [[5, 6], [7, 8]]
AF, BF, MATRICES = [[1.5, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]], [[[1.0, 2.0], [3.0, 4.0]]]
IMAGE = [[[[1.0], [2.0]], [[3.0], [4.0]]]]
NORM = {"x": IMAGE, "s": [1.0], "o": [0.0], "m": [2.0], "v": [1.0]}
CASES = {
    "Add": ({"a": A, "b": B}, {"T": INT}, [[6, 8], [10, 12]]),
    "Div": ({"a": [[-7, 2]], "b": [[2, 3]]}, {"T": INT}, [[-3, 0]]),
    "Div of floats": ({"a": AF, "b": BF}, {"T": FLOAT}, [[0.3, 1 / 3], [3 / 7, 0.5]]),
    "Mod": ({"a": [[-7, 2]], "b": [[2, 3]]}, {"T": INT}, [[-1, 2]]),
    "Gather": ({"a": A, "n": [1, 0]}, {"Tparams": INT, "Tindices": INT}, [[3, 4], [1, 2]]),
    "Reverse": ({"a": A, "d": [True, False]}, {"T": INT}, [[3, 4], [1, 2]]),
    "Concat": ({"c": 1, "a": A, "b": B}, {"T": INT, "N": "i: 2"}, [[1, 2, 5, 6], [3, 4, 7, 8]]),
    "BatchMatMul": (
        {"a": MATRICES, "b": MATRICES},
        {"T": FLOAT, "adj_x": "b: true", "adj_y": "b: false"},
        [[[10.0, 14.0], [14.0, 20.0]]],
    ),
    "BatchMatMulV2": ({"a": MATRICES, "b": AF}, {"T": FLOAT, "adj_y": "b: true"}, [[[5.5, 11.0], [12.5, 25.0]]]),
    "BiasAddV1": ({"a": AF, "b": [1.0, 2.0]}, {"T": FLOAT}, [[2.5, 4.0], [4.0, 6.0]]),
    "Inv": ({"a": [2.0, 4.0]}, {"T": FLOAT}, [0.5, 0.25]),
    "Snapshot": ({"a": A}, {"T": INT}, A),
    "MatrixDiag": ({"a": [1, 2]}, {"T": INT}, [[1, 0], [0, 2]]),
    "MatrixDiagPart": ({"a": A}, {"T": INT}, [1, 4]),
    "MatrixSetDiag": ({"a": A, "d": [8, 9]}, {"T": INT}, [[8, 2], [3, 9]]),
    "BatchCholesky": ({"a": [[4.0, 0.0], [0.0, 9.0]]}, {"T": FLOAT}, [[2.0, 0.0], [0.0, 3.0]]),
    "FusedBatchNorm": (
        NORM,
        {"T": FLOAT, "is_training": "b: false", "epsilon": "f: 0.001"},
        [[[[-0.9995], [0.0]], [[0.9995], [1.999]]]],
    ),
    "FusedBatchNormV2": (
        NORM,
        {"T": FLOAT, "U": FLOAT, "is_training": "b: false", "epsilon": "f: 0.001"},
        [[[[-0.9995], [0.0]], [[0.9995], [1.999]]]],
    ),
    "DynamicStitch": ({"i": [0], "j": [1], "x": [5], "y": [6]}, {"T": INT, "N": "i: 2"}, [5, 6]),
    # Attributes that came later have the value that there was before.
    "ArgMax": ({"a": A, "d": 1}, {"T": INT, "Tidx": INT}, np.array([1, 1], np.int64)),
    "Shape": ({"a": A}, {"T": INT}, [2, 2]),
    "Size": ({"a": A}, {"T": INT}, 4),
    "TopKV2": ({"a": A, "k": 1}, {"T": INT}, [[2], [4]]),
    "Unique": ({"a": [7, 7, 8]}, {"T": INT}, [7, 8]),
}


@pytest.mark.parametrize("name", CASES)
def test_an_op_of_an_older_release(name):
    inputs, attrs, expected = CASES[name]
    text = "".join(const(key, values) for key, values in inputs.items())
    made = run(text + node(name.split()[0], inputs, **attrs))
    wanted = np.array(expected)
    assert made.dtype == (wanted.dtype if isinstance(expected, np.ndarray) else KINDS_OF[wanted.dtype.kind])
    np.testing.assert_allclose(made, wanted, rtol=1e-4)


def test_a_variable_of_an_older_release():
    sizes = "shape { dim { size: 2 } dim { size: 2 } }"
    text = const("a", A) + (
        f'node {{ name: "v" op: "VariableV2" attr {{ key: "dtype" value {{ {INT} }} }} '
        f'attr {{ key: "shape" value {{ {sizes} }} }} }}'
        f'node {{ name: "w" op: "Assign" input: "v" input: "a" attr {{ key: "T" value {{ {INT} }} }} }}'
    )
    assert run(text + node("Add", ["w", "a"], T=INT)).tolist() == [[2, 4], [6, 8]]


def test_what_an_older_op_is_called_stays():
    with Graph().as_default() as graph:
        import_graph_def(const("a", A) + node("Add", ["a", "a"], T=INT), name="old")
        made = graph.get_operation_by_name("old/r")
    assert (made.type, [tensor.name for tensor in made.inputs]) == ("AddV2", ["old/a:0", "old/a:0"])


def test_axes_of_reverse_have_to_be_known():
    fed = 'node { name: "d" op: "Placeholder" attr { key: "dtype" value { type: DT_BOOL } } }'
    with pytest.raises(InvalidArgumentError, match=r"Node 'r'.*axes of Reverse must be known"):
        run(const("a", A) + fed + node("Reverse", ["a", "d"], T=INT))
