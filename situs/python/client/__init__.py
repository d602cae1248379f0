"""``tensorflow.python.client``, as far as programs use it."""
