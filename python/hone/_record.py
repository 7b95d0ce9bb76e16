"""Objects over JSON: attributes where the contract has keys."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Dict, Iterator, Mapping, Type


class Record:
    """One object of the contract. Attributes are its keys (`class_` for the key "class"), also those that a newer hone
    has added; `to_dict()` is the JSON itself."""

    _parts: ClassVar[Mapping[str, Type["Record"]]] = {}

    def __init__(self, json: Dict[str, Any]) -> None:
        self.__dict__["_json"] = json

    if not TYPE_CHECKING:  # checkers know the fields of each class, and no others
        def __getattr__(self, name: str) -> Any:
            json = self.__dict__.get("_json", {})
            key = name[:-1] if name.endswith("_") and not name.endswith("__") else name
            if key not in json:
                raise AttributeError("%s has no %r; it has %s" % (type(self).__name__, name, ", ".join(json)))
            value = self.__dict__[name] = _held(json[key], self._parts.get(key))
            return value

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("what was found cannot be changed: %s" % name)

    def __dir__(self) -> Iterator[str]:
        return iter([*object.__dir__(self), *self.__dict__["_json"]])

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.to_dict() == self.to_dict()  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash(repr(self))

    def __repr__(self) -> str:
        shown = ("%s=%s" % (key, _short(value)) for key, value in self.__dict__["_json"].items())
        return "%s(%s)" % (type(self).__name__, ", ".join(shown))

    def __getstate__(self) -> Dict[str, Any]:
        return dict(self.__dict__)

    def __setstate__(self, state: Dict[str, Any]) -> None:
        self.__dict__.update(state)

    def to_dict(self) -> Dict[str, Any]:
        """As hone's JSON has it."""
        json: Dict[str, Any] = self.__dict__["_json"]
        return json


def _held(value: Any, part: Any) -> Any:
    if isinstance(value, list):
        return [_held(one, part) for one in value]
    if isinstance(value, dict) and part is not None:
        return part(value)
    return value


def _short(value: Any) -> str:
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return "[%d rows]" % len(value)
    if isinstance(value, dict):
        return "{…}"
    if isinstance(value, float):
        return "%.4g" % value
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…" + text[-1]
