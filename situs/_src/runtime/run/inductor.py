"""PyTorch's compiler, TorchInductor: all that Situs asks of it, and all of torch's private names that this takes.

    missing(on_card)              what has to be installed first; None if everything is there
    trace(function, layouts)      the function of tensors as a graph of PyTorch's own operators, without mutations
    compiled(traced)              the graph as fused kernels: C++ on the host, Triton on a card

Everything is imported inside of functions: loading the compiler takes seconds, and most programs never compile.

Shapes are static. A graph is traced with fake tensors, which have shapes, strides and dtypes and no elements, so a
kernel that looks at values fails there (`reason_of` says so). Results are laid out as the kernels lay them out. The
compiler keeps what it has made on disk (``TORCHINDUCTOR_CACHE_DIR``), under keys of the code, the settings and the
versions, and looks there before it compiles anything. One thread compiles at a time.
"""

from __future__ import annotations

import importlib
import importlib.util
import shutil
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from situs._src.base import locks, settings
from situs._src.runtime.eager import determinism
from situs._src.runtime.eager.shown import to_compiler
from situs._src.runtime.eager.torch_private import storage_key
from situs._src.runtime.passes.regions import Layout

Compiled = Callable[[list[Any]], Sequence[Any]]
_one_at_a_time = locks.rlock()


def missing(on_card: bool) -> str | None:
    """What has to be installed before anything is compiled for a card, or for the host; None if nothing.

    Where the program demands determinism, a torch whose compiler cannot promise it counts as missing.
    """
    if on_card:
        if importlib.util.find_spec("triton") is None:
            return "Triton (pip install triton)"
        if not any(map(shutil.which, settings.c_compilers())):
            return "a C compiler, which Triton needs (gcc or clang on PATH, or its path in CC)"
    elif _cpp_compiler() is None:
        return "a C++ compiler (g++ or clang++ on PATH, or its path in CXX)"
    return _nondeterministic() if determinism.is_required() else None


def _cpp_compiler() -> str | None:
    return next(filter(None, map(shutil.which, settings.cpp_compilers())), None)


def _nondeterministic() -> str | None:
    from torch._inductor import config

    return None if hasattr(config, "deterministic") else "a PyTorch whose compiler can be deterministic (2.9 or newer)"


@dataclass(eq=False)
class Traced:
    """A function as a graph of PyTorch's operators, and the fake tensors that it was traced with.

    Attributes:
        graph: The graph; it writes into the memory of the inputs that are changed.
        fakes: The tensors.
        changed: The places of those inputs.
        refuses: Whether its last result says that values were refused.
    """

    graph: torch.fx.GraphModule
    fakes: list[torch.Tensor]
    changed: Sequence[int] = ()
    refuses: bool = False


def trace(
    function: Callable[..., list[torch.Tensor]], layouts: Sequence[Layout], changed: Sequence[int] = ()
) -> Traced:
    """Traces a function of tensors with these layouts. What it raises comes out as it is.

    Args:
        function: The function. It writes into no input.
        layouts: Of its inputs.
        changed: The places of inputs that the graph is to write into, at its end. What it writes there are the first
            results of the function, in this order; the graph returns the others.

    Raises:
        NotImplementedError: two inputs would get each other's values.
    """
    with _quietly():
        import torch._inductor.lowering  # some of the decompositions look there
        from torch._inductor.decomposition import select_decomp_table
        from torch._subclasses.fake_tensor import FakeTensorMode
        from torch.fx.experimental.proxy_tensor import make_fx
        from torch.fx.experimental.symbolic_shapes import ShapeEnv

        # With a ShapeEnv the compiler may keep the graph on disk; without scalars, ``item()`` is refused.
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
    """Lets a graph write its first results into inputs, at its end, rather than return them."""
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
    """Lets a graph return copies, made before, of what it returns of the memory that it writes into."""
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
    """What tells the memory of a value of a graph from others'."""
    return storage_key(node.meta["val"].untyped_storage())


def _unseen(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, with a refusal wherever it looks at the memory of a tensor: while it is traced, there is none."""

    def run(*values: torch.Tensor) -> Any:
        with to_compiler(), _Unseen():
            return function(*values)

    return run


class _Unseen(TorchFunctionMode):
    """Refuses the ways in which Python gets at the elements of a tensor without one of PyTorch's operators."""

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
    """One of torch's functions of lists, in place, as calls for each tensor: those are fused with what makes them."""
    function = None if name == "copy_" else getattr(torch, name.removesuffix("_"))
    if name in ("addcmul_", "addcdiv_") and len(args) == 4:
        *args, kwargs["value"] = args  # type: ignore[assignment]
    for place, into in enumerate(args[0]):
        others = [each[place] if isinstance(each, (list, tuple)) else each for each in args[1:]]
        into.copy_(others[0] if function is None else function(into, *others, **kwargs))


def reason_of(error: Exception) -> str:
    """Why something cannot be traced, in a few words, from what it raised."""
    from torch._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException
    from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode

    by_values = (DataDependentOutputException, DynamicOutputShapeException, GuardOnDataDependentSymNode)
    text = str(error)
    of_values = ("data-dependent", "item()", "tolist()", ".numpy()")
    if isinstance(error, (*by_values, ValueError)) or any(each in text for each in of_values):
        return "looks at values"  # a ValueError is a kernel's own: it has looked
    first = text.strip().partition("\n")[0]
    return f"cannot be traced: {type(error).__name__}: {first[:100]}"


class Watch:
    """Looks at what each step of a function becomes, while it is traced: `unchecked` is asked after each step.

    A kernel refuses some values: an index out of range, a matrix without an inverse, a division of integers by zero.
    What it becomes may not: a compiler drops checks that have no result, takes negative indices for indices from the
    end, and a division of integers by zero ends the process.
    """

    def __init__(self) -> None:
        self._last: Any = None

    def unchecked(self, takes_integers: bool) -> str | None:
        """Why the last step must not be compiled: it has checks that would be lost; None if it may be.

        Args:
            takes_integers: Whether the step takes integers, which may be indices.
        """
        for node in self._new():
            if node.op != "call_function" or not isinstance(node.target, torch._ops.OpOverload):
                continue
            target: Any = node.target
            name = target.name().removeprefix("aten::").partition(".")[0]
            if not target._schema.returns or name.startswith("_assert"):
                return "checks values"
            if takes_integers and name.startswith(_INDEXING):
                return "takes indices, which are checked"
            made = node.meta.get("val")
            is_whole = isinstance(made, torch.Tensor) and not (made.is_floating_point() or made.is_complex())
            if is_whole and name.startswith(_DIVIDING) and any(isinstance(x, torch.fx.Node) for x in node.args[1:2]):
                return "divides integers, which is checked"
        return None

    def skip(self) -> None:
        """Leaves out what a step has become that has failed."""
        self._new()

    def _new(self) -> list[Any]:
        """The nodes of the graph since this was asked last."""
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


# Beginnings of names of torch's operators.
_INDEXING = ("gather", "scatter", "index", "embedding", "take", "nll_loss", "_unsafe_index", "_unsafe_masked_index")
_DIVIDING = ("div", "floor_divide", "remainder", "fmod", "true_divide")


def compiled(traced: Traced, exact: bool = False, elsewhere: bool = False) -> Compiled:
    """The graph as a function of a list of tensors, which it may empty; it returns a list of them.

    Args:
        traced: The graph.
        exact: Whether values in less than float32's precision are rounded after each operator, as they are without a
            compiler, rather than at the end of what is fused.
        elsewhere: Whether another process does the work, while this thread waits for it; a graph that it does not know
            all operators of is compiled here.
    """
    goes = elsewhere and not any(map(_is_ours, traced.graph.graph.nodes))
    with _quietly(), torch.no_grad(), _settings(exact), _elsewhere() if goes else nullcontext():
        from torch._inductor import compile_fx

        graph = compile_fx._recursive_joint_graph_passes(traced.graph)
        _return_copies(graph, traced.changed)  # again: the passes leave out what changes nothing
        output: Any = graph.graph.output_node()
        output.meta["user_visible_output_idxs"] = list(range(len(output.args[0])))  # their strides stay as they are
        compile_fx._recursive_record_original_output_strides(graph)
        context: Any = torch._guards.TracingContext(traced.fakes[0].fake_mode if traced.fakes else None)  # type: ignore[attr-defined]
        context.output_strides = []
        with torch._guards.tracing(context):
            made: Compiled = compile_fx.compile_fx_inner(graph, traced.fakes, is_inference=True)
        return made


def _is_ours(node: torch.fx.Node) -> bool:
    """Whether a node calls an operator of Situs', which another process does not know."""
    return isinstance(node.target, torch._ops.OpOverload) and node.target.namespace == "situs"


@contextmanager
def _quietly() -> Iterator[None]:
    """One thread at a time, and without what the compiler warns of in itself.

    Python keeps one list of what is warned of for all threads: in the background, the program's own warnings would go.
    """
    with _one_at_a_time:
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield


@contextmanager
def _elsewhere() -> Iterator[None]:
    """Has PyTorch compile in a process of its own, which it starts once; a torch that cannot compiles here.

    It sends graphs of ATen's operators alone, by default; the process is of the same torch, and knows all others.
    """
    from torch._inductor import compile_fx

    mode: Any = getattr(compile_fx, "FxCompileMode", None)
    if mode is None or not hasattr(compile_fx, "fx_compile_mode"):
        yield
        return
    pickler: Any = importlib.import_module("torch.fx._graph_pickler")
    before, options = compile_fx.fx_compile_mode, pickler.Options
    compile_fx.fx_compile_mode, pickler.Options = mode.SUBPROCESS, partial(options, ops_filter=None)
    try:
        yield
    finally:
        compile_fx.fx_compile_mode, pickler.Options = before, options


@contextmanager
def _settings(exact: bool) -> Iterator[None]:
    from torch._inductor import config

    chosen: dict[str, Any] = {"fx_graph_cache": True, "emulate_precision_casts": exact}
    chosen["cpp.cxx"] = (None, _cpp_compiler())  # the one that was found: by default it would be g++ alone
    if determinism.is_required():
        chosen["deterministic"] = True
    with config.patch(chosen):
        yield
