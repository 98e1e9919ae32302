"""A process that writes until it is killed: `python writer.py ADDRESS`. It prints a number once that is committed."""

import sys
from itertools import count

from agent_league.storage.base import MatchRow
from agent_league.storage.sql import SqlStore

LEAGUE = "league_to_kill"
TOGETHER = 5


def rows(number: int) -> list[MatchRow]:
    """What is committed together."""
    return [MatchRow(f"R{number}M{k}", number, "P01", "P02", None, {"text": "x" * 2000}) for k in range(TOGETHER)]


def main(address: str) -> None:
    store = SqlStore(address)
    season = store.create_season(LEAGUE, "2025-01-15T12:00:00Z", "the key", {})
    for number in count():
        store.write_rows(season.season_id, rows(number))
        print(number, flush=True)  # noqa: T201 - read by the test


if __name__ == "__main__":
    main(sys.argv[1])
