"""``tf.function``: Python functions that are traced into graphs when they are called, one per signature."""
