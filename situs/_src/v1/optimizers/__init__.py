"""The optimizers of ``tf.compat.v1.train``, with what belongs to them: slots, decays, averages, the global step."""
