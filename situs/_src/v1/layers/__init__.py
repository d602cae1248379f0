"""``tf.layers``: layers that make their variables with ``tf.get_variable``."""
