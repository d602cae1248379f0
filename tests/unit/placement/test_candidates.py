"""Which device an op gets. Each test draws its machine and its kernels."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from situs._src.base.devices.logical import Device
from situs._src.base.devices.physical import PhysicalDevice
from situs._src.base.devices.spec import DeviceSpec
from situs._src.base.dtype import FLOATING, NUMERIC, float32, int32
from situs._src.ir.registry.op import Op
from situs._src.ir.registry.signature import parse_signature
from situs._src.placement.candidates import assign, candidates
from situs.errors import InvalidArgumentError, NotFoundError, OpError, UnknownDeviceError
from situs.extend import CPU, GPU

LOCAL = "/job:localhost/replica:0/task:0"


def machine(cpus=1, gpus=2):
    def make(kind, index):
        return Device(kind, index, PhysicalDevice(f"/physical_device:{kind}:{index}", kind), 2**30)

    return [make("CPU", i) for i in range(cpus)] + [make("GPU", i) for i in range(gpus)]


def matmul(**kernels):
    made = Op("MatMul", parse_signature("a: T, b: T -> T"), {"T": NUMERIC}, {}, False)
    for device_type, dtypes in kernels.items():
        made.kernel(device_type, T=dtypes)(lambda a, b: a)
    return made


BOTH = {"CPU": NUMERIC, "GPU": FLOATING}


def place(op, dtype=float32, request=None, soft=False, devices=None):
    spec = None if request is None else DeviceSpec.from_string(request).completed()
    return assign(op, {"T": dtype}, devices or machine(), spec, soft)


def test_a_gpu_comes_before_the_cpu_and_a_low_number_before_a_high_one():
    order = [device.short_name for device, _ in candidates(matmul(**BOTH), {"T": float32}, machine(2, 12))]
    assert order == [f"GPU:{i}" for i in range(12)] + ["CPU:0", "CPU:1"]


def test_without_a_request_the_first_gpu_with_a_kernel():
    placed = place(matmul(**BOTH))
    assert str(placed) == "MatMul -> GPU:0 (default: first GPU with a float32 kernel)"


def test_without_a_kernel_for_the_dtype_there_the_cpu():
    placed = place(matmul(**BOTH), int32)
    assert str(placed) == "MatMul -> CPU:0 (default: no int32 kernel for MatMul on GPU)"


def test_without_a_gpu_the_cpu():
    assert place(matmul(**BOTH), devices=machine(1, 0)).reason == "default: no GPU on this machine"


def test_a_request_is_met_where_a_kernel_is():
    placed = place(matmul(**BOTH), request="/gpu:1")
    assert placed.device.short_name == "GPU:1"
    assert placed.reason == "requested: /device:GPU:1"


def test_a_missing_device_is_an_error_with_the_words_of_old_and_what_exists():
    with pytest.raises(UnknownDeviceError) as raised:
        place(matmul(**BOTH), request="/gpu:2")
    assert isinstance(raised.value, RuntimeError)
    assert isinstance(raised.value, InvalidArgumentError)
    name = f"{LOCAL}/device:GPU:2"
    assert str(raised.value).startswith(f"Error copying tensor to device: {name}. {name} unknown device.")
    assert f"All available devices [{LOCAL}/device:CPU:0, {LOCAL}/device:GPU:0, {LOCAL}/device:GPU:1]" in str(
        raised.value
    )
    assert "set_soft_device_placement(True)" in str(raised.value)


def test_softly_a_missing_device_gives_way_to_the_best_one():
    placed = place(matmul(**BOTH), request="/gpu:2", soft=True)
    assert str(placed) == "MatMul -> GPU:0 (soft: no GPU:2 on this machine)"
    assert placed.requested == f"{LOCAL}/device:GPU:2"


def test_a_device_without_a_kernel_is_an_error_that_lists_the_kernels():
    with pytest.raises(InvalidArgumentError, match=r"no supported kernel for GPU devices") as raised:
        place(matmul(**BOTH), int32, request="/gpu:0")
    assert not isinstance(raised.value, UnknownDeviceError)
    assert "device='GPU'; T in [float, double, bfloat16, half]" in str(raised.value)


def test_softly_a_missing_kernel_gives_way_to_the_cpu():
    placed = place(matmul(**BOTH), int32, request="/gpu:0", soft=True)
    assert str(placed) == "MatMul -> CPU:0 (soft: no int32 kernel for MatMul on GPU)"


@pytest.mark.parametrize("request_", ["/job:worker", "/task:1", "/replica:2"])
def test_job_replica_and_task_are_never_given_up(request_):
    with pytest.raises(UnknownDeviceError, match="enable_soft_placement=1"):
        place(matmul(**BOTH), request=request_, soft=True)
    with pytest.raises(UnknownDeviceError, match=r"Pick one of these\. \[Op:MatMul\]$"):  # softness would not help
        place(matmul(**BOTH), request=request_)


def test_an_op_without_any_kernel_says_so():
    with pytest.raises(NotFoundError, match=r"(?s)Could not find device for node.*<no registered kernels>"):
        place(matmul(), soft=True)


requests = st.one_of(
    st.none(),
    st.builds(
        "{}/device:{}:{}".format,
        st.sampled_from(["", "/job:w"]),
        st.sampled_from(["CPU", "GPU", "FOO"]),
        st.integers(0, 3),
    ),
)
kernel_sets = st.dictionaries(st.sampled_from([CPU, GPU]), st.sampled_from([FLOATING, NUMERIC]))


@given(st.integers(1, 3), st.integers(0, 3), kernel_sets, st.sampled_from([float32, int32]), requests, st.booleans())
def test_an_assignment_is_legal_or_the_error_is_true(cpus, gpus, kernels, dtype, request, soft):
    devices = machine(cpus, gpus)
    able = [d for d in devices if dtype in kernels.get(d.type, ())]
    spec = None if request is None else DeviceSpec.from_string(request).completed()
    wanted = [d for d in able if spec is None or spec.matches(d.spec)]
    try:
        placed = place(matmul(**kernels), dtype, request, soft, devices)
    except OpError as raised:
        placed = raised
    if isinstance(placed, OpError):
        assert not wanted
        if not able:
            assert isinstance(placed, NotFoundError)
        elif soft:
            assert spec.job != "localhost"
        elif isinstance(placed, UnknownDeviceError):
            assert not any(spec.matches(d.spec) for d in devices)
        return
    assert placed.device in able
    assert dtype in placed.kernel.types["T"]
    if wanted:
        assert placed.device in wanted
        assert placed.kind in ("default", "requested")
    else:
        assert soft
        assert placed.kind == "soft"
