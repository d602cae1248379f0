"""The graph programs in TensorFlow's ``compat.v1.Session``; prints seconds, or activations, as JSON."""

import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import session_programs
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
session_programs.main(tf)
