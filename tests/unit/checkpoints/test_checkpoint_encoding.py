"""Values as bytes and back, and what the safetensors library makes of the files."""

from __future__ import annotations

import json
import struct

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.torch import load_file

from situs._src.base import dtype as dt
from situs._src.base.dtype import FIXED
from situs._src.checkpoints import encoding
from situs._src.checkpoints.encoding import Vessel, pieces, size_of, stored_as
from situs._src.checkpoints.reader import CheckpointReader
from situs._src.checkpoints.writer import Saved, write
from situs._src.runtime.eager.bridge import TORCH_DTYPE
from situs._src.runtime.eager.tensor import to_numpy_value
from situs.errors import DataLossError, InvalidArgumentError, ResourceExhaustedError

CPU = "/device:CPU:0"


def there_and_back(value, dtype):
    vessel = Vessel(dtype, tuple(value.shape), size_of(value), "v")
    filled = 0
    for piece in pieces(value):
        vessel.view[filled : filled + len(piece)] = piece
        filled += len(piece)
    assert filled == size_of(value)
    return vessel.value()


def random_value(dtype, shape):
    generator = torch.Generator().manual_seed(1)
    bits = torch.randint(0, 2, (*shape, dtype.size), dtype=torch.uint8, generator=generator)
    return bits.view(TORCH_DTYPE[dtype]).reshape(shape)


@pytest.mark.parametrize("shape", [(), (3,), (2, 0, 4), (2, 3, 4)], ids=str)
@pytest.mark.parametrize("dtype", sorted(FIXED, key=lambda dtype: dtype.name), ids=lambda dtype: dtype.name)
def test_numbers_come_back_bit_by_bit(dtype, shape):
    value = random_value(dtype, shape)
    back = there_and_back(value, dtype)
    assert back.dtype == value.dtype
    assert back.shape == value.shape
    assert to_numpy_value(back).tobytes() == to_numpy_value(value).tobytes()


@given(st.lists(st.binary(max_size=40), max_size=20))
def test_strings_come_back(texts):
    value = np.array(texts, dtype=object).reshape(len(texts))
    back = there_and_back(value, dt.string)
    assert back.tolist() == texts


def test_a_scalar_and_an_empty_table_of_strings_come_back():
    assert there_and_back(np.array(b"abc", dtype=object), dt.string)[()] == b"abc"
    assert there_and_back(np.empty((2, 0), dtype=object), dt.string).shape == (2, 0)


@pytest.mark.parametrize(
    "view",
    [
        lambda value: value.t(),
        lambda value: value[::2, 1:],
        lambda value: value[0, 0].expand(3, 4),
        lambda value: torch.complex(value, value + 1).conj(),
    ],
    ids=["transposed", "strided", "expanded", "conjugated"],
)
def test_views_are_written_as_what_they_show(view):
    value = view(torch.arange(24.0).reshape(4, 6))
    dtype = dt.complex64 if value.is_complex() else dt.float32
    assert torch.equal(there_and_back(value, dtype), value.resolve_conj())


def test_an_empty_array_of_numpy_has_no_bytes():
    assert list(pieces(torch.from_numpy(np.zeros((0,))))) == []


def test_large_values_go_in_pieces_without_a_copy(monkeypatch):
    monkeypatch.setattr(encoding, "PIECE", 1000)
    value = torch.arange(1000.0)
    parts = list(pieces(value))
    assert [len(part) for part in parts] == [1000] * 4
    assert b"".join(parts) == value.numpy().tobytes()
    assert np.shares_memory(np.frombuffer(parts[0], np.uint8), value.numpy())


def test_a_file_is_what_the_safetensors_library_reads(tmp_path):
    values = {dtype.name: (dtype, random_value(dtype, (2, 3))) for dtype in FIXED if not dtype.is_complex}
    write(tmp_path / "m", [Saved(name, *value, CPU) for name, value in values.items()])
    found = load_file(tmp_path / "m.data-00000-of-00001.safetensors")
    assert found.keys() == values.keys()
    for name, (_, value) in values.items():
        assert found[name].dtype == value.dtype
        assert found[name].view(torch.uint8).equal(value.view(torch.uint8))


def test_complex_numbers_and_strings_are_numbers_to_other_programs(tmp_path):
    complex_value = torch.tensor([1 + 2j, 3 - 4j], dtype=torch.complex128)
    text = np.array([b"a", b"bcd"], dtype=object)
    write(tmp_path / "m", [Saved("c", dt.complex128, complex_value, CPU), Saved("s", dt.string, text, CPU)])
    with safe_open(tmp_path / "m.data-00000-of-00001.safetensors", framework="pt") as file:
        assert file.metadata() == {"producer": "situs"}
        assert file.get_tensor("c").tolist() == [[1.0, 2.0], [3.0, -4.0]]
        assert bytes(file.get_tensor("s").tolist()) == struct.pack("<3q", 0, 1, 4) + b"abcd"


def test_every_number_lies_at_a_multiple_of_its_size(tmp_path):
    odd = [Saved(f"b{size}", dt.bool, torch.ones(size, dtype=torch.bool), CPU) for size in (1, 3, 7)]
    double = Saved("d", dt.float64, torch.ones(3, dtype=torch.float64), CPU)
    short = Saved("h", dt.int16, torch.ones(1, dtype=torch.int16), CPU)
    index = write(tmp_path / "m", [odd[0], short, odd[1], double, odd[2]])
    for entry in index.entries.values():
        assert entry.begin % entry.dtype.size == 0


def test_a_value_of_each_dtype_is_named_as_safetensors_names_it():
    assert stored_as(dt.bfloat16, (2, 3), 12) == ("BF16", [2, 3])
    assert stored_as(dt.complex64, (2,), 16) == ("F32", [2, 2])
    assert stored_as(dt.string, (5,), 99) == ("U8", [99])


# What cannot be a value.


def test_bytes_that_are_no_bools_are_refused():
    vessel = Vessel(dt.bool, (3,), 3, "flags")
    vessel.view[:] = b"\x00\x01\x02"
    with pytest.raises(DataLossError, match="'flags' is bool"):
        vessel.value()


@pytest.mark.parametrize("ends", [(0, 5, 4), (1, 2, 4), (0, 2, 3), (0, -1, 4), (0, 2**62, 4), (-4, 0, 4)], ids=str)
def test_strings_that_end_nowhere_are_refused(ends):
    content = struct.pack("<3q", *ends) + b"abcd"
    vessel = Vessel(dt.string, (2,), len(content), "names")
    vessel.view[:] = content
    with pytest.raises(DataLossError, match="strings of 'names'"):
        vessel.value()


def test_memory_that_there_is_not_is_an_error():
    with pytest.raises(ResourceExhaustedError, match="'w' from a checkpoint: it takes"):
        Vessel(dt.float32, (2**45,), 2**47, "w")


@pytest.mark.parametrize("shape", [(0, 2**62, 2**62), (2**62, 2**62)], ids=str)
def test_shapes_that_no_tensor_has_are_errors(shape):
    with pytest.raises(InvalidArgumentError, match="'w' has a shape that no tensor can have"):
        Vessel(dt.float32, shape, 0, "w")


def test_a_table_of_strings_with_too_many_dimensions_is_an_error():
    content = struct.pack("<2q", 0, 0)
    vessel = Vessel(dt.string, (1,) * 70, len(content), "s")
    vessel.view[:] = content
    with pytest.raises(InvalidArgumentError, match="'s' has a shape"):
        vessel.value()


def test_the_index_is_plain_json(tmp_path):
    write(tmp_path / "m", [Saved("w", dt.float32, torch.ones(2), "/device:GPU:1")])
    content = json.loads((tmp_path / "m.index").read_text())
    assert content["variables"]["w"]["device"] == "/device:GPU:1"
    assert CheckpointReader(tmp_path / "m").get_tensor("w").tolist() == [1.0, 1.0]
