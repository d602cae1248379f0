"""``tf.experimental.dispatch_for_api``: functions of a program that stand in for ours where their types are given.

    @tf.experimental.dispatch_for_api(tf.stack)
    def masked_stack(values: list[Masked], axis=0): ...

A function costs nothing more until something is registered for it. From then on its code is that of a stand-in, which
looks at the types of the arguments first: the function itself stays the same object, wherever it has been imported.
"""

from __future__ import annotations

import importlib
import inspect
import types
import typing
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from situs._src.base.errors import ArgumentError, DTypeError, shown
from situs._src.base.export import export
from situs._src.base.tensor import Tensor, is_tensor
from situs._src.ir.graph.context import name_scope
from situs._src.tracing.type_spec import CompositeTensor

_NAME = "name"


class _Target(NamedTuple):
    """A function that was registered, and which arguments it is for: annotations by parameter."""

    function: Callable[..., Any]  # as the program wrote it
    call: Callable[..., Any]
    wanted: dict[str, Any]


class _Interception:
    """What stands in for one public function."""

    def __init__(self, function: types.FunctionType) -> None:
        self.signature = inspect.signature(function)
        code = function.__code__
        self.original = types.FunctionType(
            code, function.__globals__, function.__name__, function.__defaults__, function.__closure__
        )
        self.original.__kwdefaults__ = function.__kwdefaults__
        self.targets: list[_Target] = []
        constants = tuple([self if each is _MARK else each for each in _stand_in.__code__.co_consts])
        function.__signature__ = self.signature  # type: ignore[attr-defined]
        function.__code__ = _stand_in.__code__.replace(
            co_consts=constants, co_freevars=code.co_freevars, co_name=code.co_name, co_qualname=code.co_qualname
        )

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if not self.targets or not any(map(_has_composite, (*args, *kwargs.values()))):
            return self.original(*args, **kwargs)
        try:
            given = self.signature.bind(*args, **kwargs).arguments
        except TypeError:
            return self.original(*args, **kwargs)
        found = list({each.function: each for each in self.targets if _fits(each.wanted, given)}.values())
        if len(found) > 1:
            names = ", ".join(each.function.__name__ for each in found)
            raise ArgumentError(
                f"Multiple dispatch targets that were registered for {self.original.__name__} match its arguments:"
                f" {names}."
            )
        return found[0].call(*args, **kwargs) if found else self.original(*args, **kwargs)


_MARK = "what stands in"


def _stand_in(*args: Any, **kwargs: Any) -> Any:
    intercepted: Any = "what stands in"
    return intercepted(args, kwargs)


_interceptions: dict[Any, _Interception] = {}


def _interception(api: Any) -> _Interception:
    function = inspect.unwrap(api) if callable(api) else api
    if not isinstance(function, types.FunctionType) or not function.__module__.startswith("situs."):
        raise ArgumentError(f"{shown(api)} does not support dispatch.")
    if function not in _interceptions:
        _interceptions[function] = _Interception(function)
    return _interceptions[function]


# Types of arguments.


def _has_composite(value: object) -> bool:
    if isinstance(value, (list, tuple)):
        return any(map(_has_composite, value))
    return isinstance(value, CompositeTensor)


def _matches(annotation: Any, value: Any) -> bool:
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        return any(_matches(each, value) for each in arguments)
    if origin is list:
        return isinstance(value, (list, tuple)) and all(_matches(arguments[0], each) for each in value)
    if origin is tuple:
        wanted = [arguments[0]] * len(value) if arguments[-1:] == (Ellipsis,) else list(arguments)
        return (
            isinstance(value, tuple)
            and len(wanted) == len(value)
            and all(_matches(one, other) for one, other in zip(wanted, value, strict=True))
        )
    if annotation is Any or annotation is inspect.Parameter.empty:
        return True
    if annotation is Tensor:
        return is_tensor(value)
    if annotation in (None, type(None)):
        return value is None
    return isinstance(annotation, type) and isinstance(value, annotation)


def _fits(wanted: dict[str, Any], given: dict[str, Any]) -> bool:
    if not all(parameter in given and _matches(each, given[parameter]) for parameter, each in wanted.items()):
        return False
    return any(_has_composite(given[parameter]) for parameter in wanted)


def _classes(annotation: Any) -> Iterator[Any]:
    yield annotation
    for each in typing.get_args(annotation):
        yield from _classes(each)


def _checked(wanted: dict[Any, Any], signature: inspect.Signature, what: str) -> dict[str, Any]:
    """The types of a signature by parameter.

    Raises:
        ValueError: there is no such parameter, or no type that a program defines.
    """
    parameters = list(signature.parameters)
    by_name: dict[str, Any] = {}
    for key, annotation in wanted.items():
        if isinstance(key, int) and -len(parameters) <= key < len(parameters):
            key = parameters[key]
        if key not in parameters:
            raise ArgumentError(f"{what} has no parameter {key!r}; it has {', '.join(parameters)}.")
        by_name[key] = annotation
    found = [each for annotation in by_name.values() for each in _classes(annotation)]
    if not any(isinstance(each, type) and issubclass(each, CompositeTensor) for each in found):
        raise ArgumentError(f"A signature for {what} must name a class of composites, such as an ExtensionType.")
    return by_name


# Registering.


@export("experimental.dispatch_for_api")
def dispatch_for_api(api: Any, *signatures: dict[Any, Any]) -> Callable[[Any], Any]:
    """A decorator: the function is called instead of one of ours where the arguments have certain types.

    Args:
        api: Our function, such as ``tf.stack``.
        signatures: Dictionaries from parameters, by name or number, to types, one of which must match. By default the
            annotations of the decorated function say it.

    Example:
        >>> import situs as tf
        >>> class Cents(tf.experimental.ExtensionType):
        ...     amount: tf.Tensor
        >>> @tf.experimental.dispatch_for_api(tf.math.add)
        ... def add_cents(x: Cents, y: Cents):
        ...     return Cents(x.amount + y.amount)
        >>> int(tf.math.add(Cents(3), Cents(4)).amount)
        7
        >>> tf.experimental.unregister_dispatch_for(add_cents)
    """
    interception = _interception(api)
    what = interception.original.__name__
    given = [_checked(signature, interception.signature, what) for signature in signatures]

    def decorator(target: Any) -> Any:
        if not callable(target):
            raise DTypeError(f"Expected dispatch_target to be callable; got {shown(target)}")
        call = _named_call(target, interception.signature, what)
        for wanted in given or [_checked(_annotations(target), interception.signature, what)]:
            interception.targets.append(_Target(target, call, wanted))
        return target

    return decorator


def _annotations(target: Any) -> dict[str, Any]:
    hints = typing.get_type_hints(target)
    return {name: each for name, each in hints.items() if name != "return"}


def _named_call(target: Any, signature: inspect.Signature, what: str) -> Callable[..., Any]:
    """The function, which may lack parameters of ours that have a default: ``name``, and what newer versions added."""
    own, ours = list(inspect.signature(target).parameters), list(signature.parameters)
    if own == ours:
        return target  # type: ignore[no-any-return]
    lacking = [each for each in ours if each not in own]
    if own != [each for each in ours if each in own] or any(
        signature.parameters[each].default is inspect.Parameter.empty for each in lacking
    ):
        raise ArgumentError(
            f"Dispatch function's parameters ({', '.join(own)}) do not match those of {what} ({', '.join(ours)})."
        )

    def call(*args: Any, **kwargs: Any) -> Any:
        given = dict(signature.bind(*args, **kwargs).arguments)
        name = given.pop(_NAME, None) if _NAME in lacking else None
        if name is None:
            return target(**given)
        with name_scope(name):
            return target(**given)

    return call


@export("experimental.unregister_dispatch_for")
def unregister_dispatch_for(dispatch_target: Any) -> None:
    """Undoes what a decorator ``tf.experimental.dispatch_for_...`` did for a function.

    Raises:
        ValueError: it was not registered.
    """
    found = False
    for interception in _interceptions.values():
        left = [each for each in interception.targets if each.function is not dispatch_target]
        found, interception.targets = found or len(left) < len(interception.targets), left
    for number, (_, handler, _) in reversed(list(enumerate(_handlers))):
        if handler is dispatch_target:
            del _handlers[number]
    if not found:
        raise ArgumentError(
            f"Function {shown(dispatch_target)} was not registered using a `@dispatch_for_*` decorator."
        )


# For all element-wise functions.

_words = str.split
_UNARY = _words(
    "zeros_like ones_like debugging.check_numerics math.abs math.softplus math.sign math.real math.imag"
    " math.angle math.round cast dtypes.saturate_cast math.sigmoid math.log_sigmoid math.conj"
    " math.reciprocal_no_nan math.erfinv math.ndtri math.erfcinv math.ceil math.sqrt math.exp math.rsqrt math.acos"
    " math.floor bitwise.invert math.acosh math.asin math.asinh math.atan math.atanh math.cos math.cosh"
    " math.digamma math.erf math.erfc math.expm1 math.is_finite math.is_inf math.is_nan math.lgamma math.log"
    " math.log1p math.logical_not math.negative math.nextafter math.reciprocal math.rint math.sin math.sinh"
    " math.square math.tan math.tanh nn.relu6 nn.leaky_relu nn.gelu nn.log_softmax nn.elu nn.relu nn.selu"
    " nn.softsign strings.regex_full_match strings.regex_replace strings.length strings.substr strings.to_number"
    " strings.to_hash_bucket strings.as_string io.decode_base64 io.encode_base64 strings.lower strings.upper"
    " strings.unicode_transcode strings.strip strings.to_hash_bucket_fast strings.to_hash_bucket_strong"
    " strings.unicode_script math.special.dawsn math.special.expint math.special.fresnel_cos"
    " math.special.fresnel_sin math.special.spence math.bessel_i0 math.bessel_i0e math.bessel_i1 math.bessel_i1e"
    " math.special.bessel_k0 math.special.bessel_k0e math.special.bessel_k1 math.special.bessel_k1e"
    " math.special.bessel_j0 math.special.bessel_j1 math.special.bessel_y0 math.special.bessel_y1 clip_by_value"
    " nn.silu image.random_brightness image.stateless_random_brightness image.adjust_brightness image.adjust_gamma"
    " image.convert_image_dtype io.decode_compressed"
)
_BINARY = _words(
    "math.divide math.multiply math.subtract math.scalar_mul math.pow dtypes.complex math.truediv"
    " math.divide_no_nan math.multiply_no_nan math.floordiv math.logical_xor math.equal math.not_equal math.add"
    " math.xdivy math.xlog1py bitwise.bitwise_and bitwise.bitwise_or bitwise.bitwise_xor bitwise.left_shift"
    " bitwise.right_shift math.atan2 math.floormod math.greater math.greater_equal math.less math.less_equal"
    " math.logical_and math.logical_or math.maximum math.minimum math.squared_difference math.xlogy math.zeta"
    " nn.sigmoid_cross_entropy_with_logits"
)
_ASSERTS = _words(
    "debugging.assert_equal debugging.assert_none_equal debugging.assert_near debugging.assert_less"
    " debugging.assert_less_equal debugging.assert_greater debugging.assert_greater_equal"
)
_handlers: list[tuple[str, Any, tuple[Any, ...]]] = []


def _public(name: str) -> Any:
    """A public function, or None where there is none."""
    space, _, last = name.rpartition(".")
    try:
        return getattr(importlib.import_module(f"situs.{space}" if space else "situs"), last, None)
    except ImportError:
        return None


def _for_all(names: list[str], kind: str, wanted: tuple[Any, ...]) -> Callable[[Any], Any]:
    """A decorator for handlers of all these functions, which take the function and its first arguments."""

    def decorator(handler: Any) -> Any:
        if any(each[0] == kind and each[2] == wanted for each in _handlers):
            raise ArgumentError(f"A {kind} dispatch handler ({wanted}) has already been registered.")
        _handlers.append((kind, handler, wanted))
        for name in names:
            function = _public(name)
            if function is None:
                continue
            interception = _interception(function)
            parameters = list(interception.signature.parameters)[: len(wanted)]
            types_ = _checked(dict(zip(parameters, wanted, strict=True)), interception.signature, name)
            interception.targets.append(_Target(handler, _applied(handler, function, parameters, interception), types_))
        return handler

    return decorator


def _applied(handler: Any, function: Any, parameters: list[str], interception: _Interception) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        given = dict(interception.signature.bind(*args, **kwargs).arguments)
        first = [given.pop(parameter) for parameter in parameters]
        if not given:
            return handler(function, *first)
        return handler(lambda *operands: function(**dict(zip(parameters, operands, strict=True)), **given), *first)

    return call


@export("experimental.dispatch_for_unary_elementwise_apis")
def dispatch_for_unary_elementwise_apis(x_type: Any) -> Callable[[Any], Any]:
    """A decorator: a function ``handler(api_func, x)`` is called instead of all element-wise functions of one argument.

    Args:
        x_type: The type of the argument.
    """
    return _for_all(_UNARY, "unary elementwise", (x_type,))


@export("experimental.dispatch_for_binary_elementwise_apis")
def dispatch_for_binary_elementwise_apis(x_type: Any, y_type: Any) -> Callable[[Any], Any]:
    """A decorator: a function ``handler(api_func, x, y)`` is called instead of all element-wise functions of two.

    Args:
        x_type: The type of the first argument.
        y_type: That of the second.
    """
    return _for_all(_BINARY, "binary elementwise", (x_type, y_type))


@export("experimental.dispatch_for_binary_elementwise_assert_apis")
def dispatch_for_binary_elementwise_assert_apis(x_type: Any, y_type: Any) -> Callable[[Any], Any]:
    """A decorator: a function ``handler(assert_func, x, y)`` is called instead of all assertions of two arguments.

    Args:
        x_type: The type of the first argument.
        y_type: That of the second.
    """
    return _for_all(_ASSERTS, "binary elementwise assert", (x_type, y_type))
