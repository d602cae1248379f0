"""Environment variables, read in one place.

Every environment variable that Situs reads is a function here and a row in ``docs/settings.md``. They are read when
needed, never at import, so a program may set ``os.environ`` after ``import situs`` and before its first op.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from math import inf, nan
from numbers import Real

from situs._src.base.errors import ArgumentError, DTypeError, shown

_SIZE = re.compile(r"(\d{1,30}(?:\.\d+)?)\s*([KMGT]?)(i?)B?", re.IGNORECASE | re.ASCII)
_VIRTUAL = re.compile(r"\s*(\d{1,30})\s*(?:[xX*]\s*(\S.*?))?\s*", re.ASCII)
_ON_OR_OFF = {"": None, "true": True, "1": True, "false": False, "0": False}
DEFAULT_VIRTUAL_GPU_BYTES = 4 * 2**30
MAX_VIRTUAL_GPUS = 1024
DEFAULT_KEPT_BYTES = 512 * 2**20
DEFAULT_LONGEST_RECORD = 2**30
DEFAULT_WORKERS_START = 120.0
DEFAULT_WORKERS_WAIT = 600.0
DEFAULT_WORKERS_SILENT = 5.0


@dataclass(frozen=True)
class VirtualGpus:
    """How many virtual GPUs a program wants, and the memory of each in bytes."""

    count: int
    memory_bytes: int = DEFAULT_VIRTUAL_GPU_BYTES


def parse_bytes(text: str) -> int:
    """Reads a size such as ``512MiB``, ``2GiB``, ``1.5G`` or ``4096``.

    Example:
        >>> parse_bytes("2GiB"), parse_bytes("1.5KB"), parse_bytes("64")
        (2147483648, 1500, 64)
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise ArgumentError(f"Cannot read {shown(text)} as a size in bytes. Write it like 512MiB, 2GiB or 1073741824.")
    number, prefix, binary = match.groups()
    base = 1024 if binary or (prefix and not text.strip().upper().endswith("B")) else 1000
    factor = base ** " KMGT".index(prefix.upper() or " ")
    return int(float(number) * factor) if "." in number else int(number) * factor


def parse_virtual_gpus(text: str) -> VirtualGpus:
    """Reads ``4`` (four virtual GPUs) or ``4x2GiB`` (four with 2 GiB each).

    Example:
        >>> parse_virtual_gpus("4x2GiB")
        VirtualGpus(count=4, memory_bytes=2147483648)
    """
    match = _VIRTUAL.fullmatch(text)
    if match is None:
        raise ArgumentError(f"Cannot read SITUS_VIRTUAL_GPUS={shown(text)}. Write a count such as 4, or 4x2GiB.")
    count, size = match.groups()
    return check_virtual_gpus(int(count), parse_bytes(size) if size else DEFAULT_VIRTUAL_GPU_BYTES)


def check_virtual_gpus(count: int, memory_bytes: int) -> VirtualGpus:
    """Returns the request if it makes sense.

    Raises:
        InvalidArgumentError: too many GPUs, or no memory in them.
    """
    if not 0 <= count <= MAX_VIRTUAL_GPUS:
        raise ArgumentError(f"The number of virtual GPUs must be 0 to {MAX_VIRTUAL_GPUS}, got {count}.")
    if memory_bytes < 1:
        raise ArgumentError(f"A virtual GPU needs at least one byte of memory, got {memory_bytes}.")
    return VirtualGpus(count, memory_bytes)


def virtual_gpus() -> VirtualGpus | None:
    """``SITUS_VIRTUAL_GPUS``: virtual GPUs to make instead of using GPUs."""
    text = os.environ.get("SITUS_VIRTUAL_GPUS", "").strip()
    return parse_virtual_gpus(text) if text else None


def cuda_visible_devices() -> str | None:
    """``CUDA_VISIBLE_DEVICES``: which GPUs exist for this process, and in which order."""
    return os.environ.get("CUDA_VISIBLE_DEVICES")


def cuda_device_order() -> str:
    """``CUDA_DEVICE_ORDER``: ``FASTEST_FIRST`` (the default) or ``PCI_BUS_ID``."""
    return os.environ.get("CUDA_DEVICE_ORDER", "FASTEST_FIRST").strip().upper()


def force_gpu_allow_growth() -> bool | None:
    """``TF_FORCE_GPU_ALLOW_GROWTH``: whether GPU memory grows, whatever the program says; None leaves it to that.

    Raises:
        InvalidArgumentError: it is set to something else than true or false.
    """
    text = os.environ.get("TF_FORCE_GPU_ALLOW_GROWTH", "").strip()
    if text.lower() not in _ON_OR_OFF:
        raise ArgumentError(
            f"The TF_FORCE_GPU_ALLOW_GROWTH environment variable is set but could not be parsed: {shown(text)}. "
            "Write true or false (1 or 0), or unset it to leave the choice to the program."
        )
    return _ON_OR_OFF[text.lower()]


def torch_allocator() -> str:
    """``PYTORCH_ALLOC_CONF``, or its older name ``PYTORCH_CUDA_ALLOC_CONF``: what PyTorch's allocator is told."""
    return os.environ.get("PYTORCH_ALLOC_CONF") or os.environ.get("PYTORCH_CUDA_ALLOC_CONF", "")


def cublas_workspace() -> str:
    """``CUBLAS_WORKSPACE_CONFIG``: work space of the matrix library on a GPU, sizes in KiB and counts: ``:4096:8``."""
    return os.environ.get("CUBLAS_WORKSPACE_CONFIG", "")


def keep_heap() -> int:
    """``SITUS_KEEP_HEAP``: how much of the host's memory that graphs have freed stays with the process, in bytes.

    Raises:
        InvalidArgumentError: it is not a size.
    """
    text = os.environ.get("SITUS_KEEP_HEAP", "").strip()
    return parse_bytes(text) if text else DEFAULT_KEPT_BYTES


def longest_record() -> int:
    """``SITUS_LONGEST_RECORD``: the most bytes of one line or record that a dataset reads from a file.

    Raises:
        InvalidArgumentError: it is not a size.
    """
    text = os.environ.get("SITUS_LONGEST_RECORD", "").strip()
    return parse_bytes(text) if text else DEFAULT_LONGEST_RECORD


def chooses_malloc() -> bool:
    """Whether the environment tells glibc's malloc what to do: ``MALLOC_..._``, or malloc in ``GLIBC_TUNABLES``."""
    own = any(name.startswith("MALLOC_") and name.endswith("_") for name in os.environ)
    return own or "glibc.malloc" in os.environ.get("GLIBC_TUNABLES", "")


def chooses_spinning() -> bool:
    """Whether the environment says how OpenMP's threads wait: ``GOMP_SPINCOUNT`` or ``OMP_WAIT_POLICY``."""
    return "GOMP_SPINCOUNT" in os.environ or "OMP_WAIT_POLICY" in os.environ


def onednn_limit() -> str | None:
    """``ONEDNN_MAX_CPU_ISA``, or its older name ``DNNL_MAX_CPU_ISA``: the best instructions that oneDNN may use."""
    return os.environ.get("ONEDNN_MAX_CPU_ISA", os.environ.get("DNNL_MAX_CPU_ISA"))


def cache_folder() -> str:
    """``XDG_CACHE_HOME``: where programs keep what they can find out again, ``~/.cache`` by default."""
    given = os.environ.get("XDG_CACHE_HOME", "").strip()
    return given or os.path.expanduser("~/.cache")  # noqa: PTH111 - Path's raises where the user has no home


def tf_config() -> str | None:
    """``TF_CONFIG``: the tasks of a distributed program, and which of them this process is, as JSON."""
    return os.environ.get("TF_CONFIG", "").strip() or None


def workers_start() -> float:
    """``SITUS_WORKERS_START``: how many seconds workers wait for each other before the first step."""
    return _seconds("SITUS_WORKERS_START", DEFAULT_WORKERS_START)


def workers_wait() -> float:
    """``SITUS_WORKERS_WAIT``: how many seconds a worker waits for the others in a step."""
    return _seconds("SITUS_WORKERS_WAIT", DEFAULT_WORKERS_WAIT)


def workers_silent() -> float:
    """``SITUS_WORKERS_SILENT``: after how many seconds without a sign of life a worker counts as gone."""
    return _seconds("SITUS_WORKERS_SILENT", DEFAULT_WORKERS_SILENT)


def _seconds(name: str, default: float) -> float:
    text = os.environ.get(name, "").strip()
    try:
        found = float(text) if text else default
    except ValueError:
        found = nan
    if not 0 < found < inf:
        raise ArgumentError(f"{name} is a number of seconds, more than 0, got {shown(text)}.")
    return found


def no_compiler() -> bool:
    """``SITUS_NO_COMPILER=1``: compile no C on first use, and take the slower ways to the same results."""
    return os.environ.get("SITUS_NO_COMPILER", "") not in ("", "0")


def costs_file() -> str:
    """``SITUS_COSTS``: the file of measured costs, in place of the one in the cache folder."""
    return os.environ.get("SITUS_COSTS", "").strip()


def verify_kernels() -> bool:
    """``SITUS_VERIFY=1``: check every kernel's result against the op's shape and dtype rules."""
    return os.environ.get("SITUS_VERIFY", "") not in ("", "0")


def compile_graphs() -> bool | str:
    """``SITUS_COMPILE``: whether graphs are compiled, whatever the program says; a word leaves it to that.

    By "auto" GPU programs that did not ask for it are compiled in the background, by "auto-cpu" those on CPUs
    as well, and by "asked", which is the default, none.

    Raises:
        InvalidArgumentError: it is set to something else.
    """
    text = os.environ.get("SITUS_COMPILE", "").strip().lower()
    if text in ("", "asked", "auto", "auto-cpu"):
        return text or "asked"
    found = _ON_OR_OFF.get(text)
    if found is None:
        raise ArgumentError(
            f"Cannot read SITUS_COMPILE={shown(text)}. Write 1 to compile graphs, 0 for never, asked to compile "
            "what the program asks for, auto to compile long-running ones on GPUs, or auto-cpu for those on "
            "CPUs as well."
        )
    return found


def compiled_folder() -> str | None:
    """``SITUS_COMPILE_CACHE``: the folder of compiled regions, in place of that in the cache folder; None for ``0``."""
    text = os.environ.get("SITUS_COMPILE_CACHE", "").strip()
    return None if text == "0" else text or "regions"


def cpp_compilers() -> tuple[str, ...]:
    """``CXX``: the C++ compiler, or what it may be called where that is not set."""
    given = os.environ.get("CXX", "").strip()
    return (given,) if given else ("g++", "clang++")


def c_compilers() -> tuple[str, ...]:
    """``CC``: the C compiler, or what it may be called where that is not set."""
    given = os.environ.get("CC", "").strip()
    return (given,) if given else ("gcc", "clang")


def switch(value: object, name: str) -> bool:
    """A setting that is on or off, as the program gives it.

    Raises:
        DTypeError: it is neither.
    """
    if not isinstance(value, (bool, int)) and type(value).__name__ != "bool":  # which NumPy's is called, too
        raise DTypeError(f"Expected bool for argument '{name}' not {value!r}.")
    return bool(value)


def number(value: object) -> float:
    """A number as the program gives it, NumPy's included; NaN if it is none, like True, None or text."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return nan
    try:
        return float(value)
    except OverflowError:
        return -inf if value < 0 else inf
