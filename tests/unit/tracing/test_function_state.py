"""What a ``tf.function`` uses from outside: tensors, variables, random numbers, Python's own state."""

from __future__ import annotations

import gc
import pickle
import weakref

import pytest

import situs as tf


def numbers(*tensors):
    return [float(tensor) for tensor in tensors]


def test_tensors_from_outside_are_those_of_the_time_of_tracing():
    x = tf.constant(3.0)

    @tf.function
    def f(y):
        return x + y

    assert float(f(tf.constant(1.0))) == 4.0
    x = tf.constant(100.0)
    assert float(f(tf.constant(1.0))) == 4.0
    assert f(tf.constant([1.0])).numpy().tolist() == [101.0]


def test_python_values_from_outside_are_those_of_the_time_of_tracing():
    factor = 3

    @tf.function
    def f(y):
        return y * factor

    assert int(f(tf.constant(2))) == 6
    factor = 10
    assert int(f(tf.constant(2))) == 6


def test_python_runs_when_a_graph_is_made(capsys):
    seen = []

    @tf.function
    def f(x):
        print("python", x.shape)
        seen.append(x)
        tf.print("graph", x)
        return x

    f(tf.constant(1))
    f(tf.constant(2))
    out, err = capsys.readouterr()
    assert out.count("python") == 1
    assert (out + err).count("graph") == 2
    assert len(seen) == 1


def test_a_tensor_that_leaks_out_is_refused():
    kept = []

    @tf.function
    def f(x):
        kept.append(x * 2)
        return x

    f(tf.constant(1))
    with pytest.raises(TypeError, match="out of scope"):
        kept[0] + 1
    with pytest.raises(TypeError, match="out of scope"):
        tf.function(lambda x: x + kept[0])(tf.constant(1))


# Variables.


def test_reads_and_assignments_keep_their_order():
    v = tf.Variable(1.0)

    @tf.function
    def f():
        before = v + 0.0
        v.assign_add(1.0)
        between = v + 0.0
        v.assign(between * 10.0)
        after = v * 1.0
        v.assign_sub(1.0)
        return before, between, after

    assert numbers(*f(), v) == [1.0, 2.0, 20.0, 19.0]
    assert numbers(*f(), v) == [19.0, 20.0, 200.0, 199.0]


def test_assignments_nobody_waits_for_happen():
    v = tf.Variable(1.0)

    @tf.function
    def f(x):
        v.assign_add(x)
        return x

    f(tf.constant(2.0))
    f(tf.constant(3.0))
    assert float(v) == 6.0


def test_two_variables_in_turn():
    v, w = tf.Variable(1.0), tf.Variable(2.0)

    @tf.function
    def f():
        v.assign(w + 1.0)
        w.assign(v + 1.0)
        return v + w

    assert numbers(f(), f()) == [7.0, 11.0]


def test_an_assignment_returns_what_the_variable_holds_then():
    v = tf.Variable(3.0)
    f = tf.function(lambda: v.assign_add(1.0))
    assert numbers(f(), f(), v) == [4.0, 5.0, 5.0]


def test_eager_code_and_functions_share_a_variable():
    v = tf.Variable([1.0, 2.0])
    f = tf.function(lambda: v * 2.0)
    assert f().numpy().tolist() == [2.0, 4.0]
    v.assign([3.0, 4.0])
    assert f().numpy().tolist() == [6.0, 8.0]


def test_assignments_in_the_branch_that_is_taken():
    v = tf.Variable(0.0)

    @tf.function
    def f(p):
        tf.cond(p, lambda: v.assign_add(1.0), lambda: v.assign_sub(10.0))
        return v * 1.0

    assert numbers(f(tf.constant(True)), f(tf.constant(False)), v) == [1.0, -9.0, -9.0]


def test_assignments_in_every_turn_of_a_loop():
    v = tf.Variable(0.0)

    @tf.function
    def f(n):
        while v < n:
            v.assign_add(2.0)
        return v * 1.0

    assert numbers(f(tf.constant(5.0)), f(tf.constant(0.0)), v) == [6.0, 6.0, 6.0]


def test_a_variable_of_open_shape_grows():
    v = tf.Variable([1.0, 2.0], shape=[None])

    @tf.function
    def f():
        v.assign(tf.concat([v, v], 0))
        return tf.size(v)

    assert numbers(f(), f()) == [4.0, 8.0]


def test_wrong_assignments_are_refused_while_the_graph_is_made():
    v = tf.Variable([1.0, 2.0])
    f = tf.function(lambda x: v.assign(x))
    with pytest.raises(ValueError, match=r"[Ss]hape"):
        f(tf.constant([1.0]))
    with pytest.raises(ValueError, match="float"):
        f(tf.constant([1, 2]))
    assert f(tf.constant([5.0, 6.0])).numpy().tolist() == [5.0, 6.0]


def test_variables_as_arguments():
    @tf.function
    def f(v):
        v.assign_add(1.0)
        return v + 0.0

    a, b = tf.Variable(1.0), tf.Variable(10.0)
    assert numbers(f(a), f(a), f(b), f(a), a, b) == [2.0, 3.0, 11.0, 4.0, 4.0, 11.0]


# Variables that are made inside.


def test_a_variable_made_on_the_first_call():
    made = []

    @tf.function
    def f(x):
        if not made:
            made.append(tf.Variable(1.0))
        made[0].assign_add(x)
        return made[0] * 1.0

    assert numbers(*(f(tf.constant(float(n))) for n in (1, 2, 3))) == [2.0, 4.0, 7.0]
    assert len(made) == 1
    assert f.experimental_get_tracing_count() == 2  # once to make it, once to see that no more are made


@pytest.mark.parametrize(
    "initial",
    [
        lambda x: [1.0, 2.0],
        lambda x: lambda: tf.constant([1.0, 2.0]),
        lambda x: tf.constant([1.0, 2.0]),
        lambda x: tf.range(2.0) + 1.0,
        lambda x: tf.stack([x / 3.0, x - 1.0]),
    ],
    ids=["a list", "a function", "a constant", "computed", "from an argument"],
)
def test_first_values(initial):
    made = []

    @tf.function
    def f(x):
        if not made:
            made.append(tf.Variable(initial(x)))
        return made[0] * x

    assert f(tf.constant(3.0)).numpy().tolist() == [3.0, 6.0]


def test_random_first_values_are_drawn_once():
    made = []

    @tf.function
    def f():
        if not made:
            made.append(tf.Variable(tf.random.normal([100])))
        return made[0] + 0.0

    assert f().numpy().tolist() == f().numpy().tolist() == made[0].numpy().tolist()


def test_a_first_value_that_is_not_known():
    made = []

    @tf.function
    def f(x):
        if not made:
            made.append(tf.Variable(x * 2.0))
        return made[0]

    with pytest.raises(ValueError, match="depends on an argument, of which only the shape is known"):
        f.get_concrete_function(tf.TensorSpec([], tf.float32))
    assert float(f(tf.constant(2.0))) == 4.0


def test_rows_of_a_variable():
    v = tf.Variable([1.0, 2.0])
    f = tf.function(lambda: [row + 0.0 for row in v], autograph=False)
    assert numbers(*f()) == [1.0, 2.0]
    v.assign([3.0, 4.0])
    assert numbers(*f()) == [3.0, 4.0]


def test_assignments_in_a_group():
    v = tf.Variable(1.0)
    f = tf.function(lambda: tf.group(v.assign_add(1.0), v.assign_add(2.0)))
    assert f() is None
    assert float(v) == 4.0


def test_a_variable_made_every_time_is_refused():
    with pytest.raises(ValueError, match=r"only supports singleton tf\.Variables created on the first call"):
        tf.function(lambda x: tf.Variable(1.0) + x)(tf.constant(1.0))


def test_a_variable_made_on_a_later_call_is_refused():
    made = []

    @tf.function
    def f(x, more):
        if more or not made:
            made.append(tf.Variable(1.0))
        return made[0] + x

    f(tf.constant(1.0), False)
    with pytest.raises(ValueError, match=r"created on the first call.*f\(\) makes one every time"):
        f(tf.constant(1.0), True)
    assert float(f(tf.constant(2.0), False)) == 3.0


def test_eager_code_inside_may_make_variables():
    @tf.function
    def f(x):
        with tf.init_scope():
            return x + tf.Variable(2.0).numpy()

    assert float(f(tf.constant(1.0))) == 3.0
    assert f(tf.constant([1.0])).numpy().tolist() == [3.0]


def test_a_variable_of_an_object():
    class Layer:
        def __init__(self):
            self.w = None

        @tf.function
        def __call__(self, x):
            if self.w is None:
                self.w = tf.Variable([[2.0], [3.0]])
            return tf.matmul(x, self.w)

    a, b = Layer(), Layer()
    assert a(tf.constant([[1.0, 1.0]])).numpy().tolist() == [[5.0]]
    a.w.assign([[1.0], [1.0]])
    assert a(tf.constant([[1.0, 1.0]])).numpy().tolist() == [[2.0]]
    assert b(tf.constant([[1.0, 1.0]])).numpy().tolist() == [[5.0]]


def test_a_function_keeps_its_variables_alive():
    """Unlike other objects: the graph cannot run without them."""

    def make():
        v = tf.Variable(5.0)
        return tf.function(lambda: v + 1.0)

    f = make()
    gc.collect()
    assert float(f()) == 6.0


def test_a_function_is_let_go_with_all_that_it_holds():
    def use():
        v = tf.Variable(5.0)
        tf.function(lambda x: v + x)(tf.constant(1.0))
        return weakref.ref(v)

    gone = use()
    gc.collect()
    gc.collect()  # the first lets go of the program, and with it of the plan that says where an error was
    assert gone() is None


# Random numbers.


def test_random_numbers_differ_from_call_to_call():
    f = tf.function(lambda: tf.random.uniform([]))
    assert len({float(f()) for _ in range(5)}) == 5


def test_random_numbers_follow_the_seed():
    tf.random.set_seed(5)
    f = tf.function(lambda: tf.random.uniform([]))
    found = [numbers(f(), f())]
    for made in (f, f, tf.function(lambda: tf.random.uniform([]))):
        tf.random.set_seed(5)
        found.append(numbers(made(), made()))
    assert found == [found[0]] * 4
    assert found[0][0] != found[0][1]


def test_a_function_made_without_a_seed_stays_unpredictable():
    tf.random.set_seed(None)
    f = tf.function(lambda: tf.random.uniform([]))
    f()
    found = []
    for _ in range(2):
        tf.random.set_seed(5)
        found.append(float(f()))
    tf.random.set_seed(None)
    assert found[0] != found[1]


def test_seeds_of_operations():
    def draw():
        f = tf.function(lambda: (tf.random.uniform([], seed=3), tf.random.uniform([], seed=4)))
        tf.random.set_seed(5)
        return numbers(*f()), numbers(*f())

    first, second = draw()
    assert first[0] != first[1]
    assert first != second
    assert draw() == (first, second)


def test_init_scope_keeps_the_name_scope():
    made = []

    @tf.function
    def make():
        with tf.name_scope("foo"):
            if not made:
                with tf.init_scope():
                    made.append(tf.Variable(0.0, name="bar"))

    make()
    assert made[0].name == "foo/bar:0"


def test_a_variable_that_a_function_makes_in_a_graph_has_its_name_scope():
    made = []
    with tf.Graph().as_default() as graph:

        @tf.function
        def make():
            with tf.name_scope("foo"):
                if not made:
                    made.append(tf.compat.v1.Variable(0.0, name="bar"))
                with tf.init_scope():
                    made.append(tf.constant(1.0, name="x"))

        with tf.name_scope("outside"):
            make()
    assert [each.name for each in made[:2]] == ["foo/bar:0", "foo/x:0"]
    assert made[1].graph is graph


def tripled(x):
    return x * 3.0


def test_a_function_can_be_pickled():
    made = tf.function(tripled, input_signature=[tf.TensorSpec([], tf.float32)], reduce_retracing=True)
    copy = pickle.loads(pickle.dumps(made))
    assert (copy.input_signature, copy.name) == (made.input_signature, "tripled")
    assert float(copy(2.0)) == 6.0


def test_variables_made_by_an_inner_function_and_in_a_branch():
    made = {}

    @tf.function
    def inner(x):
        if "w" not in made:
            made["w"] = tf.Variable(tf.constant(2.0) * 3)
        return x * made["w"]

    @tf.function
    def outer(x):
        five = tf.constant(5.0)

        def branch():
            if "z" not in made:
                made["z"] = tf.Variable(five * 2)
            return made["z"] + x

        return inner(x) + tf.cond(x > 0, branch, lambda: x)

    assert float(outer(tf.constant(1.0))) == 17.0
    assert (float(made["w"]), float(made["z"])) == (6.0, 10.0)

    @tf.function
    def given(x):
        def branch():
            if "q" not in made:
                made["q"] = tf.Variable(x * 2)
            return made["q"] + 0.0

        return tf.cond(x > 0, branch, lambda: x)

    assert float(given(tf.constant(3.0))) == 6.0

    @tf.function
    def looped(x):
        def step(i):
            made["r"] = tf.Variable(i)
            return i + 1.0

        return tf.while_loop(lambda i: i < 3.0, step, [x])

    with pytest.raises(ValueError, match=r"cannot begin with .* a loop"):
        looped(tf.constant(0.0))


def test_an_inner_function_that_makes_variables_is_traced_twice_and_not_more():
    made, calls = [], []

    @tf.function
    def inner(x):
        calls.append("inner")
        if not made:
            made.append(tf.Variable(2.0))
        return x * made[0]

    @tf.function
    def outer(x):
        calls.append("outer")
        return inner(x)

    assert float(outer(tf.constant(3.0))) == 6.0
    assert calls == ["outer", "inner", "outer", "inner"]

    @tf.function
    def always(x):
        made.append(tf.Variable(1.0))
        return x

    with pytest.raises(ValueError, match="only supports singleton"):
        tf.function(lambda x: always(x))(tf.constant(1.0))
