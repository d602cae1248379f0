"""``tf.saved_model.experimental``: objects around handles."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.checkpoints.resources import TrackableResource as TrackableResource
