"""``tf.saved_model.tag_constants``: names of tags."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.saved_model.constants import GPU as GPU
from situs._src.saved_model.constants import SERVING as SERVING
from situs._src.saved_model.constants import TPU as TPU
from situs._src.saved_model.constants import TRAINING as TRAINING
from situs._src.v1.frontend import build_graphs as _build_graphs

_build_graphs(globals())
