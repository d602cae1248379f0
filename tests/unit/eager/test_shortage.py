"""Out-of-memory errors: what they say of what was asked for, where, under which policy, and who holds the memory."""

from __future__ import annotations

import re

import pytest
import torch

import situs as tf
from situs._src.base.budget import policy
from situs._src.base.budget.ledger import Account, LimitReached, accounts
from situs._src.base.devices.logical import Device
from situs._src.runtime.eager.allocations import counted
from situs._src.runtime.eager.oom import HOLDERS_SHOWN, bytes_asked, exhausted, holder_lines, is_shortage, size_text
from situs.errors import ResourceExhaustedError

pytestmark = pytest.mark.virtual
LOCAL = "/job:localhost/replica:0/task:0"
MIB = 2**20
CUDA = "CUDA out of memory. Tried to allocate {}. GPU 0 has a total capacity of 139.80 GiB of which 1.00 GiB is free."


@pytest.fixture
def device() -> Device:
    """A GPU of 64 MiB that nobody else uses."""
    first = accounts()[0].device
    made = Device("GPU", 0, first.physical, 64 * MIB, first.card)
    made.account = Account(made, 64 * MIB)
    return made


def zeros(size: int) -> torch.Tensor:
    return torch.zeros(size, dtype=torch.uint8)


# Which errors are shortages.


@pytest.mark.parametrize(
    ("error", "answer"),
    [
        (LimitReached(accounts()[0], 1, 2), True),
        (torch.OutOfMemoryError(CUDA.format("2.00 GiB")), True),
        (torch.AcceleratorError("CUDA error: out of memory\nSearch for `cudaErrorMemoryAllocation`"), True),
        (torch.AcceleratorError("CUDA error: device-side assert triggered"), False),
        (MemoryError(), False),
        (RuntimeError("CUDA error: out of memory"), False),
        (ResourceExhaustedError("no"), False),
    ],
)
def test_a_shortage_is_a_lack_of_room_on_a_gpu(error, answer):
    assert is_shortage(error) is answer


@pytest.mark.parametrize(
    ("text", "size"),
    [
        (CUDA.format("2.00 GiB"), 2 * 2**30),
        (CUDA.format("20.00 MiB"), 20 * MIB),
        (CUDA.format("1.50 KiB"), 1536),
        (CUDA.format("512 bytes"), 512),
        (CUDA.format("3.00 parsecs"), None),
        ("out of memory", None),
        ("", None),
    ],
)
def test_the_bytes_asked_for_are_read_out_of_pytorchs_errors(text, size):
    assert bytes_asked(torch.OutOfMemoryError(text)) == size


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 bytes"),
        (1023, "1023 bytes"),
        (1024, "1.0 KiB"),
        (1536, "1.5 KiB"),
        (MIB, "1.0 MiB"),
        (3 * 2**30, "3.0 GiB"),
        (2**52, "4194304.0 GiB"),
    ],
)
def test_sizes_for_people(size, text):
    assert size_text(size) == text


# The words.


def test_the_error_has_what_was_asked_for_and_what_is_held(device):
    held = counted(zeros, device, "Zeros")(50 * MIB)
    with pytest.raises(LimitReached) as raised:
        counted(torch.zeros, device, "Fill")(2, 4 * MIB, dtype=torch.float32)
    line = exhausted(raised.value, device, "Fill").message.splitlines()[0]
    assert line == (
        f"OOM when allocating tensor with shape[2,4194304] and type float on {LOCAL}/device:GPU:0 by Fill: "
        f"tried to allocate 32.0 MiB, with 50.0 MiB of 64.0 MiB in use ({policy.of(device)}; 50.0 MiB reserved)."
    )
    del held


def test_of_several_results_the_others_are_counted_too(device):
    with pytest.raises(LimitReached) as raised:
        counted(lambda: [zeros(40 * MIB) for _ in range(2)], device, "Split")()
    text = str(exhausted(raised.value, device, "Split"))
    assert (
        "tried to allocate 40.0 MiB, with 40.0 MiB of 64.0 MiB in use, 40.0 MiB of that by the op's other results"
        in text
    )


@pytest.mark.parametrize(
    ("asked", "elements", "is_named"),
    [
        ("2.00 GiB", 2**29, True),
        ("1.49 GiB", 400_000_000, True),  # to three digits
        ("20.00 MiB", 2**19, True),  # the block that a tensor of 2 MiB is cut from
        ("2.00 MiB", 1, True),
        ("3.00 GiB", 2**29, False),  # a kernel's own use
        ("1.00 GiB", 2**29, False),
        ("no digits", 2**29, True),
    ],
)
def test_the_tensor_is_named_if_the_memory_was_for_it(device, asked, elements, is_named):
    error = torch.OutOfMemoryError(CUDA.format(asked))
    text = str(exhausted(error, device, "Conv2D", (tf.TensorShape([elements]), tf.float32)))
    assert (f"tensor with shape[{elements}] and type float on" in text) is is_named
    assert text.startswith("OOM when allocating")


@pytest.mark.parametrize("like", [None, torch.zeros(3, dtype=torch.bfloat16), (tf.TensorShape([]), tf.int64)])
def test_the_tensor_may_be_a_value_or_a_pair_or_unknown(device, like):
    line = str(exhausted(torch.OutOfMemoryError("?"), device, "Op", like)).splitlines()[0]
    found = re.match(r"OOM when allocating(.*) on /job", line)[1]
    assert found in ("", " tensor with shape[3] and type bfloat16", " tensor with shape[] and type int64")


def test_the_largest_holders_come_first_with_their_lines_and_the_rest_in_one(device):
    make = [counted(zeros, device, f"Op{number}") for number in range(HOLDERS_SHOWN + 3)]
    kept = [run((number + 1) * 1024) for number, run in enumerate(make)]
    kept += [make[0](10 * 1024), make[0](10 * 1024)]
    lines = holder_lines(device.account)
    assert len(lines) == HOLDERS_SHOWN + 1
    assert re.fullmatch(r" +20.0 KiB  Op0, 2 tensors  test_shortage.py:\d+", lines[0])
    assert re.fullmatch(r" +11.0 KiB  Op10, 1 tensor  test_shortage.py:\d+", lines[1])
    assert lines[-1].strip() == "10.0 KiB  in other tensors"  # 1 + 2 + 3 + 4
    del kept


def test_nothing_is_listed_where_nothing_is_held(device):
    assert holder_lines(device.account) == []


# In programs.

HEAD = """
import situs as tf
import numpy as np

def oom(call):
    try:
        call()
    except tf.errors.ResourceExhaustedError as error:
        print(error, end="\\n===\\n")

with tf.device("/cpu:0"):
    host = tf.ones([2**25])
"""
RUN_OUT = {  # what runs out on a GPU of 64 MiB, the tensor that did not fit, and what was to make it
    "tf.zeros([2**25])": ("shape[33554432] and type float", "Full"),
    "tf.constant(np.zeros([5, 2**21]))": ("shape[5,2097152] and type double", "Const"),
    "tf.Variable(host)": ("shape[33554432] and type float", "Copy"),
    "host.gpu()": ("shape[33554432] and type float", "Copy"),
    "tf.reduce_sum(host)": ("shape[33554432] and type float", "Copy"),
    "tf.ones([2**12]) * tf.ones([2**13, 1])": ("shape[8192,4096] and type float", "Mul"),
    "tf.cast(tf.ones([2**22]), tf.complex128)": ("shape[4194304] and type complex128", "Cast"),
}


def test_whatever_runs_out_names_the_tensor(run_python):
    program = HEAD + "\n".join(f"oom(lambda: {call})" for call in RUN_OUT)
    errors = run_python(program, SITUS_VIRTUAL_GPUS="1x64MiB").split("===\n")[:-1]
    for error, (call, (asked, by)) in zip(errors, RUN_OUT.items(), strict=True):
        first = f"OOM when allocating tensor with {asked} on {LOCAL}/device:GPU:0 by {by}: "
        assert error.startswith(first), call
        assert " of 64.0 MiB in use (map all; " in error, call


def test_the_program_is_told_who_holds_what_and_goes_on(run_python):
    out = run_python(
        HEAD + "kept = [tf.zeros([2**20]) for _ in range(5)]\nw = tf.Variable(tf.ones([2**21]))\n"
        "oom(lambda: tf.zeros([2**24]))\noom(lambda: tf.zeros([2**45]))\n"
        "print('sum', int(tf.reduce_sum(tf.ones([2**20]))))",
        SITUS_VIRTUAL_GPUS="1x64MiB",
    )
    line = HEAD.count("\n") + 1
    assert re.search(rf"\n +20.0 MiB  Full, 5 tensors  program.py:{line}\n +8.0 MiB  .*program.py:{line + 1}\n", out)
    assert "tf.memory.snapshot() shows everything" in out
    assert "shape[35184372088832] and type float" in out
    assert "it takes 131072.0 GiB, and the GPU has 64.0 MiB (map all)" in out  # known before it is made
    assert out.endswith("sum 1048576\n")


def test_a_graphs_error_names_the_node_and_its_line(run_python):
    out = run_python(
        HEAD + "import situs.compat.v1 as tf1\nwith tf1.Graph().as_default(), tf1.Session() as sess:\n"
        "    n = tf1.placeholder(tf.int32, [])\n    big = tf1.zeros([n, 1024], name='big')\n"
        "    oom(lambda: sess.run(tf1.reduce_sum(big), {n: 10**6}))\n    print(sess.run(big, {n: 1}).sum())",
        SITUS_VIRTUAL_GPUS="1x64MiB",
    )
    assert f"shape[1000000,1024] and type float on {LOCAL}/device:GPU:0 by Full" in out
    assert f"[[{{{{node big}}}}]] (made at program.py:{HEAD.count(chr(10)) + 4})" in out
    assert "it takes 3.8 GiB, and the GPU has 64.0 MiB" in out  # 10**6 * 1024 * 4 bytes; nothing was asked for
    assert out.endswith("0.0\n")
