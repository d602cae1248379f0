"""Background threads of training loops: threads that stop together, and queues that they keep full."""
