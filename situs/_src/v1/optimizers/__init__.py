"""The optimizers of ``tf.compat.v1.train``: slots, decays, moving averages, the global step."""
