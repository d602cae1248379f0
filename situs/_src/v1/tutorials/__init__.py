"""What TensorFlow 1's tutorials shared, and most programs of its time import: ``tensorflow.examples.tutorials``."""
