"""``tf.keras``. The names stand in ``__init__.pyi``; each is imported when it is first used."""

from pathlib import Path

from situs.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, Path(__file__).with_name("__init__.pyi"))
