"""Attention in PyTorch: selecting a kernel, its requirements, and the fallback.

    flash        16-bit floats on a GPU, without a bias or a mask
    efficient    float32 on a GPU, and whatever has a bias or a mask there
    cpu          everything on the CPU
    written      float64 on a GPU, heads of sizes that no kernel takes, sizes of 0, and a scale that is not positive

The kernel is selected by dtypes, shapes, the scale and the device alone, so that the backward pass uses the same one as
the forward pass. Another one would be correct as well: the residual, the logsumexp of each row, means the same to all
of them. Nothing is read on the host and nothing is random, so everything can be captured as a CUDA graph.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import inf
from typing import Any, NamedTuple

import torch
from torch.nn import functional

from situs._src.base.shapes import TensorShape

_aten = torch.ops.aten
_LARGEST = 256  # head size
_AMPERE = 8  # the first generation with bfloat16, and with flash attention
_ALIGNED = 16  # bytes: GPUs read so many at once

Tensors = tuple[torch.Tensor, ...]


def multiplications(query: TensorShape, key: TensorShape, products: int) -> int | None:
    """What attention takes: some products as large as that of all queries with all keys; None for unknown sizes.

    Args:
        query: ``[batch, length, heads, head size]``.
        key: The same, with a length of its own.
        products: How many of them.
    """
    count, length = query.num_elements(), key[1] if key.rank == 4 else None
    return None if count is None or length is None else products * count * length


class Attention(NamedTuple):
    """What is asked for; the tensors are ``batch x heads x length x head size``."""

    query: torch.Tensor
    key: torch.Tensor
    value: torch.Tensor
    added: torch.Tensor | None  # to the scores, and broadcasts to their shape: a bias, and -inf where masked
    lonely: torch.Tensor | None  # the queries that may look at no key, as batch x heads x length x 1
    scale: float
    is_causal: bool  # if nothing is added; what is added says it itself


def attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    bias: list[torch.Tensor],
    mask: list[torch.Tensor],
    scale: float | None,
    is_causal: bool,
) -> Attention:
    """Puts together what is asked for, from the inputs of the op.

    Raises:
        ValueError: shapes do not fit. PyTorch's kernels would read beyond the memory of smaller tensors.
    """
    batch, length, heads, size = query.shape
    if key.shape != (batch, key.shape[1], heads, size) or key.shape != value.shape:
        raise ValueError("shapes differ")  # the shape rule says it better
    scores = (batch, heads, length, key.shape[1])
    for each in (*bias, *mask):
        each.expand(scores)  # refuses shapes that do not broadcast
    if scale is None:
        scale = size**-0.5 if size else 1.0
    added, lonely = _added(query, scores[2:], bias, mask, is_causal)
    q, k, v = map(_heads_first, (query, key, value))
    return Attention(q, k, v, added, lonely, scale, is_causal and added is None)


def _heads_first(x: torch.Tensor) -> torch.Tensor:
    return x.transpose(1, 2)  # and back


def _added(
    query: torch.Tensor, lengths: tuple[int, ...], bias: list[torch.Tensor], mask: list[torch.Tensor], is_causal: bool
) -> tuple[torch.Tensor | None, torch.Tensor | None]:
    """What to add to the scores, and the queries that may look at no key.

    These may look at all of them here, because a kernel makes NaN of a row of -inf; they are set to zero afterwards.
    """
    if not mask and not (bias and is_causal):
        return (_of_rank_4(bias[0]) if bias else None), None
    allowed, lonely = _past(lengths, query.device) if is_causal else _of_rank_4(mask[0]), None
    if mask:
        allowed = allowed & _of_rank_4(mask[0]) if is_causal else allowed
        lonely = allowed.any(-1, keepdim=True).logical_not_()
        allowed = allowed | lonely
    if bias:
        return _of_rank_4(bias[0]).masked_fill(allowed.logical_not(), -inf), lonely  # `where` would copy -inf to a GPU
    return query.new_full(allowed.shape, -inf).masked_fill_(allowed, 0.0), lonely


def _past(lengths: tuple[int, ...], device: torch.device) -> torch.Tensor:
    """Where a query may look: at the keys up to its own position."""
    return torch.ones(lengths, dtype=torch.bool, device=device).tril_()


def _of_rank_4(x: torch.Tensor) -> torch.Tensor:
    return x.reshape([1] * (4 - x.ndim) + list(x.shape))


# Forward and back.


def forward(asked: Attention) -> tuple[torch.Tensor, torch.Tensor]:
    """The result, and the logarithm of the sum of each row's exponentials, as ``batch x heads x length``."""
    output, logsumexp = _WAYS[_way(asked)].forward(asked)
    return _without_lonely(_heads_first(output), asked), logsumexp


def backward(asked: Attention, grad: torch.Tensor, output: torch.Tensor, logsumexp: torch.Tensor) -> Tensors:
    """The gradients of the query, the key and the value."""
    grad, output = _without_lonely(grad, asked).contiguous(), output.contiguous()  # the kernels take them to be so
    grads = _WAYS[_way(asked)].backward(asked, _heads_first(grad), _heads_first(output), logsumexp)
    return tuple(map(_heads_first, grads))


def weights(asked: Attention) -> torch.Tensor:
    """How much each query takes of each value, as ``batch x heads x length x length``."""
    shares = torch.softmax(_scores(asked), -1).to(asked.query.dtype)
    return shares if asked.lonely is None else shares.masked_fill_(asked.lonely, 0.0)


def _without_lonely(x: torch.Tensor, asked: Attention) -> torch.Tensor:
    return x if asked.lonely is None else x.masked_fill(_heads_first(asked.lonely), 0.0)


def _way(asked: Attention) -> str:
    query, size = asked.query, asked.query.shape[-1]
    if not query.numel() or not asked.key.numel() or not asked.scale > 0:  # the kernels scale what they have masked
        return "written"
    if not query.is_cuda:
        return "cpu"
    if query.dtype is torch.float64 or size > _LARGEST or size * query.itemsize % _ALIGNED:
        return "written"
    is_new = _generation(query.device.index) >= _AMPERE
    square = query.shape[2] == asked.key.shape[2]  # otherwise flash attention lets the last query see the last key
    if query.itemsize == 2 and is_new and asked.added is None and (square or not asked.is_causal):
        return "flash"
    return "efficient" if is_new or query.dtype is not torch.bfloat16 else "written"


@cache
def _generation(card: int) -> int:
    return torch.cuda.get_device_capability(card)[0]


# By PyTorch's kernels.


def _flash(asked: Attention) -> Tensors:
    inputs = map(_aligned, asked[:3])
    output, logsumexp, *_ = _aten._scaled_dot_product_flash_attention.default(
        *inputs, 0.0, asked.is_causal, scale=asked.scale
    )
    return output, logsumexp


def _flash_back(asked: Attention, grad: torch.Tensor, output: torch.Tensor, logsumexp: torch.Tensor) -> Any:
    lengths = asked.query.shape[2], asked.key.shape[2]
    seed = logsumexp  # nothing is dropped: it is unused
    return _aten._scaled_dot_product_flash_attention_backward.default(
        grad,
        *map(_aligned, asked[:3]),
        output,
        logsumexp.contiguous(),
        None,
        None,
        *lengths,
        0.0,
        asked.is_causal,
        seed,
        seed,
        scale=asked.scale,
    )


def _efficient(asked: Attention) -> Tensors:
    output, logsumexp, *_ = _aten._scaled_dot_product_efficient_attention.default(
        *map(_aligned, asked[:3]), _laid_out(asked), True, 0.0, asked.is_causal, scale=asked.scale
    )
    return output, logsumexp[..., : asked.query.shape[2]]


def _efficient_back(asked: Attention, grad: torch.Tensor, output: torch.Tensor, logsumexp: torch.Tensor) -> Any:
    padded = functional.pad(logsumexp, (0, -logsumexp.shape[2] % 32), value=inf).contiguous()
    seed = logsumexp  # nothing is dropped: it is unused
    return _aten._scaled_dot_product_efficient_attention_backward.default(
        grad,
        *map(_aligned, asked[:3]),
        _laid_out(asked),
        output,
        padded,
        seed,
        seed,
        0.0,
        [True, True, True, False],
        asked.is_causal,
        scale=asked.scale,
    )[:3]


def _laid_out(asked: Attention) -> torch.Tensor | None:
    """What is added, in the shape of the scores, with rows that begin where GPUs read from."""
    if asked.added is None:
        return None
    (batch, heads, length, _), keys = asked.query.shape, asked.key.shape[2]
    rows = asked.added.expand(*asked.added.shape[:3], keys)
    if not _is_aligned(rows):
        rows = functional.pad(rows, (0, -keys % _ALIGNED))[..., :keys]
    return rows.expand(batch, heads, length, keys)


def _aligned(x: torch.Tensor) -> torch.Tensor:
    return x if _is_aligned(x) else _heads_first(_heads_first(x).clone(memory_format=torch.contiguous_format))


def _is_aligned(x: torch.Tensor) -> bool:
    """Whether every row begins where GPUs read from, and lies in one piece."""
    *strides, last = x.stride()
    begins = [x.data_ptr(), *(stride * x.itemsize for stride in strides)]
    return last == 1 and not any(begin % _ALIGNED for begin in begins)


def _on_cpu(asked: Attention) -> Tensors:
    made: Tensors = _aten._scaled_dot_product_flash_attention_for_cpu.default(
        *map(_last_dense, asked[:3]), 0.0, asked.is_causal, attn_mask=asked.added, scale=asked.scale
    )
    return made


def _on_cpu_back(asked: Attention, grad: torch.Tensor, output: torch.Tensor, logsumexp: torch.Tensor) -> Any:
    return _aten._scaled_dot_product_flash_attention_for_cpu_backward.default(
        grad,
        *map(_last_dense, asked[:3]),
        output,
        logsumexp,
        0.0,
        asked.is_causal,
        attn_mask=asked.added,
        scale=asked.scale,
    )


def _last_dense(x: torch.Tensor) -> torch.Tensor:
    return x if x.stride(-1) == 1 else x.contiguous()


# Written out.


def _written(asked: Attention) -> Tensors:
    scores = _scores(asked)
    logsumexp = scores.logsumexp(-1)
    shares = scores.sub_(logsumexp.unsqueeze(-1)).exp_().to(asked.value.dtype)
    return shares @ asked.value, logsumexp


def _written_back(
    asked: Attention, grad: torch.Tensor, output: torch.Tensor, logsumexp: torch.Tensor
) -> list[torch.Tensor]:
    shares = _scores(asked).sub_(logsumexp.unsqueeze(-1)).exp_()
    query, key, value, wide = (x.to(shares.dtype) for x in (*asked[:3], grad))
    of_shares = wide @ value.mT
    of_scores = (of_shares - (of_shares * shares).sum(-1, keepdim=True)).mul_(shares).mul_(asked.scale)
    grads = of_scores @ key, of_scores.mT @ query, shares.mT @ wide
    return [each.to(grad.dtype) for each in grads]


def _scores(asked: Attention) -> torch.Tensor:
    """The products of queries and keys, in float32 at least."""
    dtype = asked.query.dtype
    wide = torch.float32 if dtype.itemsize == 2 else dtype
    scores = (asked.query.to(wide) @ asked.key.to(wide).mT).mul_(asked.scale)
    if asked.is_causal:
        scores.masked_fill_(_past(tuple(scores.shape[2:]), scores.device).logical_not_(), -inf)
    return scores if asked.added is None else scores.add_(asked.added)


class _Way(NamedTuple):
    forward: Callable[[Attention], Any]
    backward: Callable[[Attention, torch.Tensor, torch.Tensor, torch.Tensor], Any]


_WAYS = {
    "flash": _Way(_flash, _flash_back),
    "efficient": _Way(_efficient, _efficient_back),
    "cpu": _Way(_on_cpu, _on_cpu_back),
    "written": _Way(_written, _written_back),
}
