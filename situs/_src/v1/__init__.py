"""What only TensorFlow 1 programs use. `frontend` describes how functions are called there."""
