"""The foundation: devices, dtypes, shapes, errors, structures, settings, memory accounts. No PyTorch."""
