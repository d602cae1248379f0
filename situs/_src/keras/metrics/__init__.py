"""Metrics of Keras. Those of TensorFlow 1 are in `v1.metrics`."""
