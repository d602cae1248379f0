"""GPU memory: policies, and tracking of allocations."""
