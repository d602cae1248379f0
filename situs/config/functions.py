"""``tf.config``'s switch for ``tf.function``; the runtime is loaded only when it is used."""

from __future__ import annotations


def run_functions_eagerly(run_eagerly: bool) -> None:
    """Lets every ``tf.function`` call its Python function directly, for debugging."""
    from situs.tracing import function

    function.run_functions_eagerly(run_eagerly)


def functions_run_eagerly() -> bool:
    """Whether every ``tf.function`` calls its Python function directly."""
    from situs.tracing import function

    return function.functions_run_eagerly()
