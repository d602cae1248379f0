"""Concrete functions: one graph of a ``tf.function``, looked at and called by itself."""

from __future__ import annotations

import pytest

import situs as tf

FLOAT, PAIR = tf.TensorSpec([], tf.float32), tf.TensorSpec([2], tf.float32)


@tf.function
def subtract(a, b):
    return a - b


@tf.function
def scale(x, factor=2.0, *, flag=True):
    return {"scaled": x * factor, "flag": [flag]}


@pytest.mark.parametrize(
    "call",
    [
        lambda f, a, b: f(a, b),
        lambda f, a, b: f(a=a, b=b),
        lambda f, a, b: f(a, b=b),
        lambda f, a, b: f(b=b, a=a),
        lambda f, a, b: f(5.0, 3.0),
    ],
)
def test_calls(call):
    f = subtract.get_concrete_function(FLOAT, FLOAT)
    for _ in range(2):
        assert float(call(f, tf.constant(5.0), tf.constant(3.0))) == 2.0


def test_python_values_are_converted_to_the_dtype():
    f = tf.function(lambda x: x).get_concrete_function(PAIR)
    assert f([1, 2]).dtype is tf.float32


def test_other_arguments_may_be_left_out():
    f = scale.get_concrete_function(FLOAT, 3.0, flag=False)
    x = tf.constant(2.0)
    assert [float(f(x)["scaled"]), float(f(x, 3.0)["scaled"]), float(f(x, flag=False)["scaled"])] == [6.0, 6.0, 6.0]
    with pytest.raises(TypeError, match=r"Can not cast 4.0 to Literal\[3.0\]"):
        f(x, 4.0)


@pytest.mark.parametrize(
    ("args", "reason"),
    [
        ((tf.constant([1, 2]),), r"Can not cast TensorSpec\(shape=\(2,\), dtype=tf.int32"),
        ((tf.constant([1.0, 2.0, 3.0]),), r"Can not cast TensorSpec\(shape=\(3,\)"),
        ((), "missing a required argument: 'x'"),
        ((tf.constant([1.0, 2.0]),) * 2, "too many positional arguments"),
        (("word",), "Cannot convert 'word'"),
    ],
)
def test_calls_that_do_not_fit(args, reason):
    f = tf.function(lambda x: x).get_concrete_function(PAIR)
    with pytest.raises(TypeError, match=reason):
        f(*args)


def test_one_object_for_one_kind():
    f = tf.function(lambda x: x)
    first = f.get_concrete_function(tf.constant(1.0))
    assert first is f.get_concrete_function(tf.constant(2.0)) is f.get_concrete_function(FLOAT)
    f(tf.constant(3.0))
    assert f.experimental_get_tracing_count() == 1


def test_without_arguments_where_the_signature_says_them():
    f = tf.function(lambda x: x, input_signature=[tf.TensorSpec([None], tf.float32)])
    assert f.get_concrete_function() is f.get_concrete_function(tf.TensorSpec([3], tf.float32))
    with pytest.raises(TypeError, match="Can not cast"):
        f.get_concrete_function(tf.TensorSpec([3, 3], tf.float32))


def test_what_it_takes_and_gives():
    f = scale.get_concrete_function(tf.TensorSpec([None, 2], tf.float32), tf.TensorSpec([], tf.float32, name="by"))
    (x, factor), keywords = f.structured_input_signature
    assert x == tf.TensorSpec([None, 2], tf.float32, "x")
    assert factor == tf.TensorSpec([], tf.float32, "by")
    assert keywords == {"flag": True}
    assert [tensor.name for tensor in f.inputs] == ["x:0", "by:0"]
    assert f.output_dtypes == {"scaled": tf.float32, "flag": [tf.bool]}
    assert f.output_shapes["scaled"].as_list() == [None, 2]
    assert f.structured_outputs["scaled"].shape.as_list() == [None, 2]
    assert len(f.outputs) == 2
    assert f.name.startswith("__inference_scale_")


def test_names_of_nested_arguments():
    f = tf.function(lambda a, *rest, **named: a[0]["x"])
    one = tf.constant(1)
    made = f.get_concrete_function([{"x": one}, 3], one, one, last=one)
    assert [tensor.op.name for tensor in made.inputs] == ["a_0_x", "rest_0", "rest_1", "last"]


def test_as_text():
    made = tf.function(lambda x, factor, *, flag=True: x * factor[0])
    f = made.get_concrete_function(tf.TensorSpec([2], tf.float32), [tf.TensorSpec([], tf.float32), 3, None])
    vector, number = (f"TensorSpec(shape={shape}, dtype=tf.float32, name=None)" for shape in ("(2,)", "()"))
    assert str(f).splitlines()[:4] == [
        "ConcreteFunction Input Parameters:",
        f"  x (POSITIONAL_OR_KEYWORD): {vector}",
        f"  factor (POSITIONAL_OR_KEYWORD): List[{number}, Literal[3], Literal[None]]",
        "  flag (KEYWORD_ONLY): Literal[True]",
    ]
    assert repr(f).startswith(f"<ConcreteFunction (x: {vector}, factor: List[{number}, Literal[3], Literal[None]]")
    assert made.pretty_printed_concrete_signatures() == f.pretty_printed_signature()


def test_as_text_as_tensorflow_prints_it():
    """Recorded from TensorFlow 2.21."""
    f = tf.function(lambda a, b, k=3: {"r": a + 1.0, "l": [b]})
    made = f.get_concrete_function(tf.TensorSpec([None, 2], tf.float32), tf.TensorSpec([], tf.int32, name="bb"))
    a, b = "TensorSpec(shape=(None, 2), dtype=tf.float32, name=None)", "TensorSpec(shape=(), dtype=tf.int32, name='bb')"
    l = "TensorSpec(shape=(), dtype=tf.int32, name=None)"  # noqa: E741
    assert made.pretty_printed_signature() == (
        f"Input Parameters:\n  a (POSITIONAL_OR_KEYWORD): {a}\n  b (POSITIONAL_OR_KEYWORD): {b}\n"
        "  k (POSITIONAL_OR_KEYWORD): Literal[3]\n"
        f"Output Type:\n  Dict[['l', List[{l}]], ['r', {a}]]\nCaptures:\n  None"
    )


def test_variables_it_uses():
    v, w = tf.Variable(1.0), tf.Variable(2.0, trainable=False)
    made = tf.function(lambda x: x * v + w + v).get_concrete_function(FLOAT)
    assert all(a is b for a, b in zip(made.variables, (v, w), strict=True))
    assert all(a is b for a, b in zip(made.trainable_variables, (v,), strict=True))


def test_inside_another_function():
    f = subtract.get_concrete_function(FLOAT, FLOAT)

    @tf.function
    def g(x):
        return f(x, 1.0) + f(x, x)

    assert float(g(tf.constant(5.0))) == 4.0
    made = g.get_concrete_function(FLOAT)
    made.graph.verify()
    assert len([node for node in made.graph.operations if node.type == "PartitionedCall"]) == 2


def test_tensors_of_a_structure_may_be_given_one_after_the_other_but_no_numbers():
    total = tf.function(lambda parts, y=5: parts["a"] + parts["b"])
    concrete = total.get_concrete_function({"a": tf.constant(1), "b": tf.constant(1)})
    assert concrete(tf.constant(1), tf.constant(5)).numpy() == 6
    with pytest.raises(TypeError, match="Binding inputs"):
        concrete(tf.constant(1), 5)  # which is y, and no part
