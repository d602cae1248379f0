"""The recurrent cells and loops of TensorFlow 1: ``tf.nn.rnn_cell``, ``tf.nn.dynamic_rnn`` and the like."""
