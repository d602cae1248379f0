"""``tf.contrib.training``: `HParams`."""

from __future__ import annotations

import json
from typing import Any

from situs._src.base.errors import ArgumentError as _ArgumentError
from situs._src.base.typing import ArrayLike
from situs._src.v1.contrib.absent import without as _without


class HParams:
    """Settings of a model, as attributes.

    Args:
        hparam_def: Refused; settings are given by name.
        model_structure: Refused.
        kwargs: The settings.
    """

    def __init__(self, hparam_def: Any = None, model_structure: Any = None, **kwargs: Any) -> None:
        if hparam_def is not None or model_structure is not None:
            raise _ArgumentError("HParams takes its settings by name here: HParams(learning_rate=0.1).")
        self._values: dict[str, Any] = {}
        for name, value in kwargs.items():
            self.add_hparam(name, value)

    def add_hparam(self, name: str, value: ArrayLike) -> None:
        """Adds a setting."""
        if hasattr(self, name):
            raise _ArgumentError(f"Hyperparameter name is reserved: {name}")
        self._values[name] = value
        object.__setattr__(self, name, value)

    def set_hparam(self, name: str, value: ArrayLike) -> None:
        """Changes a setting."""
        if name not in self._values:
            raise _ArgumentError(f"There is no hyperparameter {name!r}; there are {', '.join(self._values) or 'none'}.")
        setattr(self, name, value)

    def __setattr__(self, name: str, value: ArrayLike) -> None:
        if name in self.__dict__.get("_values", {}):
            self._values[name] = value
        object.__setattr__(self, name, value)

    def del_hparam(self, name: str) -> None:
        """Takes a setting away."""
        if name in self._values:
            del self._values[name]
            object.__delattr__(self, name)

    def get(self, key: str, default: object = None) -> Any:
        """A setting, or `default` if there is none of the name."""
        return self._values.get(key, default)

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def values(self) -> dict[str, Any]:
        """All settings."""
        return dict(self._values)

    def override_from_dict(self, values_dict: dict[str, Any]) -> HParams:
        """Changes settings."""
        for name, value in values_dict.items():
            self.set_hparam(name, value)
        return self

    def parse(self, values: str) -> HParams:
        """Changes settings: ``"learning_rate=0.1,layers=[2,3],name=mine"``. A value has the type of the one before."""
        for part in _parts(values):
            name, equals, text = part.partition("=")
            name = name.strip()
            if not equals or name not in self._values:
                raise _ArgumentError(f"Could not parse hparam {part!r}: expected name=value, of {list(self._values)}.")
            self.set_hparam(name, _as_before(self._values[name], text.strip(), part))
        return self

    def to_json(self, indent: int | None = None, separators: Any = None, sort_keys: bool = False) -> str:
        """All settings as JSON."""
        return json.dumps(self._values, indent=indent, separators=separators, sort_keys=sort_keys)

    def parse_json(self, values_json: str) -> HParams:
        """Changes settings, of JSON."""
        return self.override_from_dict(json.loads(values_json))

    def __repr__(self) -> str:
        return f"HParams({sorted(self._values.items())})"


def _parts(text: str) -> list[str]:
    """The parts of a text between commas that stand in no brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter == "[") - (letter == "]")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return [part for part in parts if part.strip()]


def _as_before(before: Any, text: str, part: str) -> Any:
    if isinstance(before, (list, tuple)):
        items = [item.strip() for item in text.strip("[]").split(",") if item.strip()]
        return [_as_before(before[0], item, part) if before else item for item in items]
    kind = str if before is None else type(before)
    try:
        if kind is bool:
            return {"true": True, "1": True, "false": False, "0": False}[text.lower()]
        return kind(text)
    except (KeyError, TypeError, ValueError):
        raise _ArgumentError(f"Could not parse hparam {part!r}: {text!r} is no {kind.__name__}.") from None


__all__ = ["HParams"]

__getattr__ = _without("tf.contrib.training")
