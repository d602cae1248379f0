"""Ops and kernels: declaring them, finding them, adding kernels of one's own."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from situs._src.base.dtype import FLOATING, INTEGER, float32, int32, string
from situs._src.base.shapes import TensorShape
from situs._src.ir.registry.op import _OPS, infer_shapes
from situs.errors import AlreadyExistsError, InvalidArgumentError, NotFoundError
from situs.extend import CPU, GPU, find_op, op
from situs.extend import op as declare


@pytest.fixture
def scale(request):
    made = op("TestScale", "x: T -> y: T", T=FLOATING | INTEGER, factor=2)
    made.shape(lambda x, factor: x)
    yield made
    del _OPS["TestScale"]


def test_the_newest_kernel_that_fits_is_used(scale):
    scale.kernel(CPU, GPU)(lambda x, factor: "general")
    scale.kernel(GPU, T=FLOATING)(lambda x, factor: "special")
    assert scale.kernel_for(GPU, {"T": float32}).function(0, 1) == "special"
    assert scale.kernel_for(GPU, {"T": int32}).function(0, 1) == "general"
    assert scale.kernel_for(CPU, {"T": float32}).function(0, 1) == "general"
    assert scale.kernel_for(CPU, {"T": string}) is None
    assert scale.kernel_for("TPU", {"T": float32}) is None


def test_one_decorator_after_the_other_registers_one_function_twice(scale):
    @scale.kernel(CPU)
    @scale.kernel(GPU, T=FLOATING)
    def kernel(x, factor):
        return x

    assert [k.device_type for k in scale.kernels] == [GPU, CPU]
    assert str(scale.kernels[0]) == "device='GPU'; T in [float, double, bfloat16, half]"


def test_a_kernel_that_names_a_device_parameter_is_given_it(scale):
    scale.kernel(CPU)(lambda x, factor, device: x)
    scale.kernel(GPU)(len)
    assert [k.takes_device for k in scale.kernels] == [True, False]


def test_attributes_have_defaults_and_unknown_ones_are_refused(scale):
    assert scale.complete_attrs({}) == {"factor": 2}
    assert scale.complete_attrs({"factor": 3}) == {"factor": 3}
    with pytest.raises(InvalidArgumentError, match=r"TestScale has no attribute 'fcator'; it has: factor"):
        scale.complete_attrs({"fcator": 3})


def test_a_name_is_taken_once(scale):
    with pytest.raises(AlreadyExistsError, match="There is an op 'TestScale' already"):
        declare("TestScale", "x: T -> y: T")


def test_a_missing_op_is_named_with_its_neighbours(scale):
    with pytest.raises(NotFoundError, match=r"There is no op 'TestScal'. Did you mean TestScale"):
        find_op("TestScal")


def test_kernels_for_unknown_variables_or_no_device_are_refused(scale):
    with pytest.raises(InvalidArgumentError, match="no type variable 'U'"):
        scale.kernel(CPU, U=FLOATING)
    for device_types in ((), ("TPU",), ("CPU", "gpu")):
        with pytest.raises(InvalidArgumentError, match="needs a device type"):
            scale.kernel(*device_types)


@pytest.mark.parametrize("dtypes", [{float32}, [float32], (float32,), frozenset({"float32"})])
def test_dtypes_are_given_in_any_collection(scale, dtypes):
    scale.kernel(CPU, T=dtypes)(lambda x, factor: x)
    assert str(scale.kernels[0]) == "device='CPU'; T in [float]"


@pytest.mark.parametrize("dtypes", [float32, "float32", None])
def test_a_single_dtype_is_no_set_of_them(scale, dtypes):
    with pytest.raises(InvalidArgumentError, match=r"write T=frozenset\({tf.float32}\), not"):
        scale.kernel(CPU, T=dtypes)
    with pytest.raises(InvalidArgumentError, match="are a set"):
        declare("TestOther", "x: T -> y: T", T=dtypes)


def test_what_is_declared_with_wrong_parts_is_refused(scale):
    for part in (scale.kernel(CPU), scale.shape, scale.gradient):
        with pytest.raises(InvalidArgumentError, match="of TestScale is a function, got 3"):
            part(3)
    with pytest.raises(InvalidArgumentError, match=r"got \(\['CPU'\],\)"):
        scale.kernel([CPU])
    for name in (3, ""):
        with pytest.raises(InvalidArgumentError, match="The name of an op is a word"):
            declare(name, "x: T -> y: T")
    with pytest.raises(InvalidArgumentError, match="An op signature is written"):
        declare("TestOther", 3)
    with pytest.raises(NotFoundError, match=r"There is no op \['TestScale'\]"):
        find_op(["TestScale"])


def test_shape_rules_always_give_a_list(scale):
    assert infer_shapes(scale, (TensorShape([2]),), {"factor": 1}) == [TensorShape([2])]


def test_ops_are_found_before_a_program_has_used_one(run_python):
    out = run_python("from situs.extend import find_op\nprint(find_op('MatMul').name)")
    assert out == "MatMul\n"


def test_every_op_is_found_by_its_name_in_a_new_process():
    """A graph in a file may have any of them, whatever the program has imported."""
    folder = Path(__file__).parents[3] / "situs/_src"
    names = {name for path in folder.rglob("*.py") for name in re.findall(r'\bop\(\s*"([A-Z]\w+)"', path.read_text())}
    assert len(names) > 300
    code = "import sys; from situs._src.ir.registry.op import find_op; [find_op(name) for name in sys.argv[1:]]"
    subprocess.run([sys.executable, "-c", code, *sorted(names)], check=True)
