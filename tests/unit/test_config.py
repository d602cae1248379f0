"""``tf.config``, ``tf.test`` and ``device_lib``: what programs ask and set. Settings run in processes of their own."""

from __future__ import annotations

import numpy as np
import pytest

import situs as tf
from situs.python.client import device_lib

LOCAL = "/job:localhost/replica:0/task:0"


def test_physical_and_logical_devices_print_as_tensorflows():
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


def test_a_machine_without_a_gpu(run_python):
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


def test_threads(run_python):
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


@pytest.mark.parametrize("fraction", [0, -0.1, 1.5, float("nan"), "0.4", None, True, np.float32("inf")])
@pytest.mark.parametrize("module", [tf.config.gpu, tf.gpu])
def test_fractions_out_of_range_are_refused(module, fraction):
    with pytest.raises(ValueError, match="above 0 and at most 1"):
        module.set_per_process_memory_fraction(fraction)


POLICY = (
    "import situs as tf\nfrom situs._src.base.budget import policy\n"
    "from situs._src.base.devices.inventory import process\n"
    "gpus = tf.config.list_physical_devices('GPU')\n"
    "def limit(*limits): return [tf.config.LogicalDeviceConfiguration(memory_limit=m) for m in limits]\n"
    "{setting}\nfor gpu in tf.config.list_logical_devices('GPU'):\n"
    "  info = tf.config.experimental.get_memory_info(gpu.name)\n"
    "  device = next(d for d in process.devices() if d.local_name == gpu.name)\n"
    "  assert info['limit'] == device.memory_limit, info\n"
    "  print(info['limit'] >> 20, policy.of(device), sep=', ', end='; ')"
)
EVERY_GPU = "[tf.config.experimental.set_memory_growth(gpu, True) for gpu in gpus]"
SPLIT = "tf.config.set_logical_device_configuration(gpus[0], limit(100, 200))"


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ("pass", "512, map all; 512, map all; "),
        ("tf.config.gpu.set_per_process_memory_growth()", "512, growth; 512, growth; "),
        ("tf.gpu.set_per_process_memory_growth(True)", "512, growth; 512, growth; "),
        ("tf.gpu.set_per_process_memory_growth(); tf.gpu.set_per_process_memory_growth(False)", "512, map all; " * 2),
        (EVERY_GPU, "512, growth; 512, growth; "),
        ("tf.config.gpu.set_per_process_memory_fraction(0.5)", "256, fraction 0.5 of 512 MiB; " * 2),
        ("tf.gpu.set_per_process_memory_fraction(0.5)", "256, fraction 0.5 of 512 MiB; " * 2),
        (f"tf.gpu.set_per_process_memory_fraction(0.5); {EVERY_GPU}", "256, fraction 0.5 of 512 MiB, growing; " * 2),
        (SPLIT, "100, limit 100 MiB; 200, limit 200 MiB; 512, map all; "),
        (f"{SPLIT}; {EVERY_GPU}", "100, limit 100 MiB, growing; 200, limit 200 MiB, growing; 512, growth; "),
        (f"{EVERY_GPU}; {SPLIT}", "100, limit 100 MiB, growing; 200, limit 200 MiB, growing; 512, growth; "),
        (
            "tf.config.experimental.set_virtual_device_configuration(gpus[1],"
            " [tf.config.experimental.VirtualDeviceConfiguration(memory_limit=64)])",
            "512, map all; 64, limit 64 MiB; ",
        ),
    ],
)
def test_every_spelling_of_a_memory_policy(run_python, setting, expected):
    assert run_python(POLICY.format(setting=setting), SITUS_VIRTUAL_GPUS="2x512MiB") == expected


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        (
            f"{SPLIT}; tf.gpu.set_per_process_memory_fraction(0.5)",
            "It's invalid to set per_process_gpu_memory_fraction",
        ),
        (
            f"tf.gpu.set_per_process_memory_fraction(0.5); {SPLIT}",
            "It's invalid to set per_process_gpu_memory_fraction",
        ),
        ("tf.config.set_logical_device_configuration(gpus[0], limit(300, 300))", "add up to more than the GPU's 512"),
        ("tf.config.set_logical_device_configuration(gpus[0], limit('1'))", "positive number of megabytes, got '1'"),
        ("tf.gpu.set_per_process_memory_growth('yes')", "Expected bool for argument 'enabled' not 'yes'"),
    ],
)
def test_memory_policies_that_cannot_be_are_refused(run_python, setting, message):
    assert message in run_python(POLICY.format(setting=setting), SITUS_VIRTUAL_GPUS="2x512MiB", fails=True)


def test_growth_from_the_environment(run_python):
    forced = {"SITUS_VIRTUAL_GPUS": "2x512MiB", "TF_FORCE_GPU_ALLOW_GROWTH": "true"}
    told = "print(tf.config.experimental.get_memory_growth(gpus[0]))"
    assert run_python(POLICY.format(setting=told), **forced) == "True\n" + "512, growth; " * 2
    forced["TF_FORCE_GPU_ALLOW_GROWTH"] = "perhaps"
    out = run_python(POLICY.format(setting="pass"), fails=True, **forced)
    assert "The TF_FORCE_GPU_ALLOW_GROWTH environment variable is set but could not be parsed: 'perhaps'" in out


# What is used.


@pytest.mark.parametrize("name", ["GPU:0", "/gpu:0", "/device:GPU:0", f"{LOCAL}/device:GPU:0"])
def test_memory_info_counts_tensors(name):
    info = tf.config.experimental.get_memory_info
    before = info(name)
    assert all(type(value) is int for value in before.values())
    assert list(before) == ["current", "peak", "reserved", "limit"]
    assert before["limit"] == 2 * 2**30
    with tf.device("/gpu:0"):
        held = tf.zeros([1000], tf.float32)
        large = tf.zeros([100_000], tf.float32)
    del large
    after = info(name)
    assert after["current"] == before["current"] + 4000 == tf.config.experimental.get_memory_usage(name)
    assert after["peak"] >= before["current"] + 404_000
    tf.config.experimental.reset_memory_stats(name)
    assert info(name)["peak"] == after["current"]
    tf.config.experimental.release_memory(name)
    assert after["current"] <= info(name)["reserved"] <= after["reserved"]
    del held
    assert (
        info(name)["current"] <= before["current"]
    )  # less, if constants that are kept for the next time were given back


MEMORY_QUESTIONS = {
    "get_memory_info": "Allocator stats not available for device '{}'",
    "get_memory_usage": "Allocator stats not available for device '{}'",
    "reset_memory_stats": "Cannot reset memory stats for device '{}'",
    "release_memory": "",  # of a CPU as well
}


@pytest.mark.parametrize("function", MEMORY_QUESTIONS)
def test_memory_is_that_of_a_gpu(function):
    ask = getattr(tf.config.experimental, function)
    for name in ("CPU:0", f"{LOCAL}/device:CPU:0") if MEMORY_QUESTIONS[function] else ():
        with pytest.raises(ValueError) as caught:  # noqa: PT011 - the whole text is compared
            ask(name)
        assert str(caught.value) == MEMORY_QUESTIONS[function].format(name)
    for name in ("GPU:9", "/job:x/replica:0/task:0/device:GPU:0", "/device:XPU:0", "GPU:" + "9" * 30):
        with pytest.raises(ValueError) as caught:  # noqa: PT011
            ask(name)
        assert str(caught.value) == f"No matching devices found for '{name}'"


@pytest.mark.parametrize("function", MEMORY_QUESTIONS)
@pytest.mark.parametrize("name", ["GPU", "junk", "", "GPU:*", "GPU:-1", "/job:localhost", 5, b"GPU:0", [], np.zeros(9)])
def test_memory_is_asked_for_by_type_and_number(function, name):
    with pytest.raises(ValueError, match=r"Failed parsing device name: '.*'\. Note a valid device string") as caught:
        getattr(tf.config.experimental, function)(name)
    assert str(caught.value).endswith('should at least contain a device type and a device index, like "GPU:0".')


@pytest.mark.parametrize("function", ["get_memory_info", "get_memory_usage", "reset_memory_stats"])
def test_memory_of_no_device_is_not_told(function):
    with pytest.raises(ValueError, match="Failed parsing device name: 'None'"):
        getattr(tf.config.experimental, function)(None)


def test_a_machine_without_a_gpu_has_no_memory_to_tell_of(run_python):
    out = run_python(
        "import situs as tf\ntf.gpu.set_per_process_memory_growth(); tf.gpu.set_per_process_memory_fraction(0.5)\n"
        "tf.config.experimental.release_memory(); print(tf.config.experimental.release_memory(None))\n"
        "tf.config.experimental.get_memory_info('GPU:0')",
        fails=True,
    )
    assert out.startswith("None\n")
    assert "No matching devices found for 'GPU:0'" in out


def test_memory_growth_is_for_gpus():
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


def test_options_of_the_graph_optimizer_are_kept(monkeypatch):
    monkeypatch.setattr("situs._src.config.optimizer._options", {"disable_model_pruning": False})
    optimizer = tf.config.optimizer
    optimizer.set_experimental_options({"remapping": 1, "constant_folding": False, "other": True})
    optimizer.set_experimental_options({"min_graph_nodes": 3})
    wanted = {"constant_folding": False, "remapping": True, "disable_model_pruning": False, "min_graph_nodes": 3}
    assert optimizer.get_experimental_options() == wanted  # recorded from TensorFlow
    with pytest.raises(TypeError, match="dictionary of options"):
        optimizer.set_experimental_options(None)
