"""What the environment says: sizes and virtual GPUs."""

from __future__ import annotations

from fractions import Fraction
from math import inf, isnan, nan

import numpy as np
import pytest

from situs._src.base import settings
from situs.errors import InvalidArgumentError


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("64", 64),
        ("1KB", 1000),
        ("1KiB", 1024),
        ("1k", 1024),
        ("2GiB", 2**31),
        ("1.5G", 3 * 2**29),
        (" 512 MiB ", 2**29),
        ("1T", 2**40),
    ],
)
def test_sizes_are_read(text, size):
    assert settings.parse_bytes(text) == size


@pytest.mark.parametrize("text", ["", "GiB", "-1", "1.2.3G", "1PB", "two", "1 2"])
def test_what_is_no_size_is_refused(text):
    with pytest.raises(InvalidArgumentError, match="as a size in bytes"):
        settings.parse_bytes(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("4", (4, 4 * 2**30)),
        ("4x2GiB", (4, 2**31)),
        (" 2 x 512MiB ", (2, 2**29)),
        ("0", (0, 4 * 2**30)),
        ("8X1G", (8, 2**30)),
    ],
)
def test_virtual_gpus_are_read(text, expected):
    assert settings.parse_virtual_gpus(text) == settings.VirtualGpus(*expected)


@pytest.mark.parametrize("text", ["four", "x2GiB", "4x", "4x0", "-1", "99999", "4x2GiBx3"])
def test_bad_requests_for_virtual_gpus_are_refused(text):
    with pytest.raises(InvalidArgumentError):
        settings.parse_virtual_gpus(text)


def test_unset_and_empty_mean_no_virtual_gpus(monkeypatch):
    monkeypatch.setenv("SITUS_VIRTUAL_GPUS", " ")
    assert settings.virtual_gpus() is None
    monkeypatch.delenv("SITUS_VIRTUAL_GPUS")
    assert settings.virtual_gpus() is None


def test_sizes_of_many_digits_are_exact():
    with pytest.raises(InvalidArgumentError, match="as a size in bytes"):
        settings.parse_bytes("9" * 400)
    assert settings.parse_bytes("9007199254740993") == 9007199254740993


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, None),
        ("", None),
        (" ", None),
        ("true", True),
        (" True ", True),
        ("1", True),
        ("false", False),
        ("0", False),
    ],
)
def test_forced_growth_is_read(monkeypatch, text, expected):
    monkeypatch.delenv("TF_FORCE_GPU_ALLOW_GROWTH", raising=False)
    if text is not None:
        monkeypatch.setenv("TF_FORCE_GPU_ALLOW_GROWTH", text)
    assert settings.force_gpu_allow_growth() is expected


@pytest.mark.parametrize("text", ["yes", "on", "2", "truefalse", "x" * 5000])
def test_forced_growth_is_true_or_false(monkeypatch, text):
    monkeypatch.setenv("TF_FORCE_GPU_ALLOW_GROWTH", text)
    with pytest.raises(InvalidArgumentError, match=r"TF_FORCE_GPU_ALLOW_GROWTH.*Write true or false") as caught:
        settings.force_gpu_allow_growth()
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("value", [5, 0.5, -1, np.int8(5), np.float32(0.5), Fraction(1, 2), np.float64(2)])
def test_numbers_of_any_kind_are_read(value):
    assert settings.number(value) == float(value)
    assert type(settings.number(value)) is float


@pytest.mark.parametrize(("value", "expected"), [(10**400, inf), (-(10**400), -inf), (inf, inf)])
def test_numbers_too_large_for_a_float_are_infinite(value, expected):
    assert settings.number(value) == expected


@pytest.mark.parametrize("value", [True, False, None, "1", b"1", 1j, [1], np.bool_(True), np.zeros(1), object(), nan])
def test_what_is_no_number_is_nan(value):
    assert isnan(settings.number(value))
