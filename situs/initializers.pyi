# Written by scripts/write_api.py: edit what the engine exports instead.

from typing import Any

def __getattr__(name: str) -> Any: ...
