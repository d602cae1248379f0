"""One rule for structures: whatever takes tensors in one takes them in all, and gives them back in the same class."""

from __future__ import annotations

import dataclasses
import types
from collections import ChainMap, OrderedDict, UserDict, UserList, defaultdict, deque, namedtuple

import numpy as np
import pytest

import situs as tf
import situs.compat.v1 as v1

Pair = namedtuple("Pair", ["x", "y"])


@dataclasses.dataclass
class Custom:
    """A class that says itself what it is made of."""

    x: object
    y: object
    title: str = "title"

    def __tf_flatten__(self):
        return (self.title,), (self.x, self.y)

    @classmethod
    def __tf_unflatten__(cls, metadata, components):
        return cls(*components, *metadata)


class Attributed:
    """As a class of the attrs library: it lists its fields."""

    __attrs_attrs__ = (types.SimpleNamespace(name="x"), types.SimpleNamespace(name="y"))

    def __init__(self, x, y):
        self.x, self.y = x, y


class Own(dict):
    """A dictionary of a program."""


MAKERS = {
    "dict": lambda x, y: {"y": y, "x": x},
    "OrderedDict": lambda x, y: OrderedDict(y=y, x=x),
    "defaultdict": lambda x, y: defaultdict(list, y=y, x=x),
    "a subclass of dict": lambda x, y: Own(y=y, x=x),
    "UserDict": lambda x, y: UserDict(y=y, x=x),
    "ChainMap": lambda x, y: ChainMap({"y": y}, {"x": x}),
    "mappingproxy": lambda x, y: types.MappingProxyType({"y": y, "x": x}),
    "list": lambda x, y: [x, y],
    "tuple": lambda x, y: (x, y),
    "namedtuple": Pair,
    "deque": lambda x, y: deque([x, y]),
    "UserList": lambda x, y: UserList([x, y]),
    "attrs": Attributed,
    "__tf_flatten__": Custom,
    "nested": lambda x, y: UserDict(y=[y], x=(x,)),
}
LISTS = {"list", "deque", "UserList"}


@pytest.fixture(params=MAKERS)
def maker(request):
    return MAKERS[request.param]


def numbers(structure):
    return [float(leaf) for leaf in tf.nest.flatten(structure)]


def check_same(made, like, expected):
    assert type(made) is type(like)
    assert numbers(made) == expected
    if hasattr(like, "keys"):
        assert list(made) == list(like)


def test_nest(maker):
    given = maker(1.0, 2.0)
    assert tf.nest.is_nested(given)
    check_same(tf.nest.map_structure(lambda v: v + 1, given), given, [2.0, 3.0])


def test_functions_take_and_give_them(maker):
    double = tf.function(lambda s: tf.nest.map_structure(lambda v: 2.0 * v, s))
    given = maker(tf.constant(1.0), tf.constant(2.0))
    made = double(given)
    assert type(made) is (dict if type(given) is defaultdict else type(given))  # as in TensorFlow
    assert numbers(made) == [2.0, 4.0]
    assert numbers(double(maker(tf.constant(5.0), tf.constant(6.0)))) == [10.0, 12.0]
    assert double.experimental_get_tracing_count() == 1


def test_functions_see_what_changed():
    calls = tf.function(lambda d: d["x"] * 2.0)
    for given in (UserDict(x=2.0), ChainMap({"x": 2.0}), defaultdict(list, x=2.0)):
        assert float(calls(given)) == 4.0
        given["x"] = 50.0
        assert float(calls(given)) == 100.0


@pytest.mark.parametrize("build", [lambda f: f, tf.function], ids=["eager", "function"])
def test_control_flow(maker, build):
    given = maker(tf.constant(1.0), tf.constant(2.0))

    def run():
        chosen = tf.cond(tf.constant(True), lambda: maker(given_x, 3.0), lambda: maker(given_x, 4.0))
        looped = tf.while_loop(
            lambda n, s: n < 3, lambda n, s: (n + 1, tf.nest.map_structure(lambda v: v * 2.0, s)), (0, given)
        )
        return numbers_of(chosen), numbers_of(looped[1]), type(chosen), type(looped[1])

    given_x = tf.constant(1.0)
    kinds = []

    def numbers_of(structure):
        kinds.append(type(structure))
        return tf.stack(tf.nest.flatten(tf.nest.map_structure(tf.convert_to_tensor, structure)))

    chosen, looped = build(lambda: run()[:2])()
    assert chosen.numpy().tolist() == [1.0, 3.0]
    assert looped.numpy().tolist() == [8.0, 16.0]
    assert set(kinds) == {type(given)}


def test_rows(maker):
    elems = maker(tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0]))
    mapped = tf.map_fn(lambda row: tf.nest.map_structure(lambda v: v + 1.0, row), elems)
    assert type(mapped) is type(elems)
    assert np.array(tf.nest.flatten(mapped)).tolist() == [[2.0, 3.0], [4.0, 5.0]]
    summed = tf.scan(lambda s, row: s + tf.add_n(tf.nest.flatten(row)), elems, initializer=0.0)
    assert summed.numpy().tolist() == [4.0, 10.0]


def test_gradients(maker):
    sources = maker(tf.constant(1.0), tf.constant(2.0))
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(sources)
        x, y = tf.nest.flatten(sources)
        target = x * x + y * 3.0
    check_same(tape.gradient(target, sources), sources, [2.0, 3.0])
    assert float(tape.gradient(maker(target, target), x)) == 4.0


def test_fetches(maker):
    with tf.Graph().as_default(), v1.Session() as session:
        fetches = maker(tf.constant(1.0), tf.constant(2.0))
        for _ in range(2):  # the second time it is found prepared
            check_same(session.run(fetches), fetches, [1.0, 2.0])


@pytest.mark.parametrize("name", [name for name in MAKERS if name not in LISTS and name != "nested"])
def test_datasets(name):
    dataset = tf.data.Dataset.from_tensor_slices(MAKERS[name]([1.0, 2.0], [3.0, 4.0]))
    made = [numbers(element) for element in dataset]
    assert made == [[1.0, 3.0], [2.0, 4.0]]
    assert type(dataset.element_spec) is type(MAKERS[name](0, 0))
    again = tf.data.Dataset.range(2).map(lambda v: MAKERS[name](v, v + 1))
    assert [numbers(element) for element in again] == [[0.0, 1.0], [1.0, 2.0]]


def test_feeds_of_any_mapping():
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32)
        for feed in (UserDict({x: 2.0}), types.MappingProxyType({x: 2.0}), ChainMap({x: 2.0})):
            assert session.run(x * 2.0, feed) == 4.0


def test_branches_may_give_mappings_of_different_classes():
    one = tf.constant(1.0)
    pick = tf.function(lambda p: tf.cond(p, lambda: {"a": one}, lambda: OrderedDict(a=one + 1.0)))
    assert float(pick(tf.constant(False))["a"]) == 2.0


def test_branches_may_give_arrays_and_nothing():
    @tf.function
    def pick(p):
        array = tf.TensorArray(tf.float32, size=1)
        return tf.cond(p, lambda: array.write(0, 2.0), lambda: array.write(0, 3.0)).stack()

    assert [pick(tf.constant(p)).numpy().tolist() for p in (True, False)] == [[2.0], [3.0]]
    assert tf.function(lambda p: tf.cond(p, lambda: None, lambda: None))(tf.constant(True)) is None


def test_modules_look_into_any_structure(maker):
    module = tf.Module()
    module.parts = maker(tf.Variable(1.0), tf.Variable(2.0))
    assert [float(v) for v in module.trainable_variables] == [1.0, 2.0]


def test_the_order_of_keys_is_that_of_the_fetches():
    with tf.Graph().as_default(), v1.Session() as session:
        a = tf.constant(1.0)
        assert [list(session.run(f)) for f in ({"a": a, "b": a}, {"b": a, "a": a})] == [["a", "b"], ["b", "a"]]


def test_a_class_that_cannot_be_made_again_is_named():
    class Odd(dict):
        def __init__(self, first, second):
            super().__init__(a=first)

    with pytest.raises(TypeError, match="A Odd cannot be made of its parts again"):
        tf.nest.map_structure(lambda v: v, Odd(1, 2))


def test_what_a_class_needs_besides_may_be_a_list():
    same = tf.function(lambda given: given)
    for titles in (["a"], ["b"]):
        assert same(Custom(tf.constant(1.0), tf.constant(2.0), titles)).title == titles
