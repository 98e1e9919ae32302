"""What a league that was played in a folder left there: its match files, verified, and the faults of its strategies."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import orjson

from agent_league.errors import LeagueFailed
from agent_league.referee.match_file import NotAMatchFile
from agent_league.referee.verify import verify_match
from agent_league.storage.match_segments import read_match_bytes
from agent_league.storage.paths import DataPaths

FAULT_EVENTS = ("strategy_failed", "strategy_chose_illegal_move")
"""Log events of a player that made a random move in place of its strategy's."""


def read_verified_match(path: Path, league_name: str) -> dict[str, Any]:
    """Read a match file; raises LeagueFailed if it fails verification."""
    try:
        content: dict[str, Any] = orjson.loads(read_match_bytes(path))
        wrong = [finding.sentence for finding in verify_match(content) if not finding.ok]
    except (OSError, orjson.JSONDecodeError, NotAMatchFile) as error:
        wrong = [str(error)]
    if wrong:
        raise LeagueFailed(f"{league_name}, {path.stem}: {'; '.join(wrong)}")
    return content


def count_faults(paths: DataPaths, player_ids: Iterable[str]) -> Counter[tuple[str, str]]:
    """Count faults of strategies in the players' logs, by player and match."""
    counts: Counter[tuple[str, str]] = Counter()
    for player_id in player_ids:
        log = paths.logs_folder / "agents" / f"{player_id}.log.jsonl"
        for line in log.read_bytes().splitlines() if log.is_file() else []:
            entry = orjson.loads(line)
            if entry["event_type"] in FAULT_EVENTS and "match_id" in entry:
                counts[player_id, entry["match_id"]] += 1
    return counts
