"""A game's own details of a result, kept as JSON text: one per match, and rarely read again."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import orjson


class ResultDetails(Mapping[str, Any]):
    """A read-only mapping stored as JSON text, which takes a fraction of the memory of a dict."""

    __slots__ = ("_text",)

    def __init__(self, text: bytes) -> None:
        """`text` is a JSON object."""
        self._text = text

    @classmethod
    def from_mapping(cls, details: Mapping[str, Any]) -> "ResultDetails":
        """Encode details with orjson, or with the standard library what orjson refuses."""
        try:
            return cls(
                bytes(memoryview(orjson.dumps(details)))
            )  # a copy: orjson's own holds 4 KiB, however short it is
        except TypeError:
            return cls(json.dumps(details).encode())

    def __getitem__(self, name: str) -> Any:
        return self._parse()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._parse())

    def __len__(self) -> int:
        return len(self._parse())

    def __repr__(self) -> str:
        return repr(self._parse())

    def _parse(self) -> dict[str, Any]:
        read: dict[str, Any] = json.loads(self._text)
        return read
