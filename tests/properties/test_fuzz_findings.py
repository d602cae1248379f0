"""What fuzzing has found (see docs/reliability.md), each case as small as it gets: refused by an error of ours."""

from __future__ import annotations

import json

import numpy as np
import pytest

import situs as tf
import situs.compat.v1 as v1
from situs._src.as_tensorflow import missing
from situs._src.as_tensorflow.dialect import dialect_of
from situs._src.base import settings
from situs._src.base.devices.scope import build_into, here
from situs._src.base.proto.formats import parse
from situs._src.cli.main import main
from situs._src.distribute.cluster_resolver import resolve
from situs._src.placement.search.problem import FORMAT, VERSION, loads
from situs.errors import DTypeError, InvalidArgumentError, NotFoundError, UnimplementedError

NAMELESS: dict[str, object] = {}
NAMELESS["a"] = NAMELESS


@pytest.fixture(autouse=True)
def _eagerly():
    before = build_into(None, here.scope)
    yield
    build_into(*before)


@pytest.mark.parametrize(
    "text", ["9" * 5000, "1" + "0" * 400 + ".5", "5\u212aB", "\u0664GiB", "9" * 31 + "G"], ids=ascii
)
def test_a_size_that_no_memory_has_is_refused(text):
    with pytest.raises(InvalidArgumentError, match="as a size in bytes") as refused:
        settings.parse_bytes(text)
    assert len(str(refused.value)) < 300


@pytest.mark.parametrize("text", ["9" * 5000, "2x" + "9" * 5000, "\u0664"], ids=ascii)
def test_a_number_of_virtual_gpus_that_no_machine_has_is_refused(text):
    with pytest.raises(InvalidArgumentError, match="Cannot read"):
        settings.parse_virtual_gpus(text)


def test_half_of_a_character_in_a_message_is_refused():
    with pytest.raises(InvalidArgumentError, match="is Unicode"):
        parse('device_filters: "a\udcff"', v1.ConfigProto())


def test_a_program_whose_name_is_too_long_does_not_exist(capsys):
    assert main(["memory", "a" * 5000]) == 1
    assert "There is no program" in capsys.readouterr().err


@pytest.mark.parametrize("length", [{"width": 2**32}, {"precision": 2**31}], ids=str)
@pytest.mark.parametrize("value", [1.5, "text"])
def test_numbers_are_not_written_with_billions_of_characters(value, length):
    with pytest.raises(InvalidArgumentError, match="must not be more than"):
        tf.strings.as_string(value, **length)


# Graphs.


def _loop_and_branch():
    with v1.Graph().as_default() as graph:
        x = v1.constant(3.0)
        v1.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a + x), [0, 1.0], name="loop")
        v1.cond(x > 1.0, lambda: x * 2.0, lambda: x, name="branch")
        return graph.as_graph_def()


def _function(message, name):
    return next(function for function in message.library.function if function.signature.name.endswith(name))


def _no_capture(message):
    function = _function(message, "branch:then_branch")
    function.arg_attr[7].CopyFrom(function.arg_attr[0])
    del function.arg_attr[0]


def _capture_of_a_loop_variable(message):
    function = _function(message, "loop:body")
    (capture,) = function.arg_attr.values()
    capture.attr["_capture"].i = 1


@pytest.mark.parametrize("damage", [_no_capture, _capture_of_a_loop_variable])
def test_functions_that_do_not_fit_their_node_are_refused_when_they_are_read(damage):
    message = _loop_and_branch()
    damage(message)
    with v1.Graph().as_default() as graph:
        with pytest.raises(InvalidArgumentError, match="The functions do not fit the node"):
            v1.import_graph_def(message, name="")
        assert not graph.get_operations()


def test_a_run_may_take_longer_than_the_system_can_wait():
    config = v1.ConfigProto(operation_timeout_in_ms=2**63 - 1)
    with v1.Graph().as_default(), v1.Session(config=config) as session:
        assert session.run(v1.add(1.0, 1.0)) == 2.0


def test_gradients_of_an_eager_tensor_with_respect_to_one_of_a_graph_are_refused():
    with v1.Graph().as_default():
        x = v1.constant([1.0])
    with pytest.raises(InvalidArgumentError, match="works on the tensors of a graph"):
        tf.gradients([0.0], [x])


# Calls.


def _tape(use):
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape(persistent=True) as tape:
        y = x * x
    return use(tape, x, y)


WRONG_TYPES = {
    "a writer": lambda: tf.summary.flush(writer={"a": 1.0}),
    "what is averaged": lambda: tf.train.ExponentialMovingAverage(0.9).average(ValueError("x")),
    "the variable of a slot": lambda: tf.train.AdamOptimizer().get_slot(np.zeros(3), "m"),
    "what is restored": lambda: tf.train.ExponentialMovingAverage(0.9).variables_to_restore("x"),
}


@pytest.mark.parametrize("what", WRONG_TYPES)
def test_something_else_is_refused_in_the_place_of(what):
    with pytest.raises(DTypeError):
        WRONG_TYPES[what]()


@pytest.mark.parametrize("source", [np.float32(1), [0.0, 1.0, 2.0]], ids=["a scalar", "a list of another length"])
def test_batch_jacobian_refuses(source):
    with pytest.raises(InvalidArgumentError, match="must have rank at least 2"):
        _tape(lambda tape, x, y: tape.batch_jacobian(y, source))


def test_a_spec_refuses_a_number_that_numpy_has_masked():
    with pytest.raises(InvalidArgumentError, match="is an integer"):
        tf.DeviceSpec(device_index=np.ma.masked)


def test_a_queue_runner_refuses_a_coordinator_that_is_none():
    with v1.Graph().as_default(), v1.Session() as session:
        queue = v1.FIFOQueue(2, [v1.int32])
        with pytest.raises(DTypeError, match="Coordinator"):
            v1.train.QueueRunner(queue, [queue.enqueue(1)]).create_threads(session, coord=np.zeros(3))


def test_a_queue_runner_refuses_to_make_threads_that_could_not_start():
    with v1.Graph().as_default(), v1.Session() as session:
        queue = v1.FIFOQueue(2, [v1.int32])
        with pytest.raises(DTypeError, match="daemon"):
            v1.train.QueueRunner(queue, [queue.enqueue(1)]).create_threads(session, daemon=np.zeros(3), start=True)


def test_the_gradient_of_a_loss_has_a_dtype():
    with v1.Graph().as_default():
        loss = v1.square(v1.get_variable("fuzz_v", []))
        with pytest.raises(InvalidArgumentError, match="Invalid type"):
            v1.train.AdamOptimizer().compute_gradients(loss, grad_loss=False)


def test_eager_slices_do_not_know_who_uses_them():
    with pytest.raises(UnimplementedError):
        tf.IndexedSlices(tf.constant([[1.0]]), tf.constant([0])).consumers()


def test_a_writer_refuses_what_is_no_event(tmp_path):
    with v1.Graph().as_default():
        writer = v1.summary.FileWriter(str(tmp_path))
        with pytest.raises(DTypeError):
            writer.add_event(np.float16(1))
        writer.close()


def test_the_average_of_an_eager_tensor_has_no_name():
    with pytest.raises(DTypeError, match="no name"):
        tf.train.ExponentialMovingAverage(0.5).average_name(tf.constant(1.0))


def test_paddings_that_no_int32_holds_are_refused():
    with pytest.raises(DTypeError, match="int32"):
        tf.required_space_to_batch_paddings([2], 2**63)


def test_an_event_file_with_a_name_that_no_file_has_is_refused():
    with pytest.raises(InvalidArgumentError, match="too long"):
        v1.train.summary_iterator("a" * 5000)


def test_gradients_stop_at_tensors_of_the_graph_only():
    stop = tf.constant([1])
    with v1.Graph().as_default():
        x = v1.constant([1.0])
        with pytest.raises(InvalidArgumentError, match="stop_gradients"):
            v1.gradients(x * 2.0, x, stop_gradients=stop)


def test_a_timer_counts_in_whole_steps():
    timer = v1.train.SecondOrStepTimer(every_steps=2)
    with pytest.raises(DTypeError):
        timer.update_last_triggered_step(np.zeros(0, np.uint8))
    timer.update_last_triggered_step(np.uint8(3))
    assert timer.update_last_triggered_step(-1)[1] == -4


# Problems of the placer, and clusters.


def test_two_devices_of_one_name_are_refused_when_a_problem_is_read():
    rows = [{"name": "CPU:0", "kind": "CPU"}, {"name": "CPU:0", "kind": "CPU"}]
    nodes = [{"name": "x", "times": {"CPU:0": 1.0}}]
    with pytest.raises(InvalidArgumentError, match="Two devices are named 'CPU:0'"):
        loads(json.dumps({"format": FORMAT, "version": VERSION, "devices": rows, "nodes": nodes}))


@pytest.mark.parametrize("lanes", [0, 2**40, 10**400], ids=["none", "many", "too many for a float"])
def test_a_device_has_as_many_lanes_as_a_device_has(lanes):
    with pytest.raises(InvalidArgumentError, match="at least one lane and at most 65536"):
        tf.placement.Problem((), (), (tf.placement.Device("CPU:0", "CPU", lanes=lanes),), ())


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"TF_CONFIG": '{"task": {"index": "x"}}'}, "The index of the task of TF_CONFIG is a whole number"),
        ({"TF_CONFIG": '{"task": {"index": 1e999}}'}, "The index of the task of TF_CONFIG is a whole number"),
        ({"TF_CONFIG": "[" * 100_000}, "TF_CONFIG is no JSON"),
        ({"TF_CONFIG": '{"cluster": {"worker": {"x": "a:1"}}}'}, "have numbers from 0, got 'x'"),
        ({"TF_CONFIG": '{"cluster": {"worker": {"9999999999": "a:1"}}}'}, "have numbers from 0"),
        ({"RANK": "1", "WORLD_SIZE": "9" * 30, "MASTER_ADDR": "a", "MASTER_PORT": "1"}, "WORLD_SIZE is a whole number"),
        ({"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "a", "MASTER_PORT": "70000"}, "number of a port"),
    ],
)
def test_a_cluster_of_nonsense_is_refused(monkeypatch, given, message):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(InvalidArgumentError, match=message):
        resolve().cluster_spec()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"SLURM_PROCID": "x"}, "SLURM_PROCID is a whole number"),
        ({"SLURM_PROCID": "7"}, "there are 2; it is 7"),
        ({"SLURM_STEP_NUM_TASKS": "6553\x1d"}, "SLURM_STEP_NUM_TASKS is a whole number"),
        ({"SLURM_STEP_NODELIST": "n[1-999999999]"}, "at most 1048576 hosts"),
        ({"SLURM_STEP_TASKS_PER_NODE": "1(x999999999)"}, "A number of Slurm's tasks per node"),
        ({"SLURM_STEP_TASKS_PER_NODE": "0(x2)"}, "names no node with a task"),
        ({"SLURM_STEP_NODELIST": ""}, "names no node with a task"),
    ],
)
def test_a_job_of_nonsense_is_refused(monkeypatch, changed, message):
    step = {"PROCID": "0", "STEP_NUM_TASKS": "2", "STEP_NODELIST": "n[1-2]", "STEP_TASKS_PER_NODE": "1(x2)"}
    for name, value in ({f"SLURM_{name}": value for name, value in step.items()} | changed).items():
        monkeypatch.setenv(name, value)
    with pytest.raises((InvalidArgumentError, RuntimeError), match=message):
        tf.distribute.cluster_resolver.SlurmClusterResolver(auto_set_gpu=False).cluster_spec()


# Programs for ``situs run``.


@pytest.mark.parametrize(
    "source",
    [b"x = " + b"{" * 300, b"\0", b"# coding: nothing\n", b"\xff\xfe\xfd", b"1" + b"+1" * 20_000, b"if:"],
    ids=["deep", "a NUL", "no such encoding", "no text", "a long sum", "no Python"],
)
def test_a_source_that_python_cannot_read_is_looked_at_in_peace(tmp_path, source):
    path = tmp_path / "program.py"
    path.write_bytes(source)
    assert dialect_of(str(path)) == "v2"
    try:
        missing.used(missing.read_source(path))
    except SyntaxError:
        pass


def test_a_program_in_latin_1_is_read_as_such(tmp_path):
    path = tmp_path / "program.py"
    path.write_bytes("# -*- coding: latin-1 -*-\nimport tensorflow as tf\ntf.placeholder('\xe9')\n".encode("latin-1"))
    assert missing.used(missing.read_source(path)) == {"placeholder": 3}
    assert dialect_of(str(path)) == "v1"


def test_an_error_that_cannot_say_what_it_is_has_its_report():
    class MuteError(Exception):
        def __str__(self):
            raise self

    with pytest.raises(MuteError), tf.report() as report:
        raise MuteError
    assert report.to_json()["program"]["error"]["message"] == "its message cannot be made: MuteError"


def test_a_list_of_missing_names_that_cannot_be_written_is_said(tmp_path):
    with pytest.raises(NotFoundError, match="No such file or directory"):
        missing.write(str(tmp_path / "nowhere" / "names.json"), "program.py", {})
