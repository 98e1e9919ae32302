"""Which versions of the protocol we speak."""

import re

PROTOCOL_V1 = "league.v1"
PROTOCOL_V2 = "league.v2"
CURRENT_VERSION = "2.1.0"
MINIMUM_VERSION = "2.0.0"

_VERSION = re.compile(r"(\d{1,6})\.(\d{1,6})\.(\d{1,6})", re.ASCII)
_SEMANTIC = re.compile(r"(0|[1-9]\d*)(\.(0|[1-9]\d*)){2}(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?", re.ASCII)


def is_semantic(text: str) -> bool:
    """Whether the version of an agent is MAJOR.MINOR.PATCH, with or without the additions that semver.org allows."""
    return _SEMANTIC.fullmatch(text) is not None


def parse_version(text: str) -> tuple[int, int, int] | None:
    """`2.1.0` as numbers, or None where it isn't of that form."""
    found = _VERSION.fullmatch(text)
    return (int(found[1]), int(found[2]), int(found[3])) if found else None


def is_supported(text: str) -> bool:
    """Whether a declared version is new enough; one that can't be read is not."""
    version, minimum = parse_version(text), parse_version(MINIMUM_VERSION)
    return version is not None and minimum is not None and version >= minimum
