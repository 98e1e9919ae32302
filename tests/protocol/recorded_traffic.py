"""The recorded traffic of whole leagues: what our agents said to each other, but for times, ids and secrets.

`python -m tests.protocol.recorded_traffic` records it anew, for a change of the protocol that is meant.
"""

import asyncio
import gzip
import re
import tempfile
from pathlib import Path
from typing import Any

from agent_league.launch.in_process import play_in_process
from tests.protocol.traffic import RecordingNetwork, make_league

FOLDER = Path(__file__).parents[1] / "golden" / "traffic"
LEAGUES: dict[str, dict[str, Any]] = {
    "v2": {"protocol": "v2"},
    "v1": {"protocol": "v1"},
    "mixed": {"protocol": "mixed"},
    "tic_tac_toe": {"game": "tic_tac_toe"},
}
"""What is asked for beside eight players, two referees and a seed."""
VARYING = (
    (rb"eyJ[\w-]+\.[\w-]+\.[\w-]+", b"<token>"),
    (rb"[0-9a-f]{64}", b"<secret>"),
    (rb'"(x|match_key)":"[\w-]{43}"', rb'"\1":"<key>"'),
    (rb"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", b"<uuid>"),
    (rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", b"<time>"),
    (rb'"id":\d+', b'"id":<number>'),
)
"""What differs from one run to the next."""


def record_league(name: str) -> list[str]:
    """Plays one of `LEAGUES` and returns a line for each call, sorted: address, request and answer."""
    with tempfile.TemporaryDirectory() as folder:
        network = RecordingNetwork()
        plan = make_league(Path(folder), players=8, referees=2, seed="7", **LEAGUES[name])
        asyncio.run(play_in_process(plan, network))
    return sorted(
        mask_varying(b"%b\t%b\t%b" % (call.endpoint.encode(), call.request, call.reply)) for call in network.exchanges
    )


def mask_varying(text: bytes) -> str:
    """The text with names in the place of times, ids and secrets."""
    for pattern, name in VARYING:
        text = re.sub(pattern, name, text)
    return text.decode()


def read_recorded(name: str) -> list[str]:
    """The lines that were recorded of one of `LEAGUES`."""
    return gzip.decompress((FOLDER / f"{name}.txt.gz").read_bytes()).decode().splitlines()


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for league in LEAGUES:
        text = "".join(f"{line}\n" for line in record_league(league))
        (FOLDER / f"{league}.txt.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
