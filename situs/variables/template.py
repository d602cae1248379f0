"""``tf.make_template``: a function that makes its variables when it is called first, and finds them again after that.

scale = tf.make_template("scale", lambda x: x * tf.get_variable("w", []))
scale(a) + scale(b)          one variable, scale/w
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from situs.errors import DTypeError, InvalidArgumentError, shown
from situs.graph.origin import origin, text_of
from situs.ops.attribute import as_bool, as_word
from situs.variables.collections import trainable_variables
from situs.variables.scope import VariableScope, variable_scope


def make_template(
    name_: str,
    func_: Callable[..., Any],
    create_scope_now_: bool = False,
    unique_name_: str | None = None,
    custom_getter_: Any = None,
    **kwargs: Any,
) -> Template:
    """Wraps a function so that all its calls share the variables of the first.

    Args:
        name_: The name of the variable scope; with a number if there is one of that name.
        func_: The function.
        create_scope_now_: Whether the scope is settled now, rather than by the first call.
        unique_name_: A name to take as it is.
        custom_getter_: A function for `get_variable` to be called in place of.
        kwargs: Arguments of the function for all calls.
    """
    function = functools.partial(func_, **kwargs) if kwargs and callable(func_) else func_
    return Template(name_, function, create_scope_now_, unique_name_, custom_getter_)


class Template:
    """A function with variables of its own."""

    def __init__(
        self, name: str, function: Callable[..., Any], create_scope_now: bool, unique_name: str | None, getter: Any
    ) -> None:
        if not callable(function):
            raise DTypeError(f"make_template wraps a function, got {shown(function)}.")
        self._name = as_word(name, "name_")
        self._function = function
        self._unique_name = None if unique_name is None else as_word(unique_name, "unique_name_")
        self._getter = getter
        self._made_at = origin()
        self._scope: VariableScope | None = None
        self._called = False
        if as_bool(create_scope_now, "create_scope_now_"):
            with self._first_scope() as scope:
                self._scope = scope

    def _first_scope(self) -> variable_scope:
        return variable_scope(self._unique_name, self._name, custom_getter=self._getter)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the function in its scope."""
        if self._scope is None:
            with self._first_scope() as self._scope:
                return self._call(args, kwargs)
        with variable_scope(self._scope, reuse=self._called):
            return self._call(args, kwargs)

    def _call(self, args: Any, kwargs: Any) -> Any:
        before = trainable_variables()
        try:
            made = self._function(*args, **kwargs)
            if self._called:
                self._refuse_new(before)
        except InvalidArgumentError as error:
            error.message = f"{error.message}\n\noriginally defined at:\n{text_of(self._made_at)}"
            error.args = (error.message,)
            raise
        self._called = True
        return made

    def _refuse_new(self, before: list[Any]) -> None:
        new = [variable for variable in trainable_variables() if not any(variable is old for old in before)]
        if new:
            raise InvalidArgumentError(
                "Trainable variable created when calling a template after the first time, perhaps you used tf.Variable "
                f"when you meant tf.get_variable: {new}"
            )

    @property
    def name(self) -> str:
        """The name it was given."""
        return self._name

    @property
    def func(self) -> Callable[..., Any]:
        """The function it calls."""
        return self._function

    @property
    def variable_scope(self) -> VariableScope | None:
        """Its scope; None before the first call."""
        return self._scope

    @property
    def var_scope(self) -> VariableScope | None:
        """The old spelling of `variable_scope`."""
        return self._scope

    @property
    def variables(self) -> list[Any]:
        """Its variables, global and local."""
        return [*self.global_variables, *self.local_variables]

    @property
    def global_variables(self) -> list[Any]:
        """Its variables."""
        return [] if self._scope is None else self._scope.global_variables()

    @property
    def local_variables(self) -> list[Any]:
        """Its local variables."""
        return [] if self._scope is None else self._scope.local_variables()

    @property
    def trainable_variables(self) -> list[Any]:
        """Its trainable variables."""
        return [] if self._scope is None else self._scope.trainable_variables()
