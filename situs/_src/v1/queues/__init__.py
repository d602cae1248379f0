"""What runs beside a training loop: threads that stop together, and queues that they keep full."""
