"""The example messages of the seeds, as data: every file with its frame, and the message inside it."""

import json
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

GOLDEN = Path(__file__).parent.parent / "golden"


@dataclass(frozen=True)
class Example:
    """One example: where it stands, what the file holds, and the message in it."""

    name: str
    frame: dict[str, Any]
    message: dict[str, Any]

    @property
    def message_type(self) -> str:
        return str(self.message["message_type"])


def message_in(frame: Mapping[str, Any]) -> dict[str, Any]:
    """The message of a request, of a reply, or of a bare body."""
    found: dict[str, Any] = dict(frame.get("params") or frame.get("result") or frame)
    return found


def _read(folder: str) -> list[Example]:
    frames = {path.name: json.loads(path.read_text("utf-8")) for path in sorted((GOLDEN / folder).glob("*.json"))}
    return [Example(name, frame, message_in(frame)) for name, frame in frames.items()]


def merged(base: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """The base with everything that the other holds put over it, object by object."""
    result = deepcopy(dict(base))
    for name, value in own.items():
        below = result.get(name)
        result[name] = merged(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return result


def _completed(fragment: Example) -> Example:
    """A fragment shows a part of a message; the rest comes from a whole example of the same type."""
    whole = next(example for example in EXAMPLES if example.message_type == fragment.message_type)
    return Example(fragment.name, fragment.frame, merged(whole.message, fragment.message))


EXAMPLES = _read("league.v2")
FRAGMENTS = [_completed(fragment) for fragment in _read("fragments")]
ALL = [*EXAMPLES, *FRAGMENTS]
REQUESTS = [example for example in EXAMPLES if "method" in example.frame]


def name_of(example: Example) -> str:
    return example.name


def requests_by_method() -> dict[str, dict[str, Any]]:
    """One example request for each method that the seeds show."""
    return {example.frame["method"]: example.frame for example in REQUESTS}
