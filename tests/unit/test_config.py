"""``tf.config``, ``tf.test`` and ``device_lib``: what programs ask and set. Settings run in processes of their own."""

from __future__ import annotations

import numpy as np
import pytest

import situs as tf
from situs.python.client import device_lib


def test_physical_and_logical_devices_print_as_tensorflows():  # checks 63 and 64
    assert (
        repr(tf.config.list_physical_devices()[0]) == "PhysicalDevice(name='/physical_device:CPU:0', device_type='CPU')"
    )
    assert repr(tf.config.list_logical_devices("GPU")[1]) == "LogicalDevice(name='/device:GPU:1', device_type='GPU')"
    assert tf.config.list_physical_devices("gpu") == []
    assert tf.config.experimental.list_physical_devices("GPU") == tf.config.list_physical_devices("GPU")


def test_details_of_a_card():
    cpu, gpu, *_ = tf.config.list_physical_devices()
    assert tf.config.experimental.get_device_details(cpu) == {}
    assert tf.config.experimental.get_device_details(gpu) == {
        "device_name": "Situs virtual GPU",
        "compute_capability": (9, 0),
    }
    with pytest.raises(ValueError, match=r"device must be a tf.config.PhysicalDevice"):
        tf.config.experimental.get_device_details("/gpu:0")


def test_questions_about_gpus():
    assert tf.test.is_gpu_available()
    assert tf.test.is_gpu_available(cuda_only=True, min_cuda_compute_capability=(7, 0))
    assert not tf.test.is_gpu_available(min_cuda_compute_capability=(99, 0))
    assert tf.test.gpu_device_name() == "/device:GPU:0"


def test_a_machine_without_a_gpu(run_python):  # check 74
    out = run_python(
        "import situs as tf; print(tf.test.is_gpu_available(), [tf.test.gpu_device_name()], "
        "tf.config.list_physical_devices('GPU'))"
    )
    assert out == "False [''] []\n"


def test_local_devices_have_all_fields():
    cpu, gpu, *_ = device_lib.list_local_devices()
    assert (cpu.name, cpu.device_type, cpu.memory_limit) == ("/device:CPU:0", "CPU", 268435456)
    assert gpu.memory_limit == 2 * 2**30
    assert gpu.locality.bus_id == 1
    assert gpu.incarnation > 0
    assert str(cpu).startswith(
        'name: "/device:CPU:0"\ndevice_type: "CPU"\nmemory_limit: 268435456\nlocality {\n}\nincarnation: '
    )


SETUP = (
    "import situs as tf; cpu = tf.config.list_physical_devices('CPU')[0]; LDC = tf.config.LogicalDeviceConfiguration\n"
)


def test_several_logical_cpus(run_python):
    out = run_python(
        SETUP + "tf.config.set_logical_device_configuration(cpu, [LDC()] * 4)\n"
        "print([d.name for d in tf.config.list_logical_devices()])\n"
        "with tf.device('/cpu:3'): print((tf.constant([1.0]) + 1.0).device)\n"
        "tf.config.set_logical_device_configuration(cpu, [LDC()] * 4)\n"
        "tf.config.set_logical_device_configuration(cpu, [LDC()])\n",
        fails=True,
    )
    assert "['/device:CPU:0', '/device:CPU:1', '/device:CPU:2', '/device:CPU:3']" in out
    assert "/job:localhost/replica:0/task:0/device:CPU:3\n" in out
    assert "Virtual devices cannot be modified after being initialized" in out


def test_visible_devices(run_python):
    program = (
        "import situs as tf\ngpus = tf.config.list_physical_devices('GPU')\n"
        "tf.config.set_visible_devices(gpus[2], 'GPU')\n"
        "print(tf.config.list_logical_devices('GPU'), tf.config.get_visible_devices('GPU'))"
    )
    out = run_python(program, SITUS_VIRTUAL_GPUS="3")
    assert out == (
        "[LogicalDevice(name='/device:GPU:0', device_type='GPU')] "
        "[PhysicalDevice(name='/physical_device:GPU:2', device_type='GPU')]\n"
    )


def test_threads_are_bounded_even_if_devices_are_listed_first(run_python):
    out = run_python(
        "import situs as tf, torch\ntf.config.threading.set_intra_op_parallelism_threads(1)\n"
        "tf.config.list_logical_devices(); tf.add(1.0, 2.0); print(torch.get_num_threads())"
    )
    assert out == "1\n"


def test_memory_growth_is_the_same_for_all_gpus(run_python):
    program = (
        "import situs as tf\n"
        "tf.config.experimental.set_memory_growth(tf.config.list_physical_devices('GPU')[0], True)\n{more}\n"
        "print(len(tf.config.list_logical_devices('GPU')))"
    )
    out = run_python(program.format(more=""), fails=True, SITUS_VIRTUAL_GPUS="2")
    assert "Memory growth cannot differ between GPU devices" in out
    hide = "tf.config.set_visible_devices(tf.config.list_physical_devices('GPU')[0], 'GPU')"
    assert run_python(program.format(more=hide), SITUS_VIRTUAL_GPUS="2") == "1\n"


def test_threads(run_python):  # check 67
    out = run_python(
        "import situs as tf, torch\ntf.config.threading.set_intra_op_parallelism_threads(1)\n"
        "tf.config.threading.set_inter_op_parallelism_threads(3)\n"
        "tf.add(1.0, 2.0); print(torch.get_num_threads(), tf.config.threading.get_inter_op_parallelism_threads())\n"
        "tf.config.threading.set_intra_op_parallelism_threads(1)\n"
        "tf.config.threading.set_intra_op_parallelism_threads(2)\n",
        fails=True,
    )
    assert out.startswith("1 3\n")
    assert "Intra op parallelism cannot be modified after initialization." in out
    with pytest.raises(ValueError, match="at least 0"):
        tf.config.threading.set_inter_op_parallelism_threads(-1)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("tf.config.set_virtual_gpus(2)", "Virtual GPUs cannot be modified"),
        ("tf.config.set_visible_devices([], 'GPU')", "Visible devices cannot be modified"),
        (
            "tf.config.experimental.set_memory_growth(tf.config.list_physical_devices('GPU')[0], True)",
            "Physical devices cannot be modified",
        ),
        ("tf.config.gpu.set_per_process_memory_fraction(0.5)", "Physical devices cannot be modified"),
    ],
)
def test_settings_that_come_too_late_say_what_to_move(setting, message):
    tf.add(1.0, 2.0)
    with pytest.raises(RuntimeError, match=rf"{message} after being initialized.*top of the program"):
        eval(setting, {"tf": tf})


@pytest.mark.parametrize("fraction", [0, -0.1, 1.5, float("nan"), "0.4", None, True])
def test_fractions_out_of_range_are_refused(fraction):
    with pytest.raises(ValueError, match="above 0 and at most 1"):
        tf.config.gpu.set_per_process_memory_fraction(fraction)


def test_memory_growth_is_for_gpus():  # check 69
    cpu = tf.config.list_physical_devices("CPU")[0]
    with pytest.raises(ValueError, match="Cannot set memory growth on non-GPU and non-Pluggable devices"):
        tf.config.experimental.set_memory_growth(cpu, True)
    assert tf.config.experimental.get_memory_growth(tf.config.list_physical_devices("GPU")[0]) is False


@pytest.mark.parametrize("arguments", [(-1,), (1.5,), ("4",), (True,), (2, 0), (2, "lots"), (10**6,)])
def test_bad_requests_for_virtual_gpus_are_refused(arguments):
    with pytest.raises(ValueError):  # noqa: PT011 - the texts are tested with the settings
        tf.config.set_virtual_gpus(*arguments)


@pytest.mark.parametrize("devices", ["/gpu:0", 3, [3], None])
def test_bad_visible_devices_are_refused(devices):
    with pytest.raises(ValueError, match=r"Expected a PhysicalDevice|Unrecognized device"):
        tf.config.set_visible_devices(devices)


CPU0 = tf.config.list_physical_devices("CPU")[0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tf.config.list_logical_devices(np.zeros(2)), "A device type is a word"),
        (lambda: tf.config.get_visible_devices(5), "A device type is a word"),
        (lambda: tf.config.set_visible_devices([], np.zeros(2)), "A device type is a word"),
        (lambda: tf.config.set_logical_device_configuration(CPU0, 5), "Expected a list of LogicalDeviceConfiguration"),
        (lambda: tf.config.get_logical_device_configuration(np.zeros(2)), "Unrecognized device"),
        (lambda: tf.config.set_virtual_gpus(1, None), "memory of a virtual GPU is bytes"),
        (lambda: tf.config.set_virtual_gpus(1, float("nan")), "memory of a virtual GPU is bytes"),
        (lambda: tf.config.experimental.set_device_policy(np.zeros(2)), "Invalid argument `device_policy`"),
        (lambda: tf.config.experimental.set_memory_growth(CPU0, np.zeros(2)), None),
        (lambda: tf.test.is_gpu_available(min_cuda_compute_capability=5), "pair of integers such as"),
        (lambda: tf.errors.exception_type_from_error_code(99), "There is no error code 99; the codes are 1 to 16"),
        (lambda: tf.errors.exception_type_from_error_code([]), "There is no error code"),
        (lambda: tf.errors.error_code_from_exception_type(ValueError), "Expected a subclass of tf.errors.OpError"),
    ],
)
def test_settings_of_the_wrong_kind_are_refused(call, message):
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        call()
