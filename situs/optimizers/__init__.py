"""``tf.optimizers``."""
