"""Match files that an earlier version wrote: all shipped games, both protocols, and players that failed."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.referee.tampering import wrong

FILE = Path(__file__).parent / "earlier" / "matches.jsonl.gz"
MATCHES: dict[str, dict[str, Any]] = {
    line["name"]: line["match"] for line in map(json.loads, gzip.decompress(FILE.read_bytes()).splitlines())
}


@pytest.mark.parametrize("name", MATCHES)
def test_a_match_of_an_earlier_version_still_holds(name: str) -> None:
    assert wrong(MATCHES[name]) == {}
