"""What only programs in TensorFlow 1's style use. `frontend` says what calling a function there means."""
