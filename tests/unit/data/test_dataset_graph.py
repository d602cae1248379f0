"""Iterators in graphs. Names, messages and orders are TensorFlow 2.21's."""

from __future__ import annotations

import gc
import threading
import time

import numpy as np
import pytest

import situs as tf2
import situs.compat.v1 as tf
from situs import errors
from situs._src.v1 import datasets as v1
from situs.data import experimental
from tests.unit.data.conftest import LIMIT, stands_in

Dataset = v1.DatasetV1
pytestmark = pytest.mark.usefixtures("graph")


def run_all(sess, fetch):
    made = []
    while True:
        try:
            made.append(sess.run(fetch))
        except errors.OutOfRangeError:
            return made


# One-shot iterators.


def test_every_run_takes_the_next_element():
    element = v1.make_one_shot_iterator(Dataset.range(3)).get_next()
    assert (element.name, element.op.type, element.shape.as_list()) == ("IteratorGetNext:0", "IteratorGetNext", [])
    with tf.Session() as sess:
        assert [sess.run(element) for _ in range(3)] == [0, 1, 2]
        for _ in range(2):
            with pytest.raises(
                errors.OutOfRangeError, match=r"End of sequence\n\t \[\[\{\{node IteratorGetNext\}\}\]\]"
            ):
                sess.run(element)


def test_one_run_takes_one_element_however_often_it_is_used():
    x, y = Dataset.from_tensor_slices(([1, 2], [10, 20])).make_one_shot_iterator().get_next()
    total = x + y + x
    with tf.Session() as sess:
        assert sess.run([x, total, y]) == [1, 12, 10]
        assert sess.run([x, total, y]) == [2, 24, 20]


def test_where_an_iteration_is_belongs_to_the_session():
    element = v1.make_one_shot_iterator(Dataset.range(3)).get_next()
    with tf.Session() as one, tf.Session() as other:
        assert [one.run(element), one.run(element), other.run(element), one.run(element)] == [0, 1, 0, 2]


def test_two_get_nexts_share_one_iteration():
    iterator = v1.make_one_shot_iterator(Dataset.range(4))
    first, second = iterator.get_next(), iterator.get_next(name="mine")
    assert second.name == "mine:0"
    with tf.Session() as sess:
        assert [sess.run(first), sess.run(second), sess.run(first)] == [0, 1, 2]


def test_a_pipeline_with_threads():
    ds = Dataset.range(100).map(lambda x: x * 2, num_parallel_calls=2).batch(7).prefetch(2)
    element = v1.make_one_shot_iterator(ds).get_next()
    with tf.Session() as sess:
        assert np.concatenate(run_all(sess, element)).tolist() == list(range(0, 200, 2))


def test_errors_name_the_function_and_the_next_element_follows():
    ds = Dataset.from_tensor_slices([1.0, 0.0, 2.0]).map(lambda x: tf2.debugging.check_numerics(1.0 / x, "bad"))
    element = v1.make_one_shot_iterator(ds).get_next()
    with tf.Session() as sess:
        assert sess.run(element) == 1.0
        with pytest.raises(errors.InvalidArgumentError, match="bad : Tensor had Inf"):
            sess.run(element)
        assert sess.run(element) == 0.5


def test_a_one_shot_iterator_depends_on_nothing_that_a_run_decides():
    fed, variable = tf.placeholder(tf.int64, [], name="p"), tf.Variable(np.int64(3), name="v")
    with pytest.raises(ValueError, match=r"Cannot capture a placeholder \(name:p, type:Placeholder\) by value"):
        v1.make_one_shot_iterator(Dataset.range(fed))
    with pytest.raises(ValueError, match=r"Cannot capture a stateful node .* Use `make_initializable_iterator\(\)`"):
        v1.make_one_shot_iterator(Dataset.range(3).map(lambda x: x + variable))


def test_constants_may_be_depended_on():
    stop, one = tf.constant(2, tf.int64), tf.constant(1, tf.int64) * 1
    element = v1.make_one_shot_iterator(Dataset.range(stop).map(lambda x: x + one)).get_next()
    rows = v1.make_one_shot_iterator(Dataset.from_tensor_slices((tf.constant([[0.5], [1.5]]) * 2.0, ["a", "b"])))
    row = rows.get_next()
    with tf.Session() as sess:
        assert run_all(sess, element) == [1, 2]
        assert [(x.tolist(), y) for x, y in run_all(sess, row)] == [([1.0], b"a"), ([3.0], b"b")]


def test_python_cannot_iterate_a_dataset_of_a_graph():
    for use in (iter, lambda ds: ds.as_numpy_iterator()):
        with pytest.raises(RuntimeError, match=r"eager mode|not supported while"):
            use(Dataset.range(3))


# Initializable iterators.


def test_placeholders_are_fed_when_the_iterator_is_initialized():
    rows, scale = tf.placeholder(tf.float32, [None, 2]), tf.placeholder(tf.float32, [])
    iterator = v1.make_initializable_iterator(Dataset.from_tensor_slices(rows).map(lambda x: x * scale).batch(2))
    element = iterator.get_next()
    assert element.shape.as_list() == [None, 2]
    assert iterator.initializer.type == "MakeIterator"
    with tf.Session() as sess:
        with pytest.raises(errors.FailedPreconditionError, match="the iterator has not been initialized"):
            sess.run(element)
        sess.run(iterator.initializer, {rows: [[1, 2], [3, 4], [5, 6]], scale: 10})
        assert [batch.tolist() for batch in run_all(sess, element)] == [[[10, 20], [30, 40]], [[50, 60]]]
        sess.run(iterator.initializer, {rows: [[1, 1]], scale: 2})
        assert [batch.tolist() for batch in run_all(sess, element)] == [[[2, 2]]]


def test_initializing_again_begins_again():
    iterator = Dataset.range(5).shuffle(5, seed=1).make_initializable_iterator()
    element = iterator.get_next()
    with tf.Session() as sess:
        orders = []
        for _ in range(2):
            sess.run(iterator.initializer)
            orders.append(run_all(sess, element))
        assert orders[0] == orders[1]
        sess.run(iterator.initializer)
        sess.run(element)
        sess.run(iterator.initializer)
        assert run_all(sess, element) == orders[0]


def test_variables_have_the_value_they_have_when_it_is_initialized():
    scale = tf.Variable(np.int64(2))
    iterator = Dataset.range(3).map(lambda x: x * scale).make_initializable_iterator()
    element, change = iterator.get_next(), scale.assign(np.int64(5))
    with tf.Session() as sess:
        sess.run(scale.initializer)
        sess.run(iterator.initializer)
        assert run_all(sess, element) == [0, 2, 4]
        sess.run(change)
        sess.run(iterator.initializer)
        assert run_all(sess, element) == [0, 5, 10]


def test_numbers_of_a_pipeline_may_be_fed():
    size, count = tf.placeholder(tf.int64, []), tf.placeholder(tf.int64, [])
    iterator = Dataset.range(10).take(count).batch(size).make_initializable_iterator()
    element = iterator.get_next()
    with tf.Session() as sess:
        sess.run(iterator.initializer, {size: 2, count: 3})
        assert [batch.tolist() for batch in run_all(sess, element)] == [[0, 1], [2]]
        with pytest.raises(errors.InvalidArgumentError, match="Batch size must be greater than zero"):
            sess.run(iterator.initializer, {size: 0, count: 3})


def test_files_may_be_fed(tmp_path):
    (tmp_path / "a").write_text("one\ntwo\n")
    name = tf.placeholder(tf.string, [None])
    iterator = v1.TextLineDatasetV1(name).make_initializable_iterator()
    element = iterator.get_next()
    with tf.Session() as sess:
        sess.run(iterator.initializer, {name: [str(tmp_path / "a")]})
        assert run_all(sess, element) == [b"one", b"two"]


def test_a_shared_name_is_one_iterator():
    one = v1.make_initializable_iterator(Dataset.range(5), shared_name="shared")
    other = v1.make_initializable_iterator(Dataset.range(5), shared_name="shared")
    first, second = one.get_next(), other.get_next()
    with tf.Session() as sess:
        sess.run(one.initializer)
        assert [sess.run(first), sess.run(second)] == [0, 1]


# Iterators by structure and by handle.


def test_datasets_by_turns():
    training, validation = Dataset.range(3), Dataset.range(10, 12)
    iterator = v1.Iterator.from_structure(training.output_types, training.output_shapes)
    element = iterator.get_next()
    train, validate = iterator.make_initializer(training), iterator.make_initializer(validation, name="validate")
    assert validate.name == "validate"
    with tf.Session() as sess:
        for begin, expected in [(train, [0, 1, 2]), (validate, [10, 11]), (train, [0, 1, 2])]:
            sess.run(begin)
            assert run_all(sess, element) == expected


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (
            lambda: Dataset.from_tensors(1.0),
            "Expected output types tf.int64 but got dataset with output types tf.float32",
        ),
        (lambda: Dataset.from_tensors(np.int64([1])), "Expected output shapes compatible with"),
        (lambda: Dataset.zip((Dataset.range(1), Dataset.range(1))), "Expected output types"),
        (lambda: 3, r"takes a tf\.data\.Dataset"),
    ],
)
def test_datasets_of_other_elements_are_refused(make, text):
    iterator = v1.Iterator.from_structure(tf.int64, tf2.TensorShape([]))
    with pytest.raises(TypeError, match=text):
        iterator.make_initializer(make())


def test_iterators_without_initializer_say_so():
    for iterator in (v1.make_one_shot_iterator(Dataset.range(2)), v1.Iterator.from_structure(tf.int64)):
        with pytest.raises(ValueError, match="does not have an initializer"):
            iterator.initializer


def test_an_iterator_may_be_fed_by_its_handle():
    handle = tf.placeholder(tf.string, [])
    element = v1.Iterator.from_string_handle(handle, tf.int64, []).get_next()
    one = v1.make_one_shot_iterator(Dataset.range(3))
    other = v1.make_initializable_iterator(Dataset.range(10, 13))
    handles = [one.string_handle(), other.string_handle()]
    with tf.Session() as sess:
        first, second = sess.run(handles)
        sess.run(other.initializer)
        assert [sess.run(element, {handle: h}) for h in (first, second, first, second)] == [0, 10, 1, 11]
        for wrong in (b"nonsense", b"iterator:/other"):
            with pytest.raises(errors.InvalidArgumentError, match="Could not parse the string handle"):
                sess.run(element, {handle: wrong})


def test_optionals_in_a_graph():
    optional = experimental.get_next_as_optional(v1.make_one_shot_iterator(Dataset.range(1)))
    there, value = optional.has_value(), optional.get_value()
    with tf.Session() as sess:
        assert sess.run([there, value]) == [True, 0]
        assert sess.run(there) == False  # noqa: E712 - a NumPy bool
        with pytest.raises(errors.InvalidArgumentError, match="does not have a value"):
            sess.run(value)


def test_types_shapes_and_classes():
    ds = Dataset.from_tensor_slices({"x": [[1.0, 2.0]], "y": [1]})
    assert ds.output_types == {"x": tf2.float32, "y": tf2.int32}
    assert ds.output_shapes == {"x": tf2.TensorShape([2]), "y": tf2.TensorShape([])}
    assert ds.output_classes == {"x": tf2.Tensor, "y": tf2.Tensor}
    iterator = v1.make_one_shot_iterator(ds)
    assert v1.get_legacy_output_types(iterator) == iterator.output_types == ds.output_types
    assert v1.get_legacy_output_shapes(ds) == iterator.output_shapes
    assert v1.get_legacy_output_classes(ds) == iterator.output_classes
    with pytest.raises(TypeError, match=r"Expected a tf\.data\.Dataset"):
        v1.get_legacy_output_types(3)


# Whole datasets.


def test_whole_datasets_are_operations():
    stop = tf.placeholder(tf.int64, [])
    ds = Dataset.range(stop).map(lambda x: x * 2)
    total, count = ds.reduce(np.int64(0), lambda state, x: state + x), ds.cardinality()
    assert (total.op.type, count.op.type) == ("ReduceDataset", "DatasetCardinality")
    only = ds.get_single_element()
    with tf.Session() as sess:
        assert sess.run([total, count], {stop: 4}) == [12, 4]
        assert sess.run(only, {stop: 1}) == 0
        with pytest.raises(errors.InvalidArgumentError, match="Dataset was empty"):
            sess.run(only, {stop: 0})


# Life.


def endless(pulled=None):
    def generate():
        yield from range(10**9)

    return Dataset.from_generator(generate, tf.int64, []).prefetch(2)


def test_closing_a_session_ends_its_threads(ended):
    element = v1.make_one_shot_iterator(endless()).get_next()
    with tf.Session() as sess:
        assert sess.run(element) == 0
    assert ended()


def test_dropping_a_session_ends_its_threads(ended):
    element = v1.make_one_shot_iterator(endless().map(lambda x: x + 1).prefetch(1)).get_next()
    sess = tf.Session()
    assert sess.run(element) == 1
    del sess
    gc.collect()
    assert ended()


def own_threads():
    return [thread for thread in threading.enumerate() if thread.name.startswith("situs-data")]


def test_initializing_again_ends_the_threads_of_the_iteration_before(ended):
    iterator = v1.make_initializable_iterator(endless())
    element = iterator.get_next()
    with tf.Session() as sess:
        for _ in range(5):
            sess.run(iterator.initializer)
            assert sess.run(element) == 0
        end = time.monotonic() + LIMIT
        while len(own_threads()) > 2 and time.monotonic() < end:
            time.sleep(0.01)
        assert len(own_threads()) <= 2
    assert ended()


def test_a_run_that_goes_through_a_dataset_without_end_gives_up():
    total = Dataset.range(9).repeat().reduce(tf.placeholder_with_default(np.int64(0), []), lambda state, x: state + x)
    before = set(threading.enumerate())
    with tf.Session() as sess, pytest.raises(errors.DeadlineExceededError):
        sess.run(total, options=tf.RunOptions(timeout_in_ms=100))
    end = time.monotonic() + LIMIT
    while set(threading.enumerate()) - before and time.monotonic() < end:
        time.sleep(0.01)
    assert not set(threading.enumerate()) - before


@pytest.mark.parametrize("how", ["closed", "timed out"])
def test_a_run_that_waits_gives_up(how, ended):
    going_on = threading.Event()

    def blocked():
        yield 1
        going_on.wait(LIMIT)
        yield 2

    element = v1.make_one_shot_iterator(Dataset.from_generator(blocked, tf.int64, []).prefetch(1)).get_next()
    sess = tf.Session()
    sess.run(element)
    outcome = []

    def wait():
        options = tf.RunOptions(timeout_in_ms=100) if how == "timed out" else None
        try:
            sess.run(element, options=options)
        except (errors.CancelledError, errors.DeadlineExceededError) as error:
            outcome.append(type(error).__name__)

    waiting = threading.Thread(target=wait)
    waiting.start()
    if how == "closed":
        stands_in(waiting, "worker_pool.py")
        sess.close()
    waiting.join(LIMIT)
    assert outcome == [{"closed": "CancelledError", "timed out": "DeadlineExceededError"}[how]]
    going_on.set()
    if how == "timed out":
        assert sess.run(element) == 2
    sess.close()
    assert ended()


def test_in_eager_mode_the_iterator_is_pythons(run_python):
    program = (
        "import situs.compat.v1 as tf\n"
        "tf.enable_eager_execution()\n"
        "from situs._src.v1 import datasets as v1\n"
        "print([int(x) for x in v1.make_one_shot_iterator(v1.DatasetV1.range(3))])\n"
        "try: v1.make_initializable_iterator(v1.DatasetV1.range(3))\n"
        "except RuntimeError as error: print(error)\n"
    )
    assert run_python(program).startswith("[0, 1, 2]\nmake_initializable_iterator() is not supported in eager mode")


def test_the_default_graph_of_the_process_is_built_without_saying_so(run_python):
    program = (
        "import situs.compat.v1 as tf\n"
        "from situs._src.v1 import datasets as v1\n"
        "p = tf.placeholder(tf.int64, [])\n"
        "it = v1.DatasetV1.range(p).map(lambda x: x + p).make_initializable_iterator()\n"
        "x = it.get_next()\n"
        "with tf.Session() as sess:\n"
        "    sess.run(it.initializer, {p: 2})\n"
        "    print(sess.run(x), sess.run(x))\n"
    )
    assert run_python(program) == "2 3\n"


def test_the_string_of_an_iterator_is_one_tensor_unless_it_is_named():
    iterator = tf.data.make_one_shot_iterator(tf.data.Dataset.range(3))
    plain = iterator.string_handle()
    assert plain is iterator.string_handle()
    named = [iterator.string_handle(name="foo") for _ in range(2)]
    assert [tensor.op.name for tensor in named] == ["foo", "foo_1"]
    assert plain is iterator.string_handle()


def test_an_iterator_by_its_string_has_the_elements_that_were_promised():
    handle = tf.placeholder(tf.string, [])
    numbers, floats, pairs = (
        v1.make_one_shot_iterator(Dataset.from_tensors(element)).string_handle() for element in (1, [1.5, 2.5], (1, 2))
    )
    element = v1.Iterator.from_string_handle(handle, tf.int32, []).get_next()
    vector = v1.Iterator.from_string_handle(handle, tf.int32, [None]).get_next()
    with tf.Session() as sess:
        number, float_, pair = sess.run([numbers, floats, pairs])
        for fetched, fed, text in (
            (element, float_, "Data type mismatch at component 0: expected int32 but got float32"),
            (vector, number, r"Incompatible shapes at component 0: expected \[\?\] but got \[\]"),
            (element, pair, "Number of components does not match: expected 1 types but got 2"),
        ):
            with pytest.raises(errors.InvalidArgumentError, match=text):
                sess.run(fetched, {handle: fed})
        assert sess.run(element, {handle: number}) == 1
