"""From a Python function to one whose control flow works on tensors.

    source      the syntax tree of the function, found by its line          source.py
    prepare     names that must not change their meaning                    prepare.py
    hoist       expressions that change variables become statements         hoist.py, hidden.py
    returns     early returns become a flag and a value                     returns.py
    leaps       break and continue become flags                             leaps.py
    control     if, while and for become operators                          control.py, liveness.py
    logic       and, or, not, conditional expressions, calls                logic.py

The result has the globals, the closure cells, the defaults and the line numbers of the original. A function
that cannot be converted is returned unchanged; conversion never fails.
"""

from __future__ import annotations
import __future__

import ast
from collections.abc import Callable
from functools import partial, reduce, update_wrapper
from operator import or_
from types import CellType, CodeType, FunctionType, MethodType
from typing import Any, TypeVar, cast
from weakref import WeakKeyDictionary

from situs._src.base.errors import ArgumentError
from situs._src.base.export import export
from situs._src.ops.attribute import as_int
from situs._src.tracing.autograph import hooks, operators
from situs._src.tracing.autograph.bindings import parameters
from situs._src.tracing.autograph.calls import converted, is_library, is_wanted
from situs._src.tracing.autograph.control import ControlFlow
from situs._src.tracing.autograph.hidden import Hidden, hidden_in, locals_of
from situs._src.tracing.autograph.hoist import hoist
from situs._src.tracing.autograph.leaps import lower_leaps
from situs._src.tracing.autograph.liveness import Liveness
from situs._src.tracing.autograph.logic import Expressions
from situs._src.tracing.autograph.prepare import is_convertible, mangle, prepare
from situs._src.tracing.autograph.returns import lower_returns
from situs._src.tracing.autograph.source import Source, find, inner_code
from situs._src.tracing.autograph.syntax import as_block, insert_at_head, statements

F = TypeVar("F", bound=Callable[..., Any])

_MARK = "__situs_not_converted__"
_RUNTIME = "ag__"
_FUTURES = reduce(or_, (getattr(__future__, name).compiler_flag for name in __future__.all_feature_names))


@export("autograph.convert", v1=())
def convert(function: F) -> F:
    """The function with its control flow converted; unchanged, if it cannot or should not be."""
    return cast(F, _convert(function))


def convert_requested(function: F) -> F:
    """`convert` for a function that the program passes to be traced: it may belong to a library."""
    return cast(F, _convert(function, of_library=True))


def _convert(function: object, of_library: bool = False) -> object:
    if type(function) is MethodType:
        return MethodType(cast(Callable[..., Any], _convert(function.__func__, of_library)), function.__self__)
    if type(function) is not FunctionType or not _is_open(function, of_library):
        return function
    of_file = _codes.setdefault(function.__code__, {})
    name = function.__code__.co_filename
    if name not in of_file:
        of_file[name] = _compiled(function)
    code = of_file[name]
    return function if code is None else _rebound(function, code)


@export("autograph.do_not_convert", "autograph.experimental.do_not_convert", v1=())
def do_not_convert(func: F | None = None) -> Any:
    """Marks a function, with everything that it calls, as not to be converted; used with or without parentheses."""
    if func is None:
        return do_not_convert
    target = getattr(func, "__func__", func)
    if isinstance(target, FunctionType):
        setattr(target, _MARK, target.__code__)
    return func


@export("autograph.is_converted", v1=())
def is_converted(function: Any) -> bool:
    """Whether a function is the result of conversion."""
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    return code is not None and _RUNTIME in code.co_freevars


@export("autograph.to_graph", v1=())
def to_graph(entity: object, recursive: bool = True, experimental_optional_features: Any = None) -> Any:
    """The converted function; unlike in `convert`, it is an error if it cannot be converted.

    Raises:
        InvalidArgumentError: there is nothing to convert, or its source cannot be found.
    """
    result = converted(entity)
    if not (is_converted(result) or is_converted(getattr(result, "func", None))):
        raise ArgumentError(
            f"{entity!r} cannot be converted: expected a Python function or method whose source file can be read, "
            f"which is no generator or coroutine and is not marked with do_not_convert."
        )
    return result


@export("autograph.to_code", v1=())
def to_code(entity: object, recursive: bool = True, experimental_optional_features: Any = None) -> str:
    """The source of the converted function.

    Raises:
        InvalidArgumentError: there is nothing to convert, or its source cannot be found.
    """
    function = getattr(entity, "__func__", entity)
    source = find(function) if type(function) is FunctionType else None
    if source is None or not is_convertible(source.node):
        raise ArgumentError(
            f"{entity!r} cannot be converted: expected a Python function or method whose source file can be read, "
            f"which is no generator or coroutine."
        )
    return ast.unparse(ast.fix_missing_locations(_transformed(source)))


def _is_open(function: FunctionType, of_library: bool) -> bool:
    marked = getattr(function, _MARK, None) is function.__code__
    wanted = is_wanted(function) or (of_library and is_library(function))
    return not marked and _RUNTIME not in function.__code__.co_freevars and wanted


_codes: WeakKeyDictionary[CodeType, dict[str, CodeType | None]] = WeakKeyDictionary()


def _compiled(function: FunctionType) -> CodeType | None:
    original = function.__code__
    try:
        source = find(function)
        if source is None or not is_convertible(source.node):
            return None
        module = _in_factory(_transformed(source), original.co_freevars)
        flags = original.co_flags & _FUTURES
        compiled = compile(module, original.co_filename, "exec", flags=flags, dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError):
        return None
    code = inner_code(inner_code(compiled))
    if not set(code.co_freevars) <= {*original.co_freevars, _RUNTIME}:
        return None
    return _qualified(code, code.co_qualname, original.co_qualname).replace(co_name=original.co_name)


def _qualified(code: CodeType, before: str, after: str) -> CodeType:
    """The code, and all nested code, under the qualified name that it would have without the factory."""
    constants = (_qualified(item, before, after) if isinstance(item, CodeType) else item for item in code.co_consts)
    return code.replace(co_qualname=code.co_qualname.replace(before, after, 1), co_consts=tuple(constants))


def _transformed(source: Source) -> ast.FunctionDef:
    node = source.node
    if isinstance(node, ast.Lambda):
        (made,) = statements("def ag__lambda(): return None", node)
        assert isinstance(made, ast.FunctionDef)
        made.args, made.body = node.args, [ast.copy_location(ast.Return(node.body), node.body)]
        node = made
    if source.owner:
        name = node.name
        mangle(node, source.owner)
        node.name = name
    node.decorator_list = []
    return _converted_definition(node, Hidden())


def _converted_definition(node: ast.FunctionDef, around: Hidden) -> ast.FunctionDef:
    """Runs the passes over one function definition, and over those nested in it."""
    if not is_convertible(node):
        return node
    declared = prepare(node)
    hidden = hidden_in(node, declared, around)
    declared.nonlocals |= hidden.names - locals_of(node, declared)
    hoist(node.body, hidden)
    lower_returns(node)
    lower_leaps(node.body)
    outside = declared.globals | declared.nonlocals
    control = ControlFlow(declared, Liveness(node, outside | hidden.names), hidden)
    node.body = [item for statement in node.body for item in as_block(control.visit(statement))]
    expressions = Expressions(partial(_converted_definition, around=hidden))
    node.body = [expressions.visit(statement) for statement in node.body]
    known = parameters(node.args) | outside
    _declare(node, declared.globals, declared.nonlocals, [*control.moved, *declared.locals], known)
    return node


def _declare(
    node: ast.FunctionDef, of_module: set[str], of_function: set[str], moved: list[str], known: set[str]
) -> None:
    """Declares at the head of a function the scope of its names, as the statements that implied it have moved."""
    lines = [f"global {name}" for name in sorted(of_module)] + [f"nonlocal {name}" for name in sorted(of_function)]
    local = [name for name in dict.fromkeys(moved) if name not in known]
    # Never run, but makes the names locals, and `ag__` a free variable: the mark of a converted function.
    lines.append(f"if False: {' = '.join([*local, _RUNTIME])}")
    insert_at_head(node, "\n".join(lines))


def _in_factory(node: ast.FunctionDef, names: tuple[str, ...]) -> ast.Module:
    """The definition inside a function whose parameters are its free variables, so that they are compiled as cells."""
    node.args.defaults, node.args.kw_defaults = [], [None] * len(node.args.kwonlyargs)
    for item in ast.walk(node.args):
        if isinstance(item, ast.arg):
            item.annotation = None
    node.returns, node.type_params = None, []  # type: ignore[attr-defined,unused-ignore]
    node.name = "ag__function"  # its name must keep referring to the global or closure variable
    module = ast.parse(f"def ag__factory({', '.join([_RUNTIME, *names])}): pass")
    assert isinstance(module.body[0], ast.FunctionDef)
    module.body[0].body = [node]
    return ast.fix_missing_locations(module)


def _rebound(function: FunctionType, code: CodeType) -> FunctionType:
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    cells[_RUNTIME] = CellType(operators)
    closure = tuple(cells[name] for name in code.co_freevars)
    made = FunctionType(code, function.__globals__, function.__name__, function.__defaults__, closure)
    made.__kwdefaults__ = function.__kwdefaults__
    return update_wrapper(made, function)  # type: ignore[return-value]


hooks.install(convert=convert, convert_requested=convert_requested)


@export("autograph.trace", v1=())
def trace(*args: Any) -> None:
    """Prints values while a graph is made, not when it runs."""
    print(*args)


@export(
    "autograph.set_verbosity",
    v1=(),
    differs="AutoGraph writes no log: code that is not converted runs as it is.",
)
def set_verbosity(level: int, alsologtostdout: bool = False) -> None:
    """Accepted for TensorFlow's programs: AutoGraph writes no log.

    Args:
        level: How much to write.
        alsologtostdout: Whether to write it to standard output, too.
    """
    as_int(level, "level")
