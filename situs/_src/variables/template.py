"""``tf.make_template``: a function that creates its variables in its first call, and reuses them after that.

scale = tf.make_template("scale", lambda x: x * tf.get_variable("w", []))
scale(a) + scale(b)          one variable, scale/w
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from situs._src.base.errors import ArgumentError, DTypeError, InvalidArgumentError, shown
from situs._src.base.export import export
from situs._src.ir.graph.origin import origin, text_of
from situs._src.ops.attribute import as_bool, as_word
from situs._src.variables.collections import global_variables, local_variables, trainable_variables
from situs._src.variables.scope import VariableScope, current_store, variable_scope
from situs._src.variables.store import AUTO_REUSE
from situs._src.variables.symbolic import makes_graph_variables


@export(v1="make_template")
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
    """A function with variables of its own. A checkpoint that has it saves them."""

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        create_scope_now: bool,
        unique_name: str | None,
        getter: Callable[..., Any],
    ) -> None:
        if not callable(function):
            raise DTypeError(f"make_template wraps a function, got {shown(function)}.")
        if name is None:
            raise ArgumentError("name cannot be None.")
        if unique_name is not None and not makes_graph_variables():
            raise ArgumentError(
                "unique_name_ cannot be used when eager execution is enabled. Leave it out: every template has "
                "variables of its own."
            )
        self._name = as_word(name, "name_")
        self._function = function
        self._unique_name = None if unique_name is None else as_word(unique_name, "unique_name_")
        self._getter = getter
        self._made_at = origin()
        self._scope: VariableScope | None = None
        self._called = False
        # In eager code a template keeps its variables, and those of templates that are made inside of it.
        around = None if makes_graph_variables() else current_store().position.kept
        self._kept: dict[str, Any] = {} if around is None else around
        if as_bool(create_scope_now, "create_scope_now_"):
            with self._first_scope(opens_name_scope=False) as scope:  # which the first call opens
                self._scope = scope

    def _first_scope(self, opens_name_scope: bool = True) -> variable_scope:
        return variable_scope(
            self._unique_name, self._name, custom_getter=self._getter, auxiliary_name_scope=opens_name_scope
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the function in its scope."""
        is_eager = not makes_graph_variables()
        if self._scope is None:
            with self._first_scope() as self._scope, self._keeping(is_eager):
                return self._call(args, kwargs)
        with variable_scope(self._scope, reuse=AUTO_REUSE if is_eager else self._called), self._keeping(is_eager):
            return self._call(args, kwargs)

    @contextmanager
    def _keeping(self, is_eager: bool) -> Iterator[None]:
        """A context in which ``get_variable`` of eager code finds this template's variables."""
        position = current_store().position
        before = position.kept
        position.kept = self._kept if is_eager else None
        try:
            yield
        finally:
            position.kept = before

    def _trainable(self) -> list[Any]:
        return trainable_variables() if makes_graph_variables() else self.trainable_variables

    def _call(self, args: Any, kwargs: Any) -> Any:
        before = self._trainable()
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
        new = [variable for variable in self._trainable() if not any(variable is old for old in before)]
        if new:
            raise ArgumentError(
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
    def variable_scope_name(self) -> str | None:
        """What the names of its variables begin with; None before the first call."""
        if self._scope is None:
            return None
        name = self._scope.name
        return name if not name or name.endswith("/") else f"{name}/"

    @property
    def variables(self) -> list[Any]:
        """Its variables, global and local."""
        return [*self.global_variables, *self.local_variables]

    @property
    def global_variables(self) -> list[Any]:
        """Its variables."""
        if self._scope is None:
            return []
        prefix = self.variable_scope_name or ""
        kept = [variable for name, variable in self._kept.items() if name.startswith(prefix)]
        return kept or global_variables(prefix)

    @property
    def local_variables(self) -> list[Any]:
        """Its local variables."""
        return [] if self._scope is None else local_variables(self.variable_scope_name)

    @property
    def trainable_variables(self) -> list[Any]:
        """Its trainable variables."""
        if self._kept:
            return [variable for variable in self.global_variables if variable.trainable]
        return [] if self._scope is None else trainable_variables(self.variable_scope_name)

    @property
    def non_trainable_variables(self) -> list[Any]:
        """Its variables that optimizers should leave alone."""
        return [variable for variable in self.variables if not variable.trainable]
