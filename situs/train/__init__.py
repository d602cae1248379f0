"""``tf.train``."""

from situs.training.coordinator import Coordinator as Coordinator
