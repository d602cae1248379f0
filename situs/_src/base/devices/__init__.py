"""Devices: names, discovery, configuration and scopes."""
