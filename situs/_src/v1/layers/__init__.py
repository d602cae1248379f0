"""``tf.layers``: layers that create their variables with ``tf.get_variable``."""
