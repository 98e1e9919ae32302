"""The seeds' examples, and what a message of ours lacks of them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

GOLDEN = Path(__file__).parent.parent / "golden" / "league.v2"


def golden(message_type: str) -> Iterator[dict[str, Any]]:
    """The examples of a message in the seeds."""
    for path in sorted(GOLDEN.glob(f"{message_type}.*.json")):
        frame = json.loads(path.read_text())
        yield frame.get("params") or frame.get("result") or frame


def missing(example: Any, message: Any, where: str = "") -> list[str]:
    """The fields of an example that a message lacks, or has with another type."""
    if type(example) is not type(message):
        return [f"{where}: {type(message).__name__} instead of {type(example).__name__}"]
    if not isinstance(example, dict):
        return []
    absent = [f"{where}.{name}" for name in example if name not in message]
    inside = [missing(inner, message[name], f"{where}.{name}") for name, inner in example.items() if name in message]
    return absent + [fault for faults in inside for fault in faults]
