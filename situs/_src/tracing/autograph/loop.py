"""``while`` and ``for`` at run time: Python loops, or loops in the graph.

    while_stmt(test, body, ...)     test() is a bool:                 while test(): body()
                                    test() is a symbolic tensor:      while_loop(test, body, the variables)

The first `needed` of the variables are used by the next iteration or after the loop: the graph carries them between
iterations, so they must have a value before the first. The others belong to one iteration.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sized
from typing import Any

from situs._src.base.errors import ArgumentError, UnimplementedError
from situs._src.tracing.autograph import hooks
from situs._src.tracing.autograph.branch import UnequalReturnsError, if_stmt
from situs._src.tracing.autograph.condition import Getter, Names, Setter, Thunk, check_condition, where_of
from situs._src.tracing.autograph.loop_options import LoopOptions, run_loop
from situs._src.tracing.autograph.returns import FLAG, VALUE
from situs._src.tracing.autograph.state import UNDEFINED, carried, check_same, check_shape, rebuilt


def while_stmt(test: Thunk, body: Thunk, get_state: Getter, set_state: Setter, names: Names, needed: int) -> None:
    """Runs a loop while its condition has a value; once it is a symbolic tensor, traces the rest."""
    while not hooks.current.is_symbolic(condition := test()):
        if not condition:
            return
        body()
    where = where_of(body)
    check_condition(condition, "while loop", where)
    state = _Carried(get_state, set_state, names, needed, where)
    state.fill_in(lambda index: body(), lambda: condition)

    def again(*values: Any) -> Any:
        state.enter(values)
        return test()

    def once(*values: Any) -> list[Any]:
        state.enter(values)
        body()
        return state.leave() or list(values)

    run_loop(state.options, again, once, state.start, state.finish)


def for_stmt(
    iterated: Any,
    extra_test: Thunk | None,
    body: Callable[[Any], None],
    get_state: Getter,
    set_state: Setter,
    names: Names,
    needed: int,
) -> None:
    """Runs the body for each element of an iterable, or traces it for the rows of a symbolic tensor or a dataset."""
    walk = hooks.current.walk(iterated)
    if walk is not None:
        state = _Carried(get_state, set_state, names, needed, where_of(body), keeps_shapes=False)
        state.check_start()
        _for_walk(walk, extra_test, body, state)
        return
    if not hooks.current.is_symbolic(iterated):
        _for_python(iterated, extra_test, body, get_state, set_state, names, needed)
        return
    state = _Carried(get_state, set_state, names, needed, where_of(body))
    rows = hooks.current.length(iterated)
    state.fill_in(lambda index: body(hooks.current.element(iterated, index)), lambda: rows > 0)

    def again(index: object, *values: Any) -> Any:
        state.enter(values)
        return index < rows if extra_test is None else hooks.current.logical_and(index < rows, extra_test())

    def once(index: Any, *values: Any) -> list[Any]:
        state.enter(values)
        body(hooks.current.element(iterated, index))
        return [index + 1, *state.leave()]

    run_loop(state.options, again, once, [0, *state.start], lambda made: state.finish(made[1:]))


def _for_walk(walk: Any, extra_test: Thunk | None, body: Callable[[Any], None], state: _Carried) -> None:
    """A loop in the graph over something that tells whether there is another element."""

    def again(*values: Any) -> Any:
        state.enter(values)
        return walk.more() if extra_test is None else hooks.current.logical_and(walk.more(), extra_test())

    def once(*values: Any) -> list[Any]:
        state.enter(values)
        body(walk.element())
        return state.leave() or list(values)

    run_loop(state.options, again, once, state.start, state.finish)


def _for_python(iterated: Iterable[Any], extra_test: Thunk | None, body: Callable[[Any], None], *state: Any) -> None:
    if extra_test is None:
        for item in iterated:
            body(item)
        return
    elements = iter(iterated)
    for item in elements:
        body(item)
        going_on = extra_test()
        if hooks.current.is_symbolic(going_on):
            _for_rest(iterated, elements, extra_test, body, *state)
            return
        if not going_on:
            return


def _for_rest(
    iterated: object, elements: Iterable[Any], extra_test: Thunk, body: Callable[[Any], None], *state: Any
) -> None:
    """The rest of a Python loop once its break depends on a tensor: each further element under a condition."""
    if not isinstance(iterated, Sized):
        raise UnimplementedError(
            f"break and return statements which depend on a tensor are not supported in Python for loops over "
            f"{type(iterated).__name__}, whose length is not known ({where_of(body)}). Loop over a list or a tensor."
        )
    for item in elements:
        if_stmt(extra_test(), _bind(body, item), _nothing, *state)


def _bind(body: Callable[[Any], None], item: object) -> Thunk:
    def run() -> None:
        body(item)

    run.__code__ = run.__code__.replace(
        co_filename=body.__code__.co_filename, co_firstlineno=body.__code__.co_firstlineno
    )
    return run


def _nothing() -> None:
    pass


class _Carried:
    """The variables of a traced loop: as a flat list of tensors outside, by their names inside.

    Args:
        get_state: Returns the values of the variables.
        set_state: Sets them.
        names: Their names.
        needed: How many of them, from the first, the graph carries.
        where: The location of the loop.
        keeps_shapes: Whether they must keep their shapes; in a loop over a dataset they need not.
    """

    def __init__(
        self,
        get_state: Getter,
        set_state: Setter,
        names: Names,
        needed: int,
        where: str,
        keeps_shapes: bool = True,
    ) -> None:
        self._get, self._set = get_state, set_state
        self._names, self._needed, self._where = names[:needed], needed, where
        self._keeps_shapes = keeps_shapes
        self.options = LoopOptions(where)
        self._before = get_state()
        self._entered = self._before
        self._returns = False
        self._filled_in: set[str] = set()

    @property
    def start(self) -> list[Any]:
        """The values before the first iteration."""
        return [leaf for value in self._before[: self._needed] for leaf in carried(value)]

    def enter(self, results: Iterable[Any]) -> None:
        """Sets the variables to the values of an iteration."""
        each = iter(results)
        self._entered = tuple(rebuilt(value, each) for value in self._before[: self._needed])
        self.options.variables = [leaf for value in self._entered for leaf in carried(value)]
        self._set(self._entered + self._before[self._needed :])

    def finish(self, results: Iterable[Any]) -> None:
        """Sets the variables to the values after the loop; it has returned if every iteration does."""
        self.enter(results)
        if self._returns:
            flag = self._names.index(FLAG)
            self._set((*self._entered[:flag], True, *self._entered[flag + 1 :], *self._before[self._needed :]))

    def leave(self) -> list[Any]:
        """The values after an iteration, checked against those that the next one starts with."""
        after = self._get()[: self._needed]
        for name, old, new in zip(self._names, self._entered, after, strict=True):
            self._check_iteration(name, old, new)
        return [leaf for value in after for leaf in carried(value)]

    def fill_in(self, body: Callable[[Any], None], runs: Callable[[], Any]) -> None:
        """Initializes variables that have no value before the loop with zeros like those that an iteration assigns.

        The body is traced once into a graph that never runs. The loop must then run at least once, so that the zeros
        are never
        seen: `runs` says whether it does.
        """
        missing = [n for n, name in enumerate(self._names) if self._has_none(name, self._before[n])]
        if missing:
            self._try_once(missing, body)
        self._entered = self._before
        self.check_start()
        if missing:
            titles = ", ".join("the return value" if self._names[n] == VALUE else self._names[n] for n in missing)
            message = f"loop must iterate at least once to initialize {titles} ({self._where})"
            hooks.current.assertion(runs(), message)

    def _try_once(self, missing: list[int], body: Callable[[Any], None]) -> None:
        made: list[Any] = []

        def trial(index: object) -> list[Any]:
            self._set(self._before)
            body(index)
            after = self._get()
            made.extend(after[n] for n in missing)
            self._returns = FLAG in self._names and after[self._names.index(FLAG)] is True
            return [leaf for value in made for leaf in carried(value)]

        try:
            blanks = iter(hooks.current.blanks(trial))
        except NameError:  # an iteration reads what the previous one assigned: zeros would be seen
            return
        except UnequalReturnsError:  # some iterations return, others do not
            if FLAG not in self._names:
                raise
            return
        finally:
            self._set(self._before)
        filled = dict(zip(missing, [rebuilt(value, blanks) for value in made], strict=True))
        self._before = tuple(filled.get(n, value) for n, value in enumerate(self._before))
        self._filled_in = {self._names[n] for n in missing}

    def _has_none(self, name: str, value: object) -> bool:
        return value is UNDEFINED or (value is None and name == VALUE)

    def check_start(self) -> None:
        """Raises unless every variable has a value before the first iteration."""
        if FLAG in self._names and self._before[self._names.index(VALUE)] is None:
            raise UnimplementedError(
                f"a return statement cannot be placed inside this loop ({self._where}): the loop is part of the "
                f"graph. Keep the value in a variable, break, and return it after the loop."
            )
        for name, value in zip(self._names, self._before, strict=False):
            if value is UNDEFINED or value is None:
                raise ArgumentError(
                    f"'{name}' must be defined before the loop ({self._where}), and be a tensor: the loop depends on "
                    f"a tensor and may run no iteration, and '{name}' is used afterwards or by the next iteration."
                )

    def _check_iteration(self, name: str, old: object, new: object) -> None:
        if new is UNDEFINED:
            raise ArgumentError(f"'{name}' has no value after one iteration of the loop ({self._where}).")
        check_same(name, old, new, ("before the loop", "after one iteration"), self._where)
        if self._keeps_shapes and name not in self._filled_in:  # zeros, whose shape is arbitrary
            check_shape(name, old, new, self._where, self.options.allows)
