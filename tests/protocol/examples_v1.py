"""The example messages of seed 001, and its base schema with the formats really checked."""

import json
import re
from datetime import datetime
from pathlib import Path
from typing import Any

from jsonschema import Draft7Validator, FormatChecker

from tests.protocol.examples import GOLDEN

FOLDER = GOLDEN / "league.v1"


def _read(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return content


BASE_SCHEMA: dict[str, Any] = _read(next(FOLDER.glob("_base_schema*.json")))
MESSAGES: dict[str, dict[str, Any]] = {
    path.name.partition(".")[0]: _read(path) for path in sorted(FOLDER.glob("[A-Z]*.json"))
}
"""Message type -> the example of it."""

FORMATS = FormatChecker(formats=["uuid"])
"""Those that come with a draft lack `uuid` or `date-time`, and a format without a checker passes everything."""


@FORMATS.checks("date-time", raises=ValueError)
def _is_rfc_3339(value: object) -> bool:
    if not isinstance(value, str):
        return True
    if not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", value, re.ASCII):
        return False
    datetime.fromisoformat(value)
    return True


BASE = Draft7Validator(BASE_SCHEMA, format_checker=FORMATS)


def example(kind: str, /, **changes: Any) -> dict[str, Any]:
    """The example of a type, with some fields of the envelope or whole objects replaced."""
    return {**MESSAGES[kind], **changes}
