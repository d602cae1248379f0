"""Neural-network ops: activations, losses, convolution, pooling, normalisation, embeddings."""
