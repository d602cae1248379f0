"""``tf.keras.models``: models: layers put together."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.keras.models.cloning import clone_model as clone_model
from situs._src.keras.models.model import Model as Model
from situs._src.keras.models.sequential import Sequential as Sequential
