"""Gradients of Fourier transforms, against differences and PyTorch's, to the second order."""

from __future__ import annotations

import pytest
import torch

from situs._src.ops import fourier
from tests.gradients.check import check_all, sample, sample_complex

Z, X = sample_complex([2, 3, 4]), sample(-1, 1, [2, 3, 5])


@pytest.mark.parametrize("name", ["fft", "ifft", "fft2d", "ifft2d", "fft3d", "ifft3d"])
def test_of_complex_numbers(name):
    rank = int(name[-2]) if name.endswith("d") else 1
    whole = getattr(torch.fft, name.split("t")[0] + "tn")
    check_all(getattr(fourier, name), Z, torch=lambda z: whole(z, dim=tuple(range(-rank, 0))))


@pytest.mark.parametrize("lengths", [None, [4], [5], [8]])
def test_of_real_numbers(lengths):
    check_all(
        lambda x: fourier.rfft(x, lengths), X, torch=lambda x: torch.fft.rfftn(x, lengths, None if lengths else [-1])
    )
    check_all(
        lambda z: fourier.irfft(z, lengths), Z, torch=lambda z: torch.fft.irfftn(z, lengths, None if lengths else [-1])
    )


@pytest.mark.parametrize("lengths", [[2, 6], [3, 5], [4, 4]])
def test_of_real_numbers_along_two_axes(lengths):
    check_all(lambda x: fourier.rfft2d(x, lengths), X, torch=lambda x: torch.fft.rfft2(x, lengths))
    check_all(lambda z: fourier.irfft2d(z, lengths), Z, torch=lambda z: torch.fft.irfft2(z, lengths))


def test_along_three_axes():
    check_all(fourier.rfft3d, X, torch=torch.fft.rfftn)
    check_all(fourier.irfft3d, Z, torch=torch.fft.irfftn)


@pytest.mark.parametrize("lengths", [[2, 3], [1, 5], [3, 4]])
def test_along_any_axes(lengths):
    for name in ("fft", "ifft", "irfft"):
        ours, theirs = getattr(fourier, f"{name}nd"), getattr(torch.fft, f"{name}n")
        check_all(lambda z, f=ours: f(z, lengths, [0, 1]), Z, torch=lambda z, f=theirs: f(z, lengths, [0, 1]))
    check_all(
        lambda x: fourier.rfftnd(x, lengths, [0, 1], "ortho"),
        X,
        torch=lambda x: torch.fft.rfftn(x, lengths, [0, 1], "ortho"),
    )
