"""What a ``ConfigProto`` makes of a session: devices, placement, its log, threads."""

from __future__ import annotations

import re
import threading

import pytest

import situs.compat.v1 as tf
from situs._src.base.budget import ledger, policy
from situs._src.base.devices.inventory import Inventory
from situs._src.base.settings import VirtualGpus
from situs._src.ops.python_function import py_func
from situs._src.runtime.eager import cuda_memory
from situs._src.runtime.session import config as session_config
from tests.conftest import STUCK

LOCAL = "/job:localhost/replica:0/task:0"


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as made:
        yield made


def names(config=None):
    return [device.name.removeprefix(f"{LOCAL}/device:") for device in tf.Session(config=config).list_devices()]


# Devices.


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ({}, ["CPU:0", "GPU:0", "GPU:1", "GPU:2", "GPU:3"]),
        ({"GPU": 0}, ["CPU:0"]),
        ({"GPU": 2}, ["CPU:0", "GPU:0", "GPU:1"]),
        ({"GPU": 9}, ["CPU:0", "GPU:0", "GPU:1", "GPU:2", "GPU:3"]),
        ({"CPU": 4, "GPU": 0}, ["CPU:0", "CPU:1", "CPU:2", "CPU:3"]),
        ({"CPU": 1, "GPU": 0}, ["CPU:0"]),
        ({"FOO": 3, "GPU": 0}, ["CPU:0"]),
        ({"cpu": 3, "GPU": 0}, ["CPU:0"]),
    ],
    ids=str,
)
def test_device_counts_choose_the_devices(counts, expected):
    assert names(tf.ConfigProto(device_count=counts)) == expected


def test_twelve_cpus_are_listed_in_order():
    made = names(tf.ConfigProto(device_count={"CPU": 12, "GPU": 0}))
    assert made == [f"CPU:{i}" for i in range(12)]


@pytest.mark.parametrize("count", [0, -1])
def test_there_is_no_session_without_a_cpu(count):
    with pytest.raises(tf.errors.NotFoundError) as caught:
        tf.Session(config=tf.ConfigProto(device_count={"CPU": count}))
    assert str(caught.value) == "No CPU devices are available in this process"


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (["/job:x"], ["CPU:0"]),
        (["/gpu:1"], ["CPU:0", "GPU:1"]),
        (["/gpu:1", "/gpu:3"], ["CPU:0", "GPU:1", "GPU:3"]),
        (["/job:localhost"], ["CPU:0", "GPU:0", "GPU:1", "GPU:2", "GPU:3"]),
    ],
)
def test_filters_keep_what_matches_and_the_cpu(filters, expected):
    assert names(tf.ConfigProto(device_filters=filters)) == expected


def test_a_device_tells_what_it_is():
    first = tf.Session().list_devices()[0]
    assert re.fullmatch(rf"_DeviceAttributes\({LOCAL}/device:CPU:0, CPU, 268435456, -?\d+\)", repr(first))
    assert (first.name, first.device_type, first.memory_limit_bytes) == (f"{LOCAL}/device:CPU:0", "CPU", 268435456)
    assert type(first.incarnation) is int


def test_logical_cpus_of_a_session_run_operations():
    with tf.device("/cpu:3"):
        a = tf.constant([1.0, 2.0]) * 2.0
    with tf.device("/cpu:1"):
        b = a + 1.0
    sess = tf.Session(config=tf.ConfigProto(device_count={"CPU": 4, "GPU": 0}))
    assert sess.run(b).tolist() == [3.0, 5.0]
    assert sess.placement()[a.op].device.name == f"{LOCAL}/device:CPU:3"
    with pytest.raises(tf.errors.InvalidArgumentError, match="CPU:3"):
        tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})).run(b)


# Cards: virtual ones cannot be chosen among once they are made, but the list is read.


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("x", tf.errors.InvalidArgumentError, "Could not parse entry in 'visible_device_list': 'x'."),
        (
            "0,9",
            tf.errors.InvalidArgumentError,
            "'visible_device_list' listed an invalid GPU id '9' but visible device",
        ),
        ("0,0", tf.errors.InvalidArgumentError, "visible_device_list contained a duplicate entry: 0,0"),
        ("1,0", tf.errors.AlreadyExistsError, "is being mapped to multiple devices"),
        ("-1", tf.errors.InvalidArgumentError, "Could not parse entry"),
    ],
)
@pytest.mark.virtual
def test_a_list_of_visible_cards_is_checked(text, error, message):
    with pytest.raises(error) as caught:
        tf.Session(config=tf.ConfigProto(gpu_options=tf.GPUOptions(visible_device_list=text)))
    assert message in str(caught.value)


@pytest.mark.virtual
def test_the_same_cards_again_are_no_change():
    config = tf.ConfigProto(gpu_options=tf.GPUOptions(visible_device_list="0,1,2,3"))
    assert names(config) == ["CPU:0", "GPU:0", "GPU:1", "GPU:2", "GPU:3"]


# Memory: a process of two virtual GPUs of its own, of which a session's options are read.


@pytest.fixture
def gpus(monkeypatch):
    """The GPUs of a process where nothing has been said about memory; called, it makes them."""
    monkeypatch.delenv("TF_FORCE_GPU_ALLOW_GROWTH", raising=False)
    inventory = Inventory()
    inventory.set_virtual_gpus(VirtualGpus(2, 2**30))
    for module in (session_config, policy, cuda_memory, ledger):
        monkeypatch.setattr(module, "process", inventory)
    monkeypatch.setattr(policy, "current", policy.MemoryPolicy())
    monkeypatch.setattr(policy, "_in_force", {})
    monkeypatch.setattr(session_config, "_warned", False)
    inventory.on_split(policy.refuse_split_of_fraction)
    inventory.on_start(policy._settle)
    inventory.on_start(ledger._open)
    return lambda: [device for device in inventory.devices() if device.type == "GPU"]


def read(limits=(), **options):
    options = tf.GPUOptions(**options)
    if limits:
        options.experimental.virtual_devices.add(memory_limit_mb=limits)
    session_config.read_config(tf.ConfigProto(gpu_options=options))


def told(gpus):
    return ", ".join(f"{gpu.memory_limit >> 20} {policy.of(gpu)}" for gpu in gpus())


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, "1024 map all, 1024 map all"),
        ({"allow_growth": True}, "1024 growth, 1024 growth"),
        ({"per_process_gpu_memory_fraction": 0.25}, "256 fraction 0.25 of 1024 MiB, 256 fraction 0.25 of 1024 MiB"),
        ({"per_process_gpu_memory_fraction": 0.0}, "1024 map all, 1024 map all"),
        (
            {"per_process_gpu_memory_fraction": 0.5, "allow_growth": True},
            "512 fraction 0.5 of 1024 MiB, growing, 512 fraction 0.5 of 1024 MiB, growing",
        ),
        ({"limits": [100]}, "100 limit 100 MiB, 1024 map all"),
        ({"limits": [100], "allow_growth": True}, "100 limit 100 MiB, growing, 1024 growth"),
    ],
    ids=str,
)
@pytest.mark.parametrize("made", [False, True])
def test_memory_options_count_until_a_gpu_is_used(gpus, options, expected, made):
    if made:
        gpus()
    read(**options)
    assert told(gpus) == expected
    assert [gpu.account.limit for gpu in gpus()] == [gpu.memory_limit for gpu in gpus()]
    gpus()[0].account.used = True
    read(**options)  # the same again, and nothing at all, is no change
    read()
    assert told(gpus) == expected


def test_other_memory_options_after_that_are_told_of_once(gpus):
    read(allow_growth=True)
    gpus()[1].account.used = True
    with pytest.warns(RuntimeWarning) as caught:
        read(per_process_gpu_memory_fraction=0.25)
    read([1, 2])
    read([1])
    assert [str(warning.message) for warning in caught] == [
        "This session asks for fraction 0.25, but the memory of the GPUs is settled (GPU:0 growth; GPU:1 growth), and "
        "the session goes on with that. Give these options to the first session, or set them with tf.config at the "
        "top of the program, before anything runs on a GPU; or start a new process."
    ]
    assert told(gpus) == "1024 growth, 1024 growth"
    with pytest.raises(tf.errors.InvalidArgumentError, match="above 0 and at most 1"):
        read(per_process_gpu_memory_fraction=1.5)


def test_other_logical_gpus_come_too_late_once_they_are_made(gpus):
    gpus()
    with pytest.warns(
        RuntimeWarning, match=r"asks for memory limits of \[100.0, 200.0\] MB for /physical_device:GPU:0, but"
    ):
        read([100, 200])
    assert told(gpus) == "1024 map all, 1024 map all"


def test_the_environment_overrides_a_sessions_growth(gpus, monkeypatch):
    monkeypatch.setenv("TF_FORCE_GPU_ALLOW_GROWTH", "false")
    read(allow_growth=True)
    assert told(gpus) == "1024 map all, 1024 map all"
    gpus()[0].account.used = True
    read(allow_growth=True)


def test_without_gpus_memory_options_have_no_effect(gpus):
    session_config.process.set_virtual_gpus(VirtualGpus(0))
    read([100, 200])
    read(per_process_gpu_memory_fraction=0.5, allow_growth=True)
    assert gpus() == []
    read(per_process_gpu_memory_fraction=0.25)


def test_contradictions_between_a_session_and_the_process_are_refused(gpus):
    read(per_process_gpu_memory_fraction=0.5)
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="It's invalid to set per_process_gpu_memory_fraction when"
    ):
        read([9])


def test_several_sessions_of_a_program(run_python):
    out = run_python(
        """
import situs.compat.v1 as tf
with tf.device("/gpu:0"):
    c = tf.constant([1.0, 2.0]) + 1.0
def run(**options):
    config = tf.ConfigProto(gpu_options=tf.GPUOptions(**options))
    with tf.Session(config=config) as sess:
        print(sess.run(c), sess.list_devices()[1].memory_limit_bytes >> 20)
tf.config.list_logical_devices()
run(per_process_gpu_memory_fraction=0.25)
run(per_process_gpu_memory_fraction=0.25)
run(allow_growth=True)
run(per_process_gpu_memory_fraction=0.75)
""",
        SITUS_VIRTUAL_GPUS="1x1GiB",
    )
    assert [line for line in out.splitlines() if line.startswith("[")] == ["[2. 3.] 256"] * 4
    assert out.count("RuntimeWarning: This session asks for growth, but") == out.count("RuntimeWarning") == 1
    assert "program.py:7: RuntimeWarning" in out  # the line that makes the session


@pytest.mark.parametrize("fraction", [-0.5, 1.5, float("nan"), float("inf"), 1.0001])
def test_fractions_out_of_range_are_refused(fraction):
    options = tf.GPUOptions(per_process_gpu_memory_fraction=fraction)
    with pytest.raises(tf.errors.InvalidArgumentError, match="above 0 and at most 1"):
        tf.Session(config=tf.ConfigProto(gpu_options=options))


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ([0.0], "positive number of megabytes, got 0"),
        ([100, -1.0], "positive number of megabytes, got -1"),
        ([float("nan")], "positive number of megabytes, got nan"),
        ([float("inf")], "add up to more than the GPU's 2048 MB"),
        ([1024, 1025], "add up to more than the GPU's 2048 MB"),
    ],
)
@pytest.mark.virtual
def test_limits_out_of_range_are_refused_even_late(limits, message):
    options = tf.GPUOptions()
    options.experimental.virtual_devices.add(memory_limit_mb=limits)
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        tf.Session(config=tf.ConfigProto(gpu_options=options))


def test_the_first_session_chooses_the_cards_of_the_process(run_python):
    printed = run_python(
        """
import situs.compat.v1 as tf
c = tf.constant(1.0)
options = tf.GPUOptions(visible_device_list="2,0", allow_growth=True)
sess = tf.Session(config=tf.ConfigProto(gpu_options=options))
print([d.name[-5:] for d in sess.list_devices()], sess.run(c))
try:
    tf.Session(config=tf.ConfigProto(gpu_options=tf.GPUOptions(visible_device_list="0")))
except tf.errors.AlreadyExistsError as error:
    print("refused")
""",
        SITUS_VIRTUAL_GPUS="4x1GiB",
    )
    assert printed.splitlines() == ["['CPU:0', 'GPU:0', 'GPU:1'] 1.0", "refused"]


def test_a_session_may_split_the_cards(run_python):
    printed = run_python(
        """
import situs.compat.v1 as tf
c = tf.constant(1.0)
options = tf.GPUOptions(visible_device_list="2,0,1")
for megabytes in ([100, 200], [], [300]):
    options.experimental.virtual_devices.add(memory_limit_mb=megabytes)
sess = tf.Session(config=tf.ConfigProto(gpu_options=options))
print([(d.name[-5:], d.memory_limit_bytes >> 20) for d in sess.list_devices()[1:]], sess.run(c))
""",
        SITUS_VIRTUAL_GPUS="3x1GiB",
    )
    assert printed.strip() == "[('GPU:0', 100), ('GPU:1', 200), ('GPU:2', 1024), ('GPU:3', 300)] 1.0"


@pytest.mark.parametrize(
    ("options", "parts", "expected"),
    [
        (
            {"per_process_gpu_memory_fraction": 0.5},
            1,
            "It's invalid to set per_process_gpu_memory_fraction when virtual_devices is set. Leave one of them out: "
            "the fraction is a share of every whole GPU, while the memory limits of virtual_devices split one GPU.",
        ),
        ({}, 5, "Not enough GPUs to create virtual devices. num_gpus_to_use: 4 #virtual_devices: 5"),
        (
            {"visible_device_list": "0,1,2,3"},
            1,
            "The number of GPUs in visible_device_list doesn't match the number of elements in the virtual_devices "
            "list. #GPUs in visible_device_list: 4 virtual_devices.size(): 1",
        ),
    ],
)
@pytest.mark.virtual
def test_parts_of_cards_must_fit_the_cards(options, parts, expected):
    options = tf.GPUOptions(**options)
    for _ in range(parts):
        options.experimental.virtual_devices.add(memory_limit_mb=[100])
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        tf.Session(config=tf.ConfigProto(gpu_options=options))
    assert str(caught.value) == expected


# Fields.


def test_unknown_fields_and_values_of_the_wrong_type_are_refused():
    with pytest.raises(ValueError, match='Protocol message ConfigProto has no "bogus" field'):
        tf.ConfigProto(bogus=1)
    config = tf.ConfigProto()
    with pytest.raises(AttributeError, match='Protocol message ConfigProto has no "bogus" field'):
        config.bogus = 1
    with pytest.raises(AttributeError, match=r'Assignment not allowed to message.* field "gpu_options"'):
        config.gpu_options = tf.GPUOptions()
    for field, value in {"allow_soft_placement": "x", "inter_op_parallelism_threads": 1.5}.items():
        with pytest.raises(TypeError):
            setattr(config, field, value)
    with pytest.raises(TypeError):
        tf.RunOptions(timeout_in_ms="x")


# Placement.


def bad_and_good():
    with tf.device("/gpu:9"):
        bad = tf.constant(2.0, name="bad")
    return bad, tf.constant(1.0, name="good")


def test_a_bad_operation_anywhere_fails_every_run():
    _, good = bad_and_good()
    sess = tf.Session()
    for _ in range(2):
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"\{\{node bad\}\} was explicitly assigned to"):
            sess.run(good)


def test_a_bad_operation_added_later_fails_what_ran_before():
    first = tf.constant(0.0)
    sess = tf.Session()
    assert sess.run(first) == 0.0
    bad_and_good()
    with pytest.raises(tf.errors.InvalidArgumentError, match="bad"):
        sess.run(first)


def test_only_what_runs_is_placed_if_that_is_asked_for():
    bad, good = bad_and_good()
    sess = tf.Session(config=tf.ConfigProto(graph_options=tf.GraphOptions(place_pruned_graph=True)))
    assert sess.run(good) == 1.0
    with pytest.raises(tf.errors.InvalidArgumentError, match="bad"):
        sess.run(bad)
    assert sess.run(good) == 1.0


def test_soft_placement_takes_another_device():
    bad, good = bad_and_good()
    sess = tf.Session(config=tf.ConfigProto(allow_soft_placement=True))
    assert sess.run([bad, good]) == [2.0, 1.0]


def test_a_malformed_device_is_found_when_the_graph_runs():
    with tf.device(lambda op: "bogus"):
        k = tf.constant(1.0, name="k")
    assert k.op.device == "bogus"
    with pytest.raises(tf.errors.InvalidArgumentError, match="Malformed device specification 'bogus'"):
        tf.Session().run(k)


def where(sess, tensor):
    return sess.placement()[tensor.op].device.short_name


def test_a_device_asked_for_after_the_first_run_has_no_effect(caplog):
    with tf.device("/gpu:1"):
        a = tf.constant([1.0], name="a") * 1.0
    sess = tf.Session()
    sess.run(a)
    a.op._set_device("/gpu:2")
    assert "was changed by setting device after it was run by a session" in caplog.text
    sess.run(a)
    sess.run(a + 1.0)  # the graph has grown, and is placed again
    assert where(sess, a) == "GPU:1"
    assert where(tf.Session(), a) == "GPU:2"


def test_a_device_asked_for_before_the_first_run_counts(caplog):
    a = tf.constant(1.0)
    a.op._set_device("/gpu:2")
    assert a.device == "/gpu:2"
    assert where(tf.Session(), a) == "GPU:2"
    assert not caplog.text


def test_a_variable_stays_where_it_was_first_placed():
    v = tf.Variable(1.0, name="v")
    early = tf.Session()
    early.run(v.initializer)
    with tf.device("/gpu:2"):
        more = v.assign_add(1.0)
    assert early.run(more) == 2.0
    assert where(early, more) == "GPU:0"


# The log.


def logged(capsys):
    return sorted(capsys.readouterr().out.splitlines())


def test_the_log_tells_of_each_operation_once(capsys):
    with tf.device("/cpu:1"):
        a = tf.constant(1.0, name="a")
    b = tf.negative(a, name="b")
    sess = tf.Session(config=tf.ConfigProto(log_device_placement=True, device_count={"CPU": 2, "GPU": 0}))
    assert logged(capsys) == ["Device mapping: no known devices."]
    sess.run(b)
    lines = [f"a: {LOCAL}/device:CPU:1", f"b: {LOCAL}/device:CPU:0"]
    assert logged(capsys) == lines
    sess.run(b), sess.run(a)
    assert logged(capsys) == []
    tf.negative(b, name="c")
    sess.run(b)  # the same as before, but the graph has grown
    assert logged(capsys) == [*lines, f"c: {LOCAL}/device:CPU:0"]
    sess.run("c:0")
    assert logged(capsys) == []


def test_without_being_asked_nothing_is_logged(capsys):
    tf.Session().run(tf.constant(1.0))
    assert logged(capsys) == []


# Threads: four operations, each of which waits until as many as may overlap have begun.


@pytest.mark.parametrize(("threads", "together"), [(1, 1), (2, 2), (4, 4), (-1, 1)])
def test_threads_of_a_session_bound_what_overlaps(threads, together):
    barrier, running, most = threading.Barrier(together, timeout=STUCK), [], []

    def meet(x):
        running.append(x)
        most.append(len(running))
        barrier.wait()
        running.remove(x)
        return x

    met = [py_func(meet, [tf.constant(float(i))], tf.float32) for i in range(4)]
    sess = tf.Session(config=tf.ConfigProto(inter_op_parallelism_threads=threads, use_per_session_threads=True))
    assert sess.run(met) == [0.0, 1.0, 2.0, 3.0]
    assert max(most) == together


def test_the_first_session_fixes_the_shared_threads(run_python):
    printed = run_python(
        """
import threading
import situs.compat.v1 as tf
from situs._src.ops.python_function import py_func
barrier, running, most = threading.Barrier(2), [], []
def meet(x):
    running.append(x)
    most.append(len(running))
    barrier.wait()
    running.remove(x)
    return x
met = [py_func(meet, [tf.constant(float(i))], tf.float32) for i in range(4)]
for threads in (2, 1, 4):
    most.clear()
    tf.Session(config=tf.ConfigProto(inter_op_parallelism_threads=threads)).run(met)
    print(max(most))
""",
        SITUS_VIRTUAL_GPUS="0",
    )
    assert printed.split() == ["2", "2", "2"]


@pytest.mark.parametrize("asked", [True, False])
def test_the_graph_of_a_session_has_shapes_if_they_are_asked_for(asked):
    tf.constant([[1, 2]])
    sess = tf.Session(config=tf.ConfigProto(graph_options=tf.GraphOptions(infer_shapes=asked)))
    (node,) = sess.graph_def.node
    assert ("_output_shapes" in node.attr) is asked
    if asked:
        assert [dim.size for dim in node.attr["_output_shapes"].list.shape[0].dim] == [1, 2]
