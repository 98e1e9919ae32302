"""Rebuilding the files of a league from the store."""

import json
from pathlib import Path
from typing import Any

import pytest

from agent_league.clock import SystemClock
from agent_league.launch.in_process import play_in_process
from agent_league.league.projections import rebuild_league_files
from agent_league.league.resume import open_store
from agent_league.storage.base import SavedSeason
from agent_league.storage.paths import DataPaths
from tests.conftest import PlanMaker
from tests.league.office import LEAGUE_ID, within


def files(home: Path) -> dict[str, Any]:
    """What the league and match files say, without when and how often they were written."""
    data = DataPaths(home).data_folder
    paths = [*data.glob("leagues/*/*.json"), *data.glob("matches/*/*.json")]
    found = {path.name: json.loads(path.read_text()) for path in paths}
    passing = ("version", "last_updated")
    return {
        name: {key: value for key, value in content.items() if key not in passing} for name, content in found.items()
    }


def saved_in(home: Path) -> SavedSeason:
    store = open_store(home, None)
    saved = store.read_season(LEAGUE_ID)
    store.close()
    assert saved is not None
    return saved


@pytest.mark.parametrize("lost", ["standings", "rounds", "R2M1", "everything", "nothing"])
async def test_what_was_lost_is_written_anew_and_what_is_there_stays(home: Path, plan: PlanMaker, lost: str) -> None:
    made = plan(players=4, referees=1, seed="7")
    await within(play_in_process(made))
    before = files(home)
    assert len(before) == 8
    for path in DataPaths(home).data_folder.glob("*/*/*.json"):
        if path.name in before and lost in (path.stem, "everything"):
            path.unlink()
    written = rebuild_league_files(saved_in(home), made.league, made.system, home, SystemClock())
    matches = {"everything": 6, "R2M1": 1}.get(lost, 0)
    assert len(written) == 2 + matches
    assert all(path.is_file() for path in written)
    after = files(home)
    assert set(after) == set(before)
    rebuilt = [name for name, content in after.items() if content.get("rebuilt")]
    assert len(rebuilt) == matches
    for name, content in after.items():
        if name not in rebuilt:
            assert content == before[name]
        else:
            same = ("match_id", "round_id", "game_type", "referee_id", "players")
            assert {key: content[key] for key in same} == {key: before[name][key] for key in same}
            told = {key: value for key, value in before[name]["result"].items() if key in content["result"]}
            assert content["result"] == told
            assert {"status", "winner_player_id", "drawn_number", "score", "terminations"} <= set(told)
