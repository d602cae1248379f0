"""Devices: how they are named, found, configured and asked for."""
