"""The supported protocol versions."""

import re

PROTOCOL_V1 = "league.v1"
PROTOCOL_V2 = "league.v2"
PROTOCOLS = (PROTOCOL_V1, PROTOCOL_V2)
CURRENT_PROTOCOL = PROTOCOL_V2
"""The one that everything inside an agent is written in; `agent.dialects` adapts it to the others."""
CURRENT_VERSION = "2.1.0"
MINIMUM_VERSION = "2.0.0"

_VERSION = re.compile(r"(\d{1,6})\.(\d{1,6})\.(\d{1,6})", re.ASCII)
_SEMANTIC = re.compile(r"(0|[1-9]\d*)(\.(0|[1-9]\d*)){2}(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?", re.ASCII)


def is_semantic_version(text: str) -> bool:
    """Whether an agent's version is MAJOR.MINOR.PATCH, with or without the suffixes that semver.org allows."""
    return _SEMANTIC.fullmatch(text) is not None


def parse_version(text: str) -> tuple[int, int, int] | None:
    """Parse a version such as `2.1.0`; None if it has another form."""
    found = _VERSION.fullmatch(text)
    return (int(found[1]), int(found[2]), int(found[3])) if found else None


def is_supported_version(text: str) -> bool:
    """Whether a declared protocol version is at least MINIMUM_VERSION; an unreadable one is not."""
    version, minimum = parse_version(text), parse_version(MINIMUM_VERSION)
    return version is not None and minimum is not None and version >= minimum
