"""Entering the results of kernels and copies into the ledger of their GPU.

    run = counted(kernel.function, device, "MatMul")
    run(a, b)      # the kernel's result, entered; retried after a clean-up if out of memory

Only functions whose results are on a GPU are wrapped; the CPU's pay nothing. The line of the user's program is looked
up only when a storage is entered, so views and small tensors cost little.

Running out of memory is handled here first: whatever can be freed is freed, and the function is retried once. If it
fails again, `runtime.eager.oom` writes the error message.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from functools import wraps
from typing import Any

import torch

from situs._src.base.budget.ledger import Account, LimitReached, accounts
from situs._src.base.devices.logical import Device
from situs._src.ir.graph.origin import Origin, origin
from situs._src.runtime.eager import cuda_memory
from situs._src.runtime.eager.torch_private import storage_key

Function = Callable[..., Any]
SHORTAGES = (LimitReached, torch.OutOfMemoryError)
PLAIN = "plain"  # the attribute of a wrapper that has the wrapped function


def counted(function: Function, device: Device, op: str, made_at: Origin | None = None, once: bool = False) -> Function:
    """The function, with its results entered for `device`; unchanged if nothing is counted there.

    Args:
        function: A kernel or a copy; it is retried if it runs out of memory.
        device: The device of its results.
        op: The op that makes them.
        made_at: The line of the user's program; by default that of the call.
        once: Whether it must not run twice: its results are kept while room is made for them. It is retried only if
            PyTorch's allocator failed, and nothing was made.
    """
    account: Account | None = device.account
    if account is None:
        return function
    find = origin if made_at is None else lambda: made_at
    tensor = torch.Tensor  # looked up once, not for every op

    @wraps(function, updated=())
    def run(*values: Any, **attrs: Any) -> Any:
        made = None
        try:
            made = function(*values, **attrs) if attrs else function(*values)
            if type(made) is not tensor:
                return enter(made, account, op, find)
            if made.nbytes >= account.listed_from:  # most results on a GPU are smaller
                _enter_value(made, account, op, find)
            return made
        except SHORTAGES as error:
            error.__traceback__ = None
            if not once:
                made = None  # frees partial results, which the error's frames held
            if bytes_needed(error) > account.limit or not make_room(account):
                made = None
                raise
        return enter(function(*values, **attrs) if made is None else made, account, op, find)

    setattr(run, PLAIN, function)
    return run


def enter(made: object, account: Account, op: str, made_at: Callable[[], Any] = origin) -> Any:
    """Enters the result of a kernel, one value or several, and returns it.

    Raises:
        LimitReached: it does not fit.
    """
    if isinstance(made, torch.Tensor):
        if made.nbytes >= account.listed_from:
            _enter_value(made, account, op, made_at)
    elif isinstance(made, (tuple, list)):
        for value in made:
            enter(value, account, op, made_at)
    return made


def _enter_value(value: torch.Tensor, account: Account, op: str, made_at: Callable[[], Any]) -> None:
    storage = value.untyped_storage()
    try:
        account.hold(storage, storage_key(storage), storage.nbytes(), op, made_at)
    except LimitReached as error:
        error.made = op, value.shape, value.dtype
        raise


def beside(function: Function, value: torch.Tensor, op: str) -> Function:
    """The function, with its results entered where a value is; unchanged if that is entered nowhere."""
    key = storage_key(value.untyped_storage())
    account = next((account for account in accounts() if account.holds(key)), None)
    return function if account is None else counted(function, account.device, op)


def enter_variable(value: object, device: Device, name: str) -> None:
    """Renames a value in the ledger: it is held by a variable now."""
    account: Account | None = device.account
    if account is not None and isinstance(value, torch.Tensor) and value.nbytes >= account.listed_from:
        account.rename(storage_key(value.untyped_storage()), f"Variable {name}")


def bytes_needed(error: BaseException) -> int:
    """The size of the tensor that a ledger rejected; 0 for other errors."""
    return error.size if isinstance(error, LimitReached) else 0


# Freeing memory.

on_release: list[Callable[[], None]] = []  # frees caches
_SELDOM = 10  # collecting garbage in vain takes at most a tenth of the time
_in_vain = 0.0  # no retry before this time


def make_room(account: Account) -> bool:
    """Frees cached memory and garbage; returns whether that made room for tensors."""
    before = account.usage()
    took = _collect_garbage()
    release(account.device)
    after = account.usage()
    if after.current >= before.current:
        _not_again(took)
    has_cache = account.meter is not None  # elsewhere only tensors count towards the limit
    return after.current < before.current or (has_cache and after.reserved < before.reserved)


def _collect_garbage() -> float:
    """Frees tensors in reference cycles; returns the seconds it took, 0 if it was in vain just before."""
    start = time.perf_counter()
    if start < _in_vain:
        return 0.0
    gc.collect()
    gc.collect()  # objects freed by the first pass may have held functions, and these their variables
    return time.perf_counter() - start


def _not_again(took: float) -> None:
    """Suspends garbage collection for a while: it stops everything, and was in vain."""
    global _in_vain
    if took:
        _in_vain = time.perf_counter() + _SELDOM * took


def release(device: Device | None = None) -> None:
    """Returns unused cached memory to the driver: that of one virtual GPU, or of all GPUs."""
    for forget in on_release:
        forget()
    for account in accounts() if device is None else (device.account,):
        if account is None:
            continue
        if account.device.is_virtual:
            account.released()
        elif account.used:
            cuda_memory.release()
