"""Names under which TensorFlow programs reach past the front door."""
