"""TensorFlow 1's training loops: sessions that initialize, restore, save, log and stop automatically; their hooks."""
