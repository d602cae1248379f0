"""What the environment says: sizes and virtual GPUs."""

from __future__ import annotations

import pytest

from situs import settings
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
    assert settings.parse_bytes("9" * 400) == int("9" * 400)
    assert settings.parse_bytes("9007199254740993") == 9007199254740993
