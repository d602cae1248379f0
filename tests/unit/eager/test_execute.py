"""Eager placement: where ops run, what is copied, what is logged, what is remembered."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import situs as tf
from situs._src.base.devices.scope import here
from situs._src.ir.registry.op import _OPS
from situs.extend import op as declare

LOCAL = "/job:localhost/replica:0/task:0"
CPU0, GPU0, GPU1, GPU2 = (f"{LOCAL}/device:{name}" for name in ("CPU:0", "GPU:0", "GPU:1", "GPU:2"))


def test_the_default_is_the_first_gpu_with_a_kernel():
    assert tf.add(1.0, 2.0).device == GPU0
    assert tf.constant(1.0).device == GPU0
    assert tf.matmul([[1]], [[2]]).device == CPU0  # no integer matmul on a GPU
    assert tf.constant("a").device == CPU0


def test_inputs_do_not_attract_ops():
    with tf.device("/gpu:1"):
        a = tf.constant([1.0])
    assert a.device == GPU1
    assert (a + 1.0).device == GPU0
    assert tf.identity(a).device == GPU0


def test_inputs_are_copied_to_the_op():
    with tf.device("/gpu:1"):
        a = tf.constant([1.0, 2.0])
    with tf.device("/cpu:0"):
        b = tf.constant([3.0, 4.0])
    with tf.device("/gpu:2"):
        c = a + b
        d = tf.add_n([a, b, c])
    assert c.device == d.device == GPU2
    assert d.numpy().tolist() == [8.0, 12.0]
    assert a.device == GPU1


def test_a_copy_to_a_virtual_gpu_has_memory_of_its_own():
    with tf.device("/cpu:0"):
        a = tf.constant(np.zeros(4))
    with tf.device("/gpu:0"):
        b = tf.identity(a)
    assert not np.shares_memory(np.asarray(a), np.asarray(b))


def test_a_missing_device_is_the_seeds_error():
    name = f"{LOCAL}/device:GPU:7"
    for make in (lambda: tf.constant([1.0, 2.0]), lambda: tf.add(1.0, 2.0), lambda: tf.zeros([2])):
        with tf.device("/device:GPU:7"), pytest.raises(RuntimeError) as raised:
            make()
        assert isinstance(raised.value, tf.errors.InvalidArgumentError)
        assert str(raised.value).startswith(f"Error copying tensor to device: {name}. {name} unknown device.")
        assert CPU0 in str(raised.value)
    assert tf.add(1.0, 2.0).device == GPU0  # and the program goes on


def test_a_scalar_made_softly_does_not_get_around_hard_placement():  # unlike in TensorFlow
    tf.config.set_soft_device_placement(True)
    with tf.device("/gpu:7"):
        tf.constant(5.0)
    tf.config.set_soft_device_placement(False)
    with tf.device("/gpu:7"), pytest.raises(RuntimeError, match="unknown device"):
        tf.constant(5.0)


def test_softly_a_missing_device_is_replaced():
    tf.config.set_soft_device_placement(True)
    with tf.device("/gpu:7"):
        assert (tf.constant([1.0]) + 1.0).device == GPU0
    tf.config.set_soft_device_placement(False)
    with tf.device("/gpu:7"), pytest.raises(RuntimeError):  # what was decided softly is not kept
        tf.add(1.0, 2.0)


def test_soft_placement_never_forgives_another_job():
    tf.config.set_soft_device_placement(True)
    with (
        tf.device("/job:foo"),
        pytest.raises(tf.errors.InvalidArgumentError, match="/job:foo/replica:0/task:0/device:CPU:0"),
    ):
        tf.constant([1.0])


def test_an_op_without_a_kernel_there_names_the_kernels():
    with (
        tf.device("/gpu:0"),
        pytest.raises(tf.errors.InvalidArgumentError, match="no supported kernel for GPU devices"),
    ):
        tf.matmul([[1]], [[2]])
    tf.config.set_soft_device_placement(True)
    with tf.device("/gpu:0"):
        assert tf.matmul([[1]], [[2]]).device == CPU0
    assert tf.explain(1)[0].reason == "soft: no int32 kernel for MatMul on GPU"


def test_device_functions_choose_in_eager_code_too():
    with tf.device(lambda op: "/gpu:2" if op.type == "MatMul" else "/cpu:0"):
        a = tf.constant([[1.0]])
        assert a.device == CPU0
        assert tf.matmul(a, a).device == GPU2
        assert tf.add(a, a).device == CPU0


def test_none_clears_and_empty_means_the_cpu():
    with tf.device("/gpu:1"):
        with tf.device(None):
            assert tf.add(1.0, 2.0).device == GPU0
        with tf.device(""):
            assert tf.add(1.0, 2.0).device == GPU1
    with tf.device(""):
        assert tf.add(1.0, 2.0).device == CPU0


def test_the_log_can_be_switched_at_any_time(capsys):
    tf.add(1.0, 2.0)
    tf.debugging.set_log_device_placement(True)
    tf.add(1.0, 2.0)
    tf.constant([1.0])
    with tf.device("/cpu:0"):
        tf.matmul([[1.0]], [[1.0]])
    tf.debugging.set_log_device_placement(False)
    tf.add(1.0, 2.0)
    assert capsys.readouterr().out.splitlines() == [
        f"Executing op AddV2 in device {GPU0}",
        f"Executing op MatMul in device {CPU0}",
    ]
    assert tf.debugging.get_log_device_placement() is False


class TestPolicy:
    """What happens to an input on another device than its op's."""

    @pytest.fixture(autouse=True)
    def _back_to_silent(self):
        yield
        tf.config.experimental.set_device_policy(None)

    @pytest.fixture
    def elsewhere(self):
        with tf.device("/gpu:1"):
            return tf.constant([1.0])

    def test_explicit_refuses(self, elsewhere):
        tf.config.experimental.set_device_policy("explicit")
        message = (
            r"Tensors on conflicting devices: cannot compute AddV2 as input #0 was expected "
            rf"to be on {GPU0} but is actually on {GPU1}"
        )
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            tf.add(elsewhere, elsewhere)

    def test_values_of_the_program_are_no_tensors_elsewhere(self, elsewhere, capsys):
        v = tf.Variable([1.0])
        for policy in ("explicit", "warn"):
            tf.config.experimental.set_device_policy(policy)
            assert tf.add([1.0], [2.0]).device == GPU0
            assert (tf.constant([1.0]) + np.array([1.0])).device == GPU0
            assert tf.reduce_sum([1.0, 2.0]).numpy() == 3.0
            v.assign_add([1.0])
        assert capsys.readouterr().err == ""

    def test_warn_copies_and_says_so(self, elsewhere, capsys):
        tf.config.experimental.set_device_policy("warn")
        assert tf.add(elsewhere, elsewhere).device == GPU0
        assert "before computing AddV2 input #0 was expected to be on" in capsys.readouterr().err

    def test_silent_for_int32_copies_only_int32(self, elsewhere):
        with tf.device("/gpu:1"):
            integer = tf.constant([1])
        tf.config.experimental.set_device_policy("silent_for_int32")
        assert tf.add(integer, 1).device == GPU0
        with pytest.raises(tf.errors.InvalidArgumentError, match="conflicting devices"):
            tf.add(elsewhere, elsewhere)

    def test_a_step_that_was_remembered_does_not_get_around_it(self, elsewhere, fast):
        tf.add(elsewhere, elsewhere)
        tf.config.experimental.set_device_policy("explicit")
        with pytest.raises(tf.errors.InvalidArgumentError, match="conflicting devices"):
            tf.add(elsewhere, elsewhere)

    def test_it_is_per_thread_and_names_are_checked(self):
        tf.config.experimental.set_device_policy("explicit")
        seen = []
        thread = threading.Thread(target=lambda: seen.append(tf.config.experimental.get_device_policy()))
        thread.start()
        thread.join()
        assert seen == ["silent"]
        with pytest.raises(ValueError, match="Invalid argument `device_policy`: 'bogus'"):
            tf.config.experimental.set_device_policy("bogus")


class TestRemembering:
    """Steps are kept per scope; whatever changes the rules empties the memory."""

    def test_the_second_call_takes_the_remembered_step(self, fast):
        a = tf.constant([1.0])
        tf.add(a, a)
        kept = [key for key in here.scope.memo if key[0].name == "AddV2"]
        assert kept
        assert tf.add(a, a).numpy() == [2.0]

    def test_a_new_kernel_is_used_at_once(self, fast):
        double = declare("TestDouble", "x: T -> y: T")
        double.shape(lambda x: x)
        try:
            double.kernel("CPU")(lambda x: x + x)
            assert double(tf.constant([2.0])).device == CPU0
            double.kernel("GPU")(lambda x: x * 10)
            result = double(tf.constant([2.0]))
            assert result.device == GPU0
            assert result.numpy() == [20.0]
        finally:
            del _OPS["TestDouble"]

    def test_a_decision_under_old_rules_is_not_kept(self, fast):
        slow = declare("TestSlow", "x: T -> y: T")
        slow.shape(lambda x: x)
        try:
            # While the kernel runs, softly on the CPU, placement becomes hard.
            slow.kernel("CPU")(lambda x: (tf.config.set_soft_device_placement(False), x)[1])
            tf.config.set_soft_device_placement(True)
            with tf.device("/gpu:0"):
                assert slow([1.0]).device == CPU0
                with pytest.raises(tf.errors.InvalidArgumentError, match="no supported kernel for GPU"):
                    slow([1.0])
        finally:
            del _OPS["TestSlow"]

    @pytest.mark.parametrize(
        ("kernel", "message"),
        [
            (lambda x: 3, "a int as result 0 where the signature promises float32"),
            (lambda x: None, "a NoneType as result 0"),
            (lambda x: x.double(), "float64 as result 0 where the signature promises float32"),
            (lambda x: (x, x), "2 results where the signature"),
        ],
    )
    def test_a_kernel_that_returns_something_else_is_named(self, fast, kernel, message):
        wrong = declare("TestWrong", "x: T -> y: T")
        wrong.shape(lambda x: x)
        try:
            wrong.kernel("CPU", "GPU")(kernel)
            with pytest.raises(tf.errors.InternalError, match=rf"kernel '<lambda>' of op TestWrong returned {message}"):
                wrong([1.0])
        finally:
            del _OPS["TestWrong"]

    def test_a_failing_kernel_says_what_is_wrong_every_time(self, fast):
        a, b = tf.constant([1.0, 2.0]), tf.constant([1.0, 2.0, 3.0])
        tf.add(a, a)
        for _ in range(2):
            with pytest.raises(tf.errors.InvalidArgumentError, match=r"Incompatible shapes: \[2\] vs. \[3\]"):
                tf.add(a, b)

    def test_results_are_the_same_remembered_or_not(self, fast):
        a = tf.constant(np.arange(6.0).reshape(2, 3))
        first = [f(a).numpy() for f in (tf.exp, tf.negative, lambda x: x * 2, lambda x: 2 - x, lambda x: x + True)]
        second = [f(a).numpy() for f in (tf.exp, tf.negative, lambda x: x * 2, lambda x: 2 - x, lambda x: x + True)]
        for one, two in zip(first, second, strict=True):
            np.testing.assert_array_equal(one, two)

    def test_zeros_keep_their_sign(self, fast):
        one = tf.constant(1.0)
        assert np.signbit((one * 0.0).numpy()) != np.signbit((one * -0.0).numpy())

    def test_true_is_not_one_and_one_is_not_one_point_zero(self, fast):
        for number in (1, 1.0, True):
            assert (tf.constant([1.0]) * number).dtype is tf.float32
        assert (tf.constant([1]) * 1).dtype is tf.int32
        with pytest.raises(tf.errors.InvalidArgumentError):
            tf.constant([1]) * 1.0


def test_many_threads_place_and_run_side_by_side(fast):
    errors = []

    def work(number):
        try:
            with tf.device(f"/gpu:{number % 4}"):
                for i in range(200):
                    total = tf.constant([float(i)]) + number
                    assert total.device == f"{LOCAL}/device:GPU:{number % 4}"
                    assert total.numpy()[0] == i + number
                    tf.config.set_soft_device_placement(bool(i % 2))  # empties the memos under everyone's feet
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def test_wrong_calls_are_told_what_the_op_takes():
    from situs.extend import find_op

    with pytest.raises(TypeError, match=r"MatMul takes 2 inputs \(a: T, b: T -> product: T\), got 1"):
        find_op("MatMul")([[1.0]])
    with pytest.raises(ValueError, match="MatMul has no attribute 'transpose'"):
        find_op("MatMul")([[1.0]], [[1.0]], transpose=True)


class TestExplain:
    """Why there?"""

    def test_of_a_tensor(self):
        with tf.device("/gpu:1"):
            total = tf.add(1.0, 2.0)
        (why,) = tf.explain(total)
        assert (why.op, why.kind, why.device.name) == ("AddV2", "requested", GPU1)

    def test_of_the_last_ops_as_data_and_as_a_table(self):
        tf.add(1.0, 2.0)
        tf.matmul([[1]], [[2]])
        last = tf.explain(2)
        assert last.to_dicts()[1] == {
            "op": "MatMul",
            "device": CPU0,
            "kind": "default",
            "reason": "default: no int32 kernel for MatMul on GPU",
            "requested": "",
        }
        table = str(last)
        assert "AddV2" in table
        assert "default: first GPU with a float32 kernel" in table

    def test_a_loop_is_one_row(self):
        for _ in range(5):
            tf.add(1.0, 2.0)
        rows = [line for line in str(tf.explain(5)).splitlines() if "AddV2" in line]
        assert len(rows) == 1
        assert " 5 " in rows[0]

    def test_constants_are_explained_though_not_logged(self):
        assert tf.explain(tf.constant([1.0]))[0].op == "Const"

    def test_slices_and_bad_questions(self):
        tf.add(1.0, 2.0)
        assert len(tf.explain()[-1:]) == 1
        assert tf.explain(tf.Variable([1.0]).assign([2.0]))[0].op == "Assign"
        for bad in ("MatMul", -1, 1.5, True):
            with pytest.raises(ValueError, match="explain takes a tensor"):
                tf.explain(bad)


def test_kernels_lists_device_types_and_dtypes():
    listed = tf.kernels("MatMul")
    assert {kernel.device_type for kernel in listed} == {"CPU", "GPU"}
    assert "MatMul(a: T, b: T -> product: T)" in str(listed)
    with pytest.raises(LookupError, match=r"Did you mean MatMul"):
        tf.kernels("Matmul")
    with pytest.raises(ValueError, match="the name of an op"):
        tf.kernels(tf.matmul)


# What a kernel cannot make sense of.

LOOP = [1]
LOOP.append(LOOP)


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: tf.eye(2**70), tf.errors.ResourceExhaustedError, "OOM"),
        (lambda: tf.roll([1, 2], 2**70, 0), tf.errors.InvalidArgumentError, "shift=.*a number among them is too large"),
        (lambda: tf.broadcast_to(1, [2**40, 2**40]), tf.errors.ResourceExhaustedError, "OOM"),
        (lambda: tf.unravel_index([1], [2**70]), tf.errors.InvalidArgumentError, "dims=.*is too large"),
        (lambda: tf.linalg.band_part([[1]], -1, None), tf.errors.InvalidArgumentError, "num_upper is None"),
        (lambda: tf.random.normal([[1, 2], [3]]), tf.errors.InvalidArgumentError, "non-rectangular"),
        (lambda: tf.reduce_sum([1], LOOP), tf.errors.InvalidArgumentError, "a list that contains itself"),
        (lambda: tf.reduce_sum([1], int), tf.errors.DTypeError, "Expected a number, a shape"),
        (lambda: tf.reshape([1], tf.Variable([[1.5]])), tf.errors.InvalidArgumentError, None),
    ],
)
def test_failures_of_kernels_name_the_inputs(call, kind, message):
    with pytest.raises(kind, match=message):
        call()
