"""``tf.config``'s switch for ``tf.function``; the runtime is loaded only when it is used."""

from __future__ import annotations

from situs._src.base.export import export


@export("config.experimental_run_functions_eagerly", "config.run_functions_eagerly", as_is=True)
def run_functions_eagerly(run_eagerly: bool) -> None:
    """Lets every ``tf.function`` call its Python function directly, for debugging."""
    from situs._src.tracing import function

    function.run_functions_eagerly(run_eagerly)


@export("config.experimental_functions_run_eagerly", "config.functions_run_eagerly", as_is=True)
def functions_run_eagerly() -> bool:
    """Whether every ``tf.function`` calls its Python function directly."""
    from situs._src.tracing import function

    return function.functions_run_eagerly()
