"""Keras' layers, models, losses, metrics and optimizers."""
