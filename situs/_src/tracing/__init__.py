"""``tf.function``: Python functions that become graphs when they are called, one for each kind of arguments."""
