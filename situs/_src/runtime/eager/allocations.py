"""Entering what kernels and copies make into the ledger of the GPU that holds it.

    run = counted(kernel.function, device, "MatMul")
    run(a, b)      # the kernel's result, entered; made again after a clean-up if there was no room

Only functions whose results lie on a GPU are wrapped; the CPU's pay nothing. The place in the
user's program is looked up when a storage is entered, so views and small tensors cost little.

Running out of memory is met here first: what can be given back is, and the function is called once
more. What fails then is put into words by `runtime.eager.oom`.
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


def counted(function: Function, device: Device, op: str, made_at: Origin | None = None, once: bool = False) -> Function:
    """The function, with its results entered for `device`; itself if nobody counts there.

    Args:
        function: A kernel or a copy; it may be called twice if there is no room the first time.
        device: Where its results lie.
        op: What made them.
        made_at: Where in the user's program; by default wherever the function is called from.
        once: Whether what it does must not be done twice: what it made is kept while room is made for it. Only where
            PyTorch's allocator refused, and nothing was made, is it called again.
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
            if type(made) is tensor and made.nbytes < account.listed_from:
                return made  # as `enter` would, 100 ns sooner: on a card that is the way of most ops
            return enter(made, account, op, find)
        except SHORTAGES as error:
            error.__traceback__ = None
            if not once:
                made = None  # what had been made so far goes: the error's frames held it
            if bytes_needed(error) > account.limit or not make_room(account):
                made = None
                raise
        return enter(function(*values, **attrs) if made is None else made, account, op, find)

    return run


def enter(made: object, account: Account, op: str, made_at: Callable[[], Any] = origin) -> Any:
    """Enters what a kernel made, a value or several of them, and returns it.

    Raises:
        LimitReached: it does not fit.
    """
    if isinstance(made, torch.Tensor):
        _enter_value(made, account, op, made_at)
    elif isinstance(made, (tuple, list)):
        for value in made:
            enter(value, account, op, made_at)
    return made


def _enter_value(value: torch.Tensor, account: Account, op: str, made_at: Callable[[], Any]) -> None:
    if value.nbytes < account.listed_from:
        return
    storage = value.untyped_storage()
    try:
        account.hold(storage, storage_key(storage), storage.nbytes(), op, made_at)
    except LimitReached as error:
        error.made = op, value.shape, value.dtype
        raise


def beside(function: Function, value: torch.Tensor, op: str) -> Function:
    """The function, with its results entered where a value is; itself if that is entered nowhere."""
    key = storage_key(value.untyped_storage())
    account = next((account for account in accounts() if account.holds(key)), None)
    return function if account is None else counted(function, account.device, op)


def enter_variable(value: object, device: Device, name: str) -> None:
    """Calls a value what it has become: what a variable holds."""
    account: Account | None = device.account
    if account is not None and isinstance(value, torch.Tensor) and value.nbytes >= account.listed_from:
        account.rename(storage_key(value.untyped_storage()), f"Variable {name}")


def bytes_needed(error: BaseException) -> int:
    """How large a tensor was that a ledger refused; 0 if the error is of another kind."""
    return error.size if isinstance(error, LimitReached) else 0


# Giving back.

on_release: list[Callable[[], None]] = []  # called for what is kept for the next time only
_SELDOM = 10  # collecting garbage in vain takes at most a tenth of the time
_in_vain = 0.0  # until when it is not tried again


def make_room(account: Account) -> bool:
    """Gives back what nobody uses, cached memory and garbage; whether that made room for tensors."""
    before = account.usage()
    took = _collect_garbage()
    release(account.device)
    after = account.usage()
    if after.current >= before.current:
        _not_again(took)
    has_cache = account.meter is not None  # elsewhere only tensors count towards the limit
    return after.current < before.current or (has_cache and after.reserved < before.reserved)


def _collect_garbage() -> float:
    """Frees tensors in reference cycles of the program's; the seconds that took, 0 if it has just been in vain."""
    start = time.perf_counter()
    if start < _in_vain:
        return 0.0
    gc.collect()
    gc.collect()  # what the first has taken apart may have held functions, and these their variables
    return time.perf_counter() - start


def _not_again(took: float) -> None:
    """Leaves collecting garbage for a while: it stops everything, and was in vain."""
    global _in_vain
    if took:
        _in_vain = time.perf_counter() + _SELDOM * took


def release(device: Device | None = None) -> None:
    """Gives the memory that tensors have left back to the driver: that of one virtual GPU, or of all cards."""
    for forget in on_release:
        forget()
    for account in accounts() if device is None else (device.account,):
        if account is None:
            continue
        if account.device.is_virtual:
            account.released()
        elif account.used:
            cuda_memory.release()
