"""``tf.optimizers``: steps, arguments, variables of their own, functions, devices, and as data."""

from __future__ import annotations

import numpy as np
import pytest

import situs as tf
import situs.compat.v1 as tf1
from situs.errors import DTypeError, InvalidArgumentError, UnimplementedError
from situs.optimizers import (
    SGD,
    Adadelta,
    Adagrad,
    Adam,
    Adamax,
    AdamW,
    Ftrl,
    Lion,
    LossScaleOptimizer,
    Nadam,
    Optimizer,
    RMSprop,
    deserialize,
    get,
    legacy,
    schedules,
    serialize,
)

KINDS = [SGD, RMSprop, Adagrad, Adadelta, Ftrl, Lion, Adam, AdamW, Adamax, Nadam]
each = pytest.mark.parametrize("kind", KINDS)


def quadratic(*variables):
    return lambda: tf.add_n([tf.reduce_sum(v * v) for v in variables])


# Steps.


@each
def test_the_loss_becomes_less(kind, on_device):
    a, b = tf.Variable([1.0, -2.0]), tf.Variable(3.0)
    optimizer, loss = kind(0.01), quadratic(a, b)
    first = float(loss())
    for _ in range(20):
        optimizer.minimize(loss, [a, b])
    assert float(loss()) < first
    assert int(optimizer.iterations) == 20
    slots = [v for v in optimizer.variables if v.shape.rank or "momentum" in v.name]
    assert {slot.device for slot in slots} <= {on_device}


@each
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_other_dtypes_are_trained(kind, dtype):
    v = tf.Variable(tf.constant([1.0, -2.0], dtype))
    kwargs = {"epsilon": 1e-2} if kind is Adadelta else {}
    optimizer = kind(1.0 if kind is Adadelta else 0.05, **kwargs)
    for _ in range(5):
        optimizer.apply_gradients([(v * 2.0, v)])
    value = tf.cast(v, tf.float32).numpy()
    assert np.all(np.abs(value) < [1.0, 2.0])


def test_a_step_counts_and_returns_the_count():
    v = tf.Variable(1.0)
    optimizer = SGD(0.1)
    assert optimizer.apply_gradients([(tf.constant(1.0), v)]) is optimizer.iterations
    assert int(optimizer.iterations) == 1
    optimizer.iterations.assign(41)
    optimizer.apply_gradients([(tf.constant(1.0), v)])
    assert int(optimizer.iterations) == 42


def test_a_count_that_was_set_is_what_adam_goes_by():
    def trained(start):
        v, optimizer = tf.Variable(1.0), Adam(0.1)
        optimizer.apply_gradients([(tf.constant(0.0), v)])
        optimizer.iterations.assign(start)
        optimizer.apply_gradients([(tf.constant(1.0), v)])
        return float(v)

    assert trained(1) != trained(1000)


def test_variables_of_several_devices_and_dtypes_are_trained_together():
    with tf.device("/gpu:0"):
        a = tf.Variable([1.0])
    with tf.device("/gpu:1"):
        b = tf.Variable([1.0])
    with tf.device("/cpu:0"):
        c, d = tf.Variable([1.0]), tf.Variable(np.array([1.0]))
    optimizer = Adam(0.1)
    for _ in range(3):
        optimizer.apply_gradients([(tf.constant([0.5]), v) for v in (a, b, c)] + [(np.array([0.5]), d)])
    values = [v.numpy()[0] for v in (a, b, c, d)]
    assert values == pytest.approx([values[0]] * 4, abs=5e-6)
    assert [v.device[-5:] for v in optimizer._momentums] == ["GPU:0", "GPU:1", "CPU:0", "CPU:0"]


def test_a_gradient_of_another_dtype_or_device_is_brought():
    with tf.device("/gpu:1"):
        v = tf.Variable([1.0, 2.0])
    with tf.device("/cpu:0"):
        grad = tf.constant([1.0, 1.0], tf.float64)
    SGD(0.5).apply_gradients([(grad, v)])
    assert v.numpy().tolist() == [0.5, 1.5]


def test_rows_that_are_named_twice_are_added_up():
    table = tf.Variable(np.ones((4, 2), np.float32))
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.gather(table, [1, 1, 3]))
    grad = tape.gradient(loss, table)
    assert isinstance(grad, tf.IndexedSlices)
    Adagrad(1.0, initial_accumulator_value=0.0, epsilon=0.0).apply_gradients([(grad, table)])
    assert table.numpy()[[1, 3]].tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert np.isnan(table.numpy()[0, 0])  # 0 / 0: the gradient was made whole, as in Keras


def test_values_are_written_into():
    v, optimizer = tf.Variable([1.0, 2.0]), Adam(0.1)
    grad = tf.constant([1.0, 1.0])
    optimizer.apply_gradients([(grad, v)])
    places = [x._cell.value.data_ptr() for x in (v, optimizer._momentums[0], optimizer._velocities[0])]
    kept = v.value()
    del kept
    optimizer.apply_gradients([(grad, v)])
    assert [x._cell.value.data_ptr() for x in (v, optimizer._momentums[0], optimizer._velocities[0])] == places


def test_what_was_read_before_a_step_stays_as_it_was():
    v, optimizer = tf.Variable([1.0, 2.0]), SGD(0.1)
    for _ in range(3):
        before, array = v.value(), v.numpy()
        optimizer.apply_gradients([(tf.constant([1.0, 1.0]), v)])
        assert before.numpy().tolist() == array.tolist()


def test_a_gradient_is_not_changed():
    v, m = tf.Variable([1.0, 2.0]), SGD(0.1, momentum=0.9)
    grad = tf.constant([1.0, 1.0])
    for _ in range(3):
        m.apply_gradients([(grad, v)])
    assert grad.numpy().tolist() == [1.0, 1.0]


def test_a_variable_that_is_given_twice_is_changed_twice():
    v = tf.Variable([1.0])
    SGD(0.25).apply_gradients([(tf.constant([1.0]), v), (tf.constant([1.0]), v)])
    assert v.numpy().tolist() == [0.5]


def test_apply_takes_gradients_alone_once_it_is_built():
    a, b = tf.Variable(1.0), tf.Variable(2.0)
    optimizer = SGD(0.5)
    with pytest.raises(InvalidArgumentError, match="must already be built"):
        optimizer.apply([tf.constant(1.0)])
    optimizer.build([a, b])
    optimizer.apply([tf.constant(1.0), tf.constant(2.0)])
    assert [float(a), float(b)] == [0.5, 1.0]
    with pytest.raises(InvalidArgumentError, match="Received a list of 1 gradients"):
        optimizer.apply([tf.constant(1.0)])


def test_minimize_takes_a_tensor_with_its_tape():
    v, optimizer = tf.Variable(3.0), SGD(0.5)
    with tf.GradientTape() as tape:
        loss = v * v
    optimizer.minimize(loss, [v], tape=tape)
    assert float(v) == 0.0
    optimizer.minimize(lambda: v * 2.0, lambda: [v])
    assert float(v) == -1.0
    with pytest.raises(ValueError, match="`tape` is required"):
        optimizer.minimize(v * v, [v])


def test_no_gradients():
    a, b = tf.Variable(1.0), tf.Variable(2.0, name="lonely")
    optimizer = SGD(0.5)
    with pytest.warns(UserWarning, match=r"Gradients do not exist for variables \['lonely:0'\]"):
        optimizer.apply_gradients([(tf.constant(1.0), a), (None, b)])
    assert [float(a), float(b)] == [0.5, 2.0]
    for pairs in ([], [(None, a)]):
        with pytest.raises(ValueError, match=r"No gradients provided for any variable\."):
            optimizer.apply_gradients(pairs)


def test_other_variables_need_another_optimizer():
    optimizer = SGD(0.5)
    optimizer.apply_gradients([(tf.constant(1.0), tf.Variable(1.0))])
    with pytest.raises(ValueError, match="Unknown variable"):
        optimizer.apply_gradients([(tf.constant(1.0), tf.Variable(1.0))])


# Functions.


@each
def test_optimizers_that_were_made_outside_work_in_functions(kind):
    def trained(in_function):
        a, b, optimizer = tf.Variable([1.0, -2.0]), tf.Variable(3.0), kind(0.05)

        def step(x):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(a * a * x) + b * b
            optimizer.apply_gradients(zip(tape.gradient(loss, [a, b]), [a, b], strict=True))
            return loss

        call = tf.function(step) if in_function else step
        for _ in range(10):
            call(tf.constant(0.5))
        return [*a.numpy(), float(b)], int(optimizer.iterations)

    (eager, steps), (traced, also) = trained(False), trained(True)
    assert steps == also == 10
    np.testing.assert_allclose(traced, eager, rtol=1e-5, atol=1e-6)


def test_the_updates_of_a_function_are_one_call():
    values = [tf.Variable([float(n)]) for n in range(5)]
    optimizer = Adam(0.1)

    @tf.function
    def step():
        optimizer.apply_gradients([(v * 2.0, v) for v in values])

    step()
    (ready,) = step.get_concrete_function()._programs.values()
    calls = [call for call in ready._program.plan.calls if call.node is not None and call.node.type == "ApplyAdamW"]
    assert len(calls) == 1


def test_a_learning_rate_that_is_set_holds_in_functions():
    v, optimizer = tf.Variable(1.0), SGD(0.5)
    step = tf.function(lambda: optimizer.apply_gradients([(tf.constant(1.0), v)]))
    step()
    optimizer.learning_rate = 0.25
    step()
    assert float(v) == 0.25


def test_eager_steps_and_those_of_functions_may_take_turns():
    v, optimizer = tf.Variable(1.0), Adam(0.1)
    w, other = tf.Variable(1.0), Adam(0.1)

    @tf.function
    def step():
        optimizer.apply_gradients([(v * 2.0, v)])

    for _ in range(3):
        step()
        optimizer.apply_gradients([(v * 2.0, v)])
        for _ in range(2):
            other.apply_gradients([(w * 2.0, w)])
    assert float(v) == pytest.approx(float(w), abs=3e-6)
    assert int(optimizer.iterations) == 6


def test_a_python_function_between_updates_sees_what_was_changed_before_it():
    a, b, seen = tf.Variable([0.0]), tf.Variable([1.0]), []
    optimizer = SGD(0.5)
    optimizer.build([a, b])

    @tf.function
    def step():
        optimizer.apply_gradients([(tf.constant([1.0]), a)])
        tf.py_function(lambda: seen.append(float(a.numpy()[0])), [], [])
        optimizer.apply_gradients([(tf.constant([1.0]), b)])

    step()
    step()
    assert seen == [-0.5, -1.0]
    assert b.numpy().tolist() == [0.0]


# Arguments.


@pytest.mark.parametrize(
    "make",
    [
        lambda: 0.5,
        lambda: np.float32(0.5),
        lambda: tf.constant(0.5),
        lambda: tf.Variable(0.5),
        lambda: lambda: 0.5,
        lambda: lambda: tf.constant(0.5),
    ],
)
def test_learning_rates_of_all_kinds(make):
    v = tf.Variable(1.0)
    SGD(make()).apply_gradients([(tf.constant(1.0), v)])
    assert float(v) == 0.5


def test_a_schedule_is_asked_in_every_step():
    class Halving(schedules.LearningRateSchedule):
        def __call__(self, step):
            return 0.5 ** tf.cast(step, tf.float32)

    for schedule in (Halving(), schedules.ExponentialDecay(1.0, 1, 0.5)):
        v, optimizer = tf.Variable(0.0), SGD(schedule)
        seen = []
        for _ in range(3):
            seen.append(float(optimizer.learning_rate))
            optimizer.apply_gradients([(tf.constant(1.0), v)])
        assert seen == [1.0, 0.5, 0.25]
        assert float(v) == -1.75


def test_the_learning_rate_can_be_set_unless_a_schedule_gives_it():
    optimizer = SGD(0.5)
    optimizer.learning_rate = 0.25
    assert float(optimizer.learning_rate) == float(optimizer.lr) == 0.25
    optimizer.learning_rate.assign(0.125)
    assert float(optimizer.lr) == 0.125
    optimizer.learning_rate = schedules.ExponentialDecay(1.0, 1, 0.5)
    assert float(optimizer.learning_rate) == 1.0
    with pytest.raises(TypeError, match="not settable"):
        optimizer.learning_rate = 0.5


def test_gradients_are_clipped():
    grads = [tf.constant([3.0, 4.0]), tf.constant([0.0, 12.0])]
    for arguments, expected in (
        ({"clipnorm": 1.0}, [[-0.6, -0.8], [0.0, -1.0]]),
        ({"clipvalue": 2.0}, [[-2.0, -2.0], [0.0, -2.0]]),
        ({"global_clipnorm": 1.3}, [[-0.3, -0.4], [0.0, -1.2]]),
    ):
        values = [tf.Variable([0.0, 0.0]) for _ in grads]
        SGD(1.0, **arguments).apply_gradients(zip(grads, values, strict=True))
        np.testing.assert_allclose([v.numpy() for v in values], expected, rtol=1e-6)


@pytest.mark.parametrize("kind", [SGD, Adam, AdamW])
def test_weight_decay_leaves_out_what_it_is_told_to(kind):
    a, b, c = tf.Variable(1.0, name="kernel"), tf.Variable(1.0, name="bias"), tf.Variable(1.0, name="other")
    optimizer = kind(0.1, weight_decay=0.5)
    optimizer.exclude_from_weight_decay(var_list=[c], var_names=["bi.s"])
    optimizer.apply_gradients([(tf.constant(0.0), v) for v in (a, b, c)])
    assert [float(a), float(b), float(c)] == pytest.approx([0.95, 1.0, 1.0])
    with pytest.raises(ValueError, match="before the optimizer is built"):
        optimizer.exclude_from_weight_decay(var_names=["x"])


def test_averages_are_kept_and_taken():
    v = tf.Variable(0.0)
    optimizer = SGD(1.0, use_ema=True, ema_momentum=0.5)
    for _ in range(3):
        optimizer.apply_gradients([(tf.constant(-1.0), v)])
    optimizer.finalize_variable_values([v])
    assert float(v) == 2.25  # 1, then halfway to 2, then halfway to 3


@pytest.mark.parametrize("in_function", [False, True])
def test_averages_count_changes_where_gradients_are_gathered(in_function):
    """The figures are those of Keras, which computes with the number of changes, not of steps."""
    v = tf.Variable(0.0)
    optimizer = SGD(1.0, use_ema=True, ema_momentum=0.5, gradient_accumulation_steps=2, ema_overwrite_frequency=2)

    def step():
        optimizer.apply([tf.constant(-4.0)], [v])

    optimizer.build([v])
    step = tf.function(step) if in_function else step
    found = []
    for _ in range(4):
        step()
        found.append((float(v), float(optimizer._averages[0])))
    # The average becomes the variable in the first round; in the second, the variable becomes the average twice.
    assert found == [(0.0, 0.0), (4.0, 4.0), (4.0, 4.0), (6.0, 6.0)]


def test_gradients_are_gathered_before_a_change():
    v = tf.Variable(0.0)
    optimizer = SGD(1.0, gradient_accumulation_steps=3)
    seen = []
    for grad in (1.0, 2.0, 6.0, 1.0):
        optimizer.apply_gradients([(tf.constant(grad), v)])
        seen.append(float(v))
    assert seen == [0.0, 0.0, -3.0, -3.0]
    assert int(optimizer.iterations) == 1


def test_a_loss_that_was_scaled_is_scaled_back():
    v, optimizer = tf.Variable(0.0), SGD(1.0, loss_scale_factor=8.0)
    assert float(optimizer.scale_loss(tf.constant(2.0))) == 16.0
    optimizer.apply_gradients([(tf.constant(8.0), v)])
    assert float(v) == -1.0


def test_a_constraint_holds_after_the_step():
    v = tf.Variable([1.0, -1.0], constraint=lambda x: tf.maximum(x, 0.0))
    SGD(0.1).apply_gradients([(tf.constant([1.0, 1.0]), v)])
    assert v.numpy().tolist() == pytest.approx([0.9, 0.0])


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: SGD("fast"), "Argument `learning_rate` should be float"),
        (lambda: SGD([0.1, 0.2]), "Argument `learning_rate` should be float"),
        (lambda: SGD(None), "Argument `learning_rate` should be float"),
        (lambda: SGD(True), "Argument `learning_rate` should be float"),
        (lambda: SGD(0.1, momentum=2.0), "`momentum` must be a float between"),
        (lambda: SGD(0.1, momentum="a"), "`momentum` must be a float between"),
        (lambda: SGD(0.1, clipnorm=1.0, clipvalue=1.0), "Only one of `clipnorm`, `clipvalue`"),
        (lambda: SGD(0.1, foo=1), "not recognized: {'foo': 1}"),
        (lambda: SGD(0.1, use_ema=True, ema_momentum=2.0), "`ema_momentum` must be in the range"),
        (lambda: SGD(0.1, use_ema=True, ema_overwrite_frequency=0.5), "`ema_overwrite_frequency` must be an integer"),
        (lambda: SGD(0.1, gradient_accumulation_steps=1), "`gradient_accumulation_steps` must be an integer >= 2"),
        (lambda: AdamW(0.1, weight_decay=None), "`weight_decay` must be a float"),
        (lambda: Ftrl(0.1, learning_rate_power=0.5), "`learning_rate_power` needs to be negative"),
        (lambda: Ftrl(0.1, l1_regularization_strength=-0.5), "`l1_regularization_strength` needs to be positive"),
        (lambda: Lion(0.1, beta_1=0.0), "`beta_1` must be in"),
        (lambda: Ftrl(0.1, learning_rate_power="a"), "`learning_rate_power` must be a number"),
        (lambda: Ftrl(0.1, l1_regularization_strength=None), "`l1_regularization_strength` must be a number"),
        (lambda: Lion(0.1, beta_1="a"), "`beta_1` must be a number"),
        (lambda: SGD(0.1, use_ema=True, ema_momentum="a"), "`ema_momentum` must be a number"),
        (lambda: SGD(0.1, gradient_accumulation_steps=2.5), "`gradient_accumulation_steps` must be an integer >= 2"),
        (lambda: SGD(0.1).set_weights([1]), "has not yet been built"),
        (lambda: SGD(lambda: "a").apply([tf.constant(1.0)], [tf.Variable(1.0)]), "alpha is not a number: 'a'"),
        (lambda: SGD(schedules.CosineDecay(None, 10)).apply([tf.constant(1.0)], [tf.Variable(1.0)]), "got None"),
        (lambda: RMSprop(rho="a").build([]), "`rho` must be a number"),
        (lambda: SGD(0.1).apply_gradients(None), "Expected a list of pairs of a gradient"),
        (lambda: SGD(0.1).apply_gradients([1, 2]), "Expected a list of pairs of a gradient"),
        (lambda: SGD(0.1).apply(None), "Expected a list of gradients"),
        (lambda: SGD(0.1).apply([tf.constant(1.0)], 3), "Expected a list of variables"),
        (lambda: SGD(0.1).apply([tf.constant(1.0)], [tf.Variable(1.0), tf.Variable(2.0)]), "one gradient, got 1 for 2"),
        (lambda: SGD(0.1).exclude_from_weight_decay(var_names="bias"), "is a list of regular expressions"),
        (lambda: SGD(0.1).exclude_from_weight_decay(var_names=["("]), "are regular expressions"),
        (lambda: SGD(0.1, use_ema=True).finalize_variable_values([tf.Variable(1.0)]), "Unknown variable"),
    ],
)
def test_mistakes_are_named(call, text):
    with pytest.raises(ValueError, match=text):
        call()


def test_the_old_argument_decay_does_nothing():
    with pytest.warns(UserWarning, match="`decay` is no longer supported"):
        SGD(0.1, decay=0.5)


def test_what_is_no_variable_is_not_trained():
    with pytest.raises(DTypeError, match="Optimizers change variables"):
        SGD(0.1).apply_gradients([(tf.constant(1.0), tf.constant(1.0))])
    with tf1.Graph().as_default():
        v = tf1.Variable(1.0)
        with pytest.raises(UnimplementedError, match=r"tf\.compat\.v1\.train"):
            SGD(0.1)
    with pytest.raises(UnimplementedError, match=r"tf\.compat\.v1\.train"):
        SGD(0.1).apply_gradients([(tf.constant(1.0), v)])


@pytest.mark.parametrize("value", [1, "a", True])
def test_what_has_no_gradient_is_not_trained(value):
    v = tf.Variable(value)
    for optimizer in (SGD(0.1), tf1.train.GradientDescentOptimizer(0.1)):
        with pytest.raises(DTypeError, match=f"floating-point variables, and 'Variable:0' is {v.dtype.name}"):
            optimizer.apply_gradients([(tf.constant(value), v)])
    assert v.numpy() == tf.constant(value).numpy()


def test_a_gradient_of_another_shape_is_an_error():
    v = tf.Variable([1.0, 2.0])
    with pytest.raises(InvalidArgumentError, match=r"same shape\[2\] \[3\]"):
        SGD(0.1).apply_gradients([(tf.constant([1.0, 2.0, 3.0]), v)])
    assert v.numpy().tolist() == [1.0, 2.0]


# Classes of one's own.


class Sign(Optimizer):
    """Steps of one length."""

    def build(self, variables):
        super().build(variables)
        self.turns = [self.add_variable_from_reference(v, "turns") for v in variables]

    def update_step(self, gradient, variable, learning_rate):
        self.assign_sub(variable, tf.sign(gradient) * learning_rate)
        self.assign_add(self.turns[self._get_variable_index(variable)], tf.ones_like(gradient))


class Twice(SGD):
    """Changes variables twice."""

    def update_step(self, gradient, variable, learning_rate):
        super().update_step(gradient, variable, learning_rate)
        super().update_step(gradient, variable, learning_rate)


@pytest.mark.parametrize("in_function", [False, True])
def test_a_class_of_ones_own_is_called_for_each_variable(in_function):
    a, b, optimizer = tf.Variable([1.0, -1.0]), tf.Variable(0.5), Sign(0.25)
    step = lambda: optimizer.apply_gradients([(a * 3.0, a), (b * 3.0, b)])  # noqa: E731
    call = tf.function(step) if in_function else step
    call()
    call()
    assert a.numpy().tolist() == [0.5, -0.5]
    assert float(b) == 0.0
    assert [v.numpy().tolist() for v in optimizer.turns] == [[2.0, 2.0], 2.0]


def test_a_method_that_is_overridden_is_called():
    v = tf.Variable(1.0)
    Twice(0.25).apply_gradients([(tf.constant(1.0), v)])
    assert float(v) == 0.5


# Variables of their own, and as data.


def test_the_variables_are_listed_in_order_with_names():
    w = tf.Variable([1.0, 2.0], name="w")
    optimizer = Adam(0.1, name="my")
    optimizer.build([w])
    assert [v.name for v in optimizer.variables] == [
        "my/iteration:0",
        "my/learning_rate:0",
        "my/w_0_momentum:0",
        "my/w_0_velocity:0",
    ]
    assert optimizer.variables[0].dtype is tf.int64


def test_names_are_made_of_classes_and_numbers():
    first, second = Nadam(), Nadam()
    assert first.name.startswith("nadam")
    assert second.name != first.name
    assert AdamW().name.startswith("adam_w")
    assert RMSprop().name.startswith("rm_sprop")


@each
def test_an_optimizer_is_made_again_from_its_config(kind):
    optimizer = kind(0.25, clipnorm=2.0)
    config = optimizer.get_config()
    again = kind.from_config(config)
    assert again.get_config() == config
    assert config["learning_rate"] == 0.25
    data = serialize(optimizer)
    assert (data["module"], data["class_name"]) == ("keras.optimizers", kind.__name__)
    assert deserialize(data).get_config() == config


def test_a_schedule_is_part_of_the_config():
    optimizer = SGD(schedules.CosineDecay(0.1, 10))
    again = SGD.from_config(optimizer.get_config())
    assert isinstance(again._learning_rate._given, schedules.CosineDecay)
    assert again.get_config() == optimizer.get_config()


def test_optimizers_are_found_by_name():
    assert isinstance(get("sgd"), SGD)
    assert isinstance(get("RMSprop"), RMSprop)
    assert get(None) is None
    optimizer = Adam()
    assert get(optimizer) is optimizer
    assert isinstance(get({"class_name": "Adam", "config": {"learning_rate": 0.5}}), Adam)
    assert isinstance(deserialize({"class_name": "Sign", "config": {"learning_rate": 0.5}}, {"Sign": Sign}), Sign)
    for wrong in ("nonsense", {"class_name": "os.system"}, {"config": {}}, {"class_name": "SGD", "config": 3}, 7):
        with pytest.raises(ValueError, match=r"Unknown optimizer|Improper config|is a dictionary|Could not interpret"):
            get(wrong)


def test_classes_of_ones_own_are_found_inside_others():
    config = serialize(LossScaleOptimizer(Sign(0.5)))
    assert isinstance(deserialize(config, {"Sign": Sign}).inner_optimizer, Sign)
    for wrong in (3, {"Sign": 3}):
        with pytest.raises(DTypeError, match=r"classes by name|from_config"):
            deserialize(serialize(Sign(0.5)), wrong)
    with pytest.raises(InvalidArgumentError, match="`inner_optimizer`"):
        get({"class_name": "LossScaleOptimizer", "config": {}})


def test_older_names_lead_to_the_same():
    assert legacy.SGD is SGD
    assert legacy.Adam is Adam


def test_weights_are_taken_and_given():
    v, optimizer = tf.Variable([1.0, 2.0]), Adam(0.1)
    optimizer.apply_gradients([(tf.constant([1.0, 1.0]), v)])
    other = Adam(0.1)
    other.build([v])
    other.set_weights(optimizer.get_weights())
    assert [w.tolist() for w in map(np.asarray, other.get_weights())] == [
        w.tolist() for w in map(np.asarray, optimizer.get_weights())
    ]
    store = {}
    optimizer.save_own_variables(store)
    third = Adam(0.2)
    with pytest.raises(ValueError, match="Build it with the same variables"):
        third.load_own_variables(store)
    third.build([v])
    third.load_own_variables(store)
    assert float(third.learning_rate) == pytest.approx(0.1)


def test_a_checkpoint_brings_an_optimizer_back(tmp_path):
    def train(v, optimizer, steps):
        for _ in range(steps):
            optimizer.apply_gradients([(v * 2.0 + 1.0, v)])

    v, optimizer = tf.Variable([1.0, 2.0]), Adam(0.1)
    train(v, optimizer, 3)
    path = tf.train.Checkpoint(v=v, optimizer=optimizer).save(str(tmp_path / "at"))
    train(v, optimizer, 2)
    for built in (False, True):
        w, other = tf.Variable([0.0, 0.0]), Adam(0.3)
        if built:
            other.build([w])
        tf.train.Checkpoint(v=w, optimizer=other).restore(path)
        train(w, other, 2)
        assert int(other.iterations) == 5
        np.testing.assert_array_equal(w.numpy(), v.numpy())


def test_gradients_of_half_precision_that_overflow_are_left_out():
    v = tf.Variable([1.0, 2.0])
    optimizer = LossScaleOptimizer(SGD(0.5), initial_scale=4.0, dynamic_growth_steps=2)
    assert float(optimizer.scale_loss(tf.constant(2.0))) == 8.0
    optimizer.apply_gradients([(tf.constant([4.0, float("inf")]), v)])
    assert v.numpy().tolist() == [1.0, 2.0]
    assert float(optimizer.dynamic_scale) == 2.0
    for _ in range(2):
        optimizer.apply_gradients([(tf.constant([2.0, 2.0]), v)])
    assert v.numpy().tolist() == [0.0, 1.0]
    assert float(optimizer.dynamic_scale) == 4.0
    assert int(optimizer.iterations) == 2
