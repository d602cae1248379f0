"""``tf.keras.models``."""

from situs.keras.models.cloning import clone_model as clone_model
from situs.keras.models.model import Model as Model
from situs.keras.models.sequential import Sequential as Sequential

__all__ = [
    "Model",
    "Sequential",
    "clone_model",
]
