"""Names of torch that begin with an underscore stand in one file, `torch_private.py`, and its compiler's in another."""

import ast
import re
from pathlib import Path

import pytest
import torch

import situs
from situs._src.runtime.eager import torch_private
from situs._src.runtime.run import inductor

PACKAGE = Path(situs.__file__).parent
HOME = Path(torch_private.__file__)
COMPILER = Path(inductor.__file__)  # whose names are imported when something is compiled
# Attributes of torch's objects that no chain of names leads to: a storage's, a tensor's, an operator's.
OF_OBJECTS = {"_cdata", "_use_count", "_is_view", "_schema"}
IN_TEXT = re.compile(r"torch\._(?!_)\w+|\._cdata\b|_foreach_|mkldnn\._")


def private_names(source: str) -> list[tuple[int, str]]:
    """The lines of some source that reach for private names of torch, each with the name."""
    found = [(number, line.strip()) for number, line in enumerate(source.splitlines(), 1) if IN_TEXT.search(line)]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute):
            chain = ast.unparse(node)
            of_torch = chain.startswith("torch.") and is_private(node.attr)
            if of_torch or (node.attr in OF_OBJECTS and not chain.startswith("self.")):
                found.append((node.lineno, chain))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in OF_OBJECTS:
            found.append((node.lineno, node.value))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "torch":
            names = [*(node.module or "").split("."), *(alias.name for alias in node.names)]
            found += [(node.lineno, name) for name in names if is_private(name)]
    return found


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


@pytest.mark.parametrize(
    "source",
    [
        "torch._C._storage_Use_Count(1)",
        "from torch._C import Tensor",
        "from torch.utils._python_dispatch import TorchDispatchMode",
        "from torch import _standard_gamma",
        "torch.cuda._is_in_bad_fork()",
        "torch.ops.aten.tanh_backward.default._op",
        "key = value.untyped_storage()._cdata",
        'getattr(torch.Tensor, "_use_count")',
        "torch._foreach_add_(values, 1)",
    ],
)
def test_private_names_are_found(source):
    assert private_names(source)


def test_other_names_are_not():
    assert private_names("import torch\ntorch.add(a, b).storage()\nself._is_view(node)\ntorch.__version__") == []


def test_no_other_file_has_private_names_of_torch():
    files = [file for file in PACKAGE.rglob("*.py") if file not in (HOME, COMPILER)]
    assert len(files) > 300
    found = [
        f"{file.relative_to(PACKAGE)}:{line}: {text}"
        for file in files
        for line, text in private_names(file.read_text())
    ]
    assert not found, f"put these names into {HOME.relative_to(PACKAGE)}: {found}"


def test_the_compilers_names_are_imported_inside_of_functions():
    at_import = [
        node for node in ast.parse(COMPILER.read_text()).body if isinstance(node, (ast.Import, ast.ImportFrom))
    ]
    assert not private_names("\n".join(map(ast.unparse, at_import)))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch's, of itself
def test_the_compilers_names_are_there():
    """What `inductor.py` takes of this torch; a release that lacks one is found here, not in a user's program."""
    from torch._inductor import compile_fx, config
    from torch._inductor.decomposition import select_decomp_table
    from torch._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException, FakeTensorMode
    from torch.fx.experimental.proxy_tensor import get_proxy_mode, make_fx
    from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode, ShapeEnv

    functions = (select_decomp_table, make_fx, get_proxy_mode, compile_fx.compile_fx_inner)
    functions += (compile_fx._recursive_joint_graph_passes, compile_fx._recursive_record_original_output_strides)
    assert all(map(callable, functions))
    errors = (DataDependentOutputException, DynamicOutputShapeException, GuardOnDataDependentSymNode)
    assert all(issubclass(error, Exception) for error in errors)
    assert FakeTensorMode(shape_env=ShapeEnv(), static_shapes=True).static_shapes
    options = ("fx_graph_cache", "emulate_precision_casts", "deterministic", "cpp")
    assert all(hasattr(config, name) for name in options)
    assert hasattr(torch._guards.TracingContext(None), "output_strides")


def test_names_are_torchs_own_objects():
    """Hot paths import them: a function around one would cost each call of it."""
    for name in vars(torch_private):
        if name.startswith(("foreach_", "fused_", "standard_gamma")):
            assert getattr(torch_private, name) is getattr(torch, f"_{name}")


def test_a_torch_that_lacks_what_may_be_missing_will_do(monkeypatch):
    for name in ("_accelerator_getAllocatorSettings", "_accelerator_setAllocatorSettings", "CompilationUnit"):
        monkeypatch.delattr(torch._C, name, raising=False)
    for name in ("_cuda_clearCublasWorkspaces", "_get_graph_executor_optimize", "_set_graph_executor_optimize"):
        monkeypatch.delattr(torch._C, name, raising=False)
    names = {"__name__": "older"}
    exec(compile(HOME.read_text(), str(HOME), "exec"), names)
    assert names["read_allocator_settings"] is None
    names["write_script_optimize"](names["read_script_optimize"]())
    names["clear_cublas_workspaces"]()
    with pytest.raises(AttributeError):
        names["compilation_unit"]()
