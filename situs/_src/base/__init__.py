"""What everything stands on: devices, dtypes, shapes, errors, structures, settings, memory accounts. No PyTorch."""
