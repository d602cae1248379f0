"""The interface to PyTorch's compiler, TorchInductor, and all of torch's private names that it needs.

    missing(on_card)              what has to be installed first; None if nothing
    trace(function, layouts)      the function of tensors as a graph of PyTorch's own operators, without mutations
    compiled(traced)              the graph as fused kernels: C++ for the CPU, Triton for GPUs
    saved(compiled), loaded(data) serialize and deserialize fused kernels, without tracing
    versions(on_card)             what such bytes depend on, besides the graph

Everything is imported inside functions: loading the compiler takes seconds, and most programs never compile.

Shapes are static. A graph is traced with fake tensors, which have shapes, strides and dtypes and no elements, so a
kernel that depends on values fails there (`reason_of` says so). Results have the same layout as those of the kernels.
The compiler has a disk cache (``TORCHINDUCTOR_CACHE_DIR``), under keys of the code, the settings and the versions, and
looks there before it compiles anything. One thread compiles at a time.
"""

from __future__ import annotations

import copy
import importlib
import importlib.metadata
import importlib.util
import os
import pickle
import platform
import shutil
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from situs._src.base import locks, settings
from situs._src.base.devices.physical import processor_facts
from situs._src.runtime.eager import determinism
from situs._src.runtime.eager.own_operators import define_all
from situs._src.runtime.eager.shown import to_compiler
from situs._src.runtime.eager.torch_private import storage_key
from situs._src.runtime.passes.regions import Layout

Compiled = Callable[[list[Any]], Sequence[Any]]
_one_at_a_time = locks.rlock()


def missing(on_card: bool) -> str | None:
    """What has to be installed to compile for a GPU, or for the CPU; None if nothing.

    If the program demands determinism, a torch whose compiler cannot promise it counts as missing.
    """
    if on_card:
        if importlib.util.find_spec("triton") is None:
            return "Triton (pip install triton)"
        if not any(map(shutil.which, settings.c_compilers())):
            return f"a C compiler, which Triton needs ({_where('gcc or clang', 'CC')})"
    elif _cpp_compiler() is None:
        return f"a C++ compiler ({_where('g++ or clang++', 'CXX')})"
    return _nondeterministic() if determinism.is_required() else None


def _where(names: str, variable: str) -> str:
    """Where a compiler is looked for."""
    given = os.environ.get(variable, "").strip()
    return (
        f"{variable}={given} is no program that can be run" if given else f"{names} on PATH, or its path in {variable}"
    )


def _cpp_compiler() -> str | None:
    return next(filter(None, map(shutil.which, settings.cpp_compilers())), None)


def _nondeterministic() -> str | None:
    from torch._inductor import config

    return None if hasattr(config, "deterministic") else "a PyTorch whose compiler can be deterministic (2.9 or newer)"


@dataclass(eq=False)
class Traced:
    """A function as a graph of PyTorch's operators, and the fake tensors that it was traced with.

    Attributes:
        graph: The graph; it updates changed inputs in place.
        fakes: The tensors.
        changed: The places of those inputs.
        refuses: Whether its last result is the flag for invalid values.
    """

    graph: torch.fx.GraphModule
    fakes: list[torch.Tensor]
    changed: Sequence[int] = ()
    refuses: bool = False


def trace(
    function: Callable[..., list[torch.Tensor]], layouts: Sequence[Layout], changed: Sequence[int] = ()
) -> Traced:
    """Traces a function of tensors with these layouts. Exceptions pass through.

    Args:
        function: The function. It does not write into its inputs.
        layouts: The layouts of its inputs.
        changed: The places of inputs that the graph updates in place, at its end. Their new values are the first
            results of the function, in this order; the graph returns the others.

    Raises:
        NotImplementedError: two inputs would swap their values.
    """
    with _quietly():
        import torch._inductor.lowering  # some of the decompositions look there
        from torch._inductor.decomposition import select_decomp_table
        from torch._subclasses.fake_tensor import FakeTensorMode
        from torch.fx.experimental.proxy_tensor import make_fx
        from torch.fx.experimental.symbolic_shapes import ShapeEnv

        # With a ShapeEnv the compiler may cache the graph on disk; without scalars, ``item()`` fails.
        shapes = ShapeEnv(allow_scalar_outputs=False, allow_dynamic_output_shape_ops=False)
        mode = FakeTensorMode(allow_non_fake_inputs=True, shape_env=shapes, static_shapes=True)
        with torch.no_grad(), mode:
            fakes = [torch.empty_strided(x.shape, x.stride, dtype=x.dtype, device=x.device) for x in layouts]
            functional: Any = torch.func.functionalize(_unseen(function), remove="mutations")
            graph = make_fx(functional, decomposition_table=select_decomp_table(), tracing_mode="fake")(*fakes)
        graph.graph.eliminate_dead_code()
        if changed:
            _write_into(graph, changed)
        return Traced(graph, fakes, changed)


def _write_into(graph: torch.fx.GraphModule, changed: Sequence[int]) -> None:
    """Makes a graph write its first results into inputs, at its end, rather than return them."""
    inputs = list(graph.graph.find_nodes(op="placeholder"))
    targets = [inputs[place] for place in changed]
    output: Any = graph.graph.output_node()
    written, returned = output.args[0][: len(changed)], output.args[0][len(changed) :]
    memory = {_memory(target) for target in targets}
    with graph.graph.inserting_before(output):
        for target, value in zip(targets, written, strict=True):
            if value is target:
                continue
            if _memory(value) in memory:
                raise NotImplementedError("exchanges what variables hold")
            made = graph.graph.call_function(torch.ops.aten.copy_.default, (target, value))
            made.meta["val"] = target.meta["val"]
    output.args = (list(returned),)
    _return_copies(graph, changed)
    graph.recompile()


def _return_copies(graph: torch.fx.GraphModule, changed: Sequence[int]) -> None:
    """Makes a graph return copies, made in time, of results that alias memory that it writes into."""
    inputs = list(graph.graph.find_nodes(op="placeholder"))
    memory = {_memory(inputs[place]) for place in changed}
    output: Any = graph.graph.output_node()
    returned = list(output.args[0])
    first = next((node for node in graph.graph.nodes if node.target is torch.ops.aten.copy_.default), output)
    for place, value in enumerate(returned):
        if isinstance(value, torch.fx.Node) and _memory(value) in memory:
            with graph.graph.inserting_before(first):
                returned[place] = graph.graph.call_function(torch.ops.aten.clone.default, (value,))
            val: torch.Tensor = value.meta["val"]
            with val.fake_mode:  # type: ignore[attr-defined]
                returned[place].meta["val"] = val.clone()
    output.args = (returned,)


def _memory(node: torch.fx.Node) -> int:
    """The identity of the memory of a value of a graph."""
    return storage_key(node.meta["val"].untyped_storage())


def _unseen(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, with an error wherever it reads the memory of a tensor: during tracing, there is none."""

    def run(*values: torch.Tensor) -> Any:
        with to_compiler(), _Unseen():
            return function(*values)

    return run


class _Unseen(TorchFunctionMode):
    """Blocks the ways in which Python reads the elements of a tensor without one of PyTorch's operators."""

    _LOOKS = frozenset(
        {
            torch.Tensor.numpy,
            torch.Tensor.__array__,
            torch.Tensor.__dlpack__,
            torch.Tensor.tolist,
            torch.Tensor.data_ptr,
        }
    )

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func in self._LOOKS:
            raise ValueError("It looks at values.")
        name: str = getattr(func, "__name__", "")
        if name.startswith(_OF_LISTS) and name.endswith("_"):
            return _one_by_one(name.removeprefix(_OF_LISTS), args, kwargs or {})
        return func(*args, **(kwargs or {}))


_OF_LISTS = "_foreach_"  # torch's functions of lists of tensors


def _one_by_one(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """One of torch's in-place foreach functions as a call per tensor: these are fused with their producers."""
    function = None if name == "copy_" else getattr(torch, name.removesuffix("_"))
    if name in ("addcmul_", "addcdiv_") and len(args) == 4:
        *args, kwargs["value"] = args  # type: ignore[assignment]
    for place, into in enumerate(args[0]):
        others = [each[place] if isinstance(each, (list, tuple)) else each for each in args[1:]]
        into.copy_(others[0] if function is None else function(into, *others, **kwargs))


def reason_of(error: Exception) -> str:
    """Why something cannot be traced, in a few words, from its exception."""
    from torch._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException
    from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode

    by_values = (DataDependentOutputException, DynamicOutputShapeException, GuardOnDataDependentSymNode)
    text = str(error)
    of_values = ("data-dependent", "item()", "tolist()", ".numpy()")
    if isinstance(error, (*by_values, ValueError)) or any(each in text for each in of_values):
        return "looks at values"  # a ValueError comes from the kernel: it has read values
    first = text.strip().partition("\n")[0]
    return f"cannot be traced: {type(error).__name__}: {first[:100]}"


def failure_of(error: Exception) -> str:
    """What the compiler has failed with, in one line: of what a C++ compiler has printed, the first error."""
    lines = str(error).strip().splitlines() or [""]
    said = next((line for line in lines[1:] if "error:" in line), lines[0]).strip()
    return f"{type(error).__name__}: {said[:200]}"


class Watch:
    """Checks what each step of a function is traced to: `unchecked` is called after each step.

    A kernel rejects some values: an index out of range, a singular matrix, an integer division by zero. Its trace may
    not: a compiler drops checks that have no result, takes negative indices as counted from the end, and an integer
    division by zero kills the process.
    """

    def __init__(self) -> None:
        self._last: Any = None

    def unchecked(self, takes_integers: bool, says_itself: bool) -> str | None:
        """Why the last step must not be compiled: its checks would be lost; None if it may be.

        Args:
            takes_integers: Whether the step takes integers, which may be indices.
            says_itself: Whether the kernel declares what it is compiled as, and which values it rejects.
        """
        for node in self._new():
            if node.op != "call_function" or not isinstance(node.target, torch._ops.OpOverload):
                continue
            target: Any = node.target
            name = target.name().removeprefix("aten::").partition(".")[0]
            if not target._schema.returns or name.startswith("_assert"):
                return "checks values"
            if says_itself:
                continue
            if takes_integers and name.startswith(_INDEXING):
                return "takes indices, which are checked"
            made = node.meta.get("val")
            is_whole = isinstance(made, torch.Tensor) and not (made.is_floating_point() or made.is_complex())
            if is_whole and name.startswith(_DIVIDING) and any(isinstance(x, torch.fx.Node) for x in node.args[1:2]):
                return "divides integers, which is checked"
        return None

    def skip(self) -> None:
        """Ignores the trace of a step that has failed."""
        self._new()

    def _new(self) -> list[Any]:
        """The nodes of the graph since the last call."""
        from torch.fx.experimental.proxy_tensor import get_proxy_mode

        mode = get_proxy_mode()
        if mode is None:
            return []
        found, node = [], mode.tracer.graph._root._prev
        first, root = node, mode.tracer.graph._root
        while node is not root and node is not self._last:
            found.append(node)
            node = node._prev
        self._last = first
        return found


# Prefixes of torch's operators.
_INDEXING = ("gather", "scatter", "index", "embedding", "take", "nll_loss", "_unsafe_index", "_unsafe_masked_index")
_DIVIDING = ("div", "floor_divide", "remainder", "fmod", "true_divide")


def compiled(traced: Traced, exact: bool = False) -> Compiled:
    """The graph as a function of a list of tensors, which it may clear; it returns a list of them.

    Args:
        traced: The graph.
        exact: Whether values with less than float32's precision are rounded after each operator, as without a compiler,
            rather than at the end of a fused kernel.
    """
    with _quietly(), torch.no_grad(), _settings(exact):
        from torch._inductor import compile_fx

        graph = compile_fx._recursive_joint_graph_passes(traced.graph)
        _return_copies(graph, traced.changed)  # again: the passes remove no-ops
        output: Any = graph.graph.output_node()
        output.meta["user_visible_output_idxs"] = list(range(len(output.args[0])))  # keeps their strides
        compile_fx._recursive_record_original_output_strides(graph)
        context: Any = torch._guards.TracingContext(traced.fakes[0].fake_mode if traced.fakes else None)  # type: ignore[attr-defined]
        context.output_strides = []
        with torch._guards.tracing(context):
            made: Compiled = compile_fx.compile_fx_inner(graph, traced.fakes, is_inference=True)
        return made


def saved(made: Compiled) -> bytes | None:
    """Fused kernels as bytes, which `loaded` takes if `versions` are the same; None if they cannot be serialized.

    They refer to files in the compiler's own cache, and contain what is needed to write them again.
    """
    graphs = sys.modules.get("torch._inductor.output_code")
    if graphs is None or not isinstance(made, graphs.CompiledFxGraph):  # an empty graph
        return None
    kept = copy.copy(made)
    kept.prepare_for_serialization()
    kept._time_taken_ns = None
    try:
        return pickle.dumps(kept, protocol=pickle.HIGHEST_PROTOCOL)
    except (pickle.PicklingError, TypeError, AttributeError, RuntimeError):  # a constant that cannot leave the process
        return None


def loaded(data: bytes, exact: bool = False) -> Compiled:
    """The function that `saved` has serialized.

    Args:
        data: The bytes, from a trusted source: they contain code.
        exact: As for `compiled`.

    Raises:
        RuntimeError: something that the kernels need is missing.
    """
    with _quietly(), torch.no_grad(), _settings(exact, compile_threads=1):  # there is nothing left to compile
        from torch._inductor.codecache import FxGraphCache
        from torch._inductor.output_code import CompiledFxGraph, CompiledFxGraphConstants
        from torch._inductor.utils import BoxedBool

        define_all()  # compiled code may call them
        graph = pickle.loads(data)
        if not isinstance(graph, CompiledFxGraph):
            raise TypeError(f"There is a {type(graph).__name__} in the place of compiled kernels.")
        constants = CompiledFxGraphConstants()
        found, _ = FxGraphCache.cache_hit_post_compile(graph, {}, constants)
        if found is None:
            raise RuntimeError("The compiler's own files are gone.")
        found.post_compile([], constants, {"cudagraphs": BoxedBool(False), "is_backward": False})
        made: Compiled = found
        return made


@contextmanager
def chosen_quickly(pause: Callable[[], None]) -> Iterator[None]:
    """Makes Triton autotune with a few runs per configuration, in this thread, rather than 0.1 s of them.

    Other work on the GPU is hardly disturbed.

    Args:
        pause: Called after each configuration.
    """
    from torch._inductor.runtime import benchmarking

    measurer: Any = benchmarking.benchmarker
    thread = threading.get_ident()

    def instead(usual: Callable[..., Any]) -> Callable[..., Any]:
        def measure(*args: Any, **kwargs: Any) -> Any:
            function = args[0] if args else kwargs.get("fn", kwargs.get("_callable"))
            has_arguments = len(args) > 1 or kwargs.get("fn_args") or kwargs.get("fn_kwargs")
            if threading.get_ident() != thread or function is None or has_arguments:
                return usual(*args, **kwargs)
            found = _milliseconds(function)
            pause()
            return found

        return measure

    names = [name for name in ("benchmark", "benchmark_gpu") if hasattr(measurer, name)]
    for name in names:
        setattr(measurer, name, instead(getattr(measurer, name)))
    try:
        yield
    finally:
        for name in names:
            delattr(measurer, name)  # the class has it


def _milliseconds(function: Callable[[], Any]) -> float:
    """The best time of a few launches, on the stream of this thread."""
    event: Any = torch.cuda.Event
    function()
    pairs = []
    for _ in range(_LAUNCHES):
        start, end = (event(enable_timing=True) for _ in range(2))
        start.record()
        function()
        end.record()
        pairs.append((start, end))
    pairs[-1][1].synchronize()
    return float(min(start.elapsed_time(end) for start, end in pairs))


_LAUNCHES = 5


def versions(on_card: bool) -> tuple[str, ...]:
    """What bytes of `saved` depend on besides the graph: PyTorch, the processor or the GPU, settings."""
    known: Any = torch.version
    found = [torch.__version__, str(known.git_version), str(known.cuda), sys.version, platform.machine()]
    if on_card:
        properties: Any = torch.cuda.get_device_properties(torch.cuda.current_device())
        found += [properties.name, f"{properties.major}.{properties.minor}", str(properties.multi_processor_count)]
        found.append(importlib.metadata.version("triton"))
    found += [processor_facts().get("flags", ""), str(torch.get_num_threads()), str(_cpp_compiler())]
    found += [torch.get_float32_matmul_precision(), str(determinism.is_required())]
    found += [f"{name}={value}" for name, value in sorted(os.environ.items()) if _steers(name)]
    return tuple(found)


def _steers(name: str) -> bool:
    """Whether an environment variable changes what is compiled."""
    return name.startswith(_STEERING) and name not in _NOT_STEERING


_STEERING = ("TORCHINDUCTOR_", "TRITON_")
_NOT_STEERING = ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "TORCHINDUCTOR_COMPILE_THREADS")


@contextmanager
def _quietly() -> Iterator[None]:
    """One thread at a time, and without the compiler's internal warnings.

    Python's warning filters are shared by all threads: in the background, the program's own warnings would be lost.
    """
    with _one_at_a_time:
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield


@contextmanager
def _settings(exact: bool, **others: Any) -> Iterator[None]:
    from torch._inductor import config

    chosen: dict[str, Any] = {"fx_graph_cache": True, "emulate_precision_casts": exact, **others}
    if exact and hasattr(config, "dynamic_scale_rblock"):
        chosen["dynamic_scale_rblock"] = False  # it compiles more kernel configurations when kernels are loaded
    chosen["cpp.cxx"] = (None, _cpp_compiler())  # the one that was found: by default it would be g++ alone
    if determinism.is_required():
        chosen["deterministic"] = True
    with config.patch(chosen):
        yield
