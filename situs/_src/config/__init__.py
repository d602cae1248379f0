"""``tf.config``: the devices of this process, and how ops are placed on them."""
