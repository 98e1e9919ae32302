"""Leagues for commands that look at them: one that was played, and any season in a store. And those commands, in this
process, as a person would type them.
"""

import asyncio
import json
import os
import pty
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent_league.config import ConfigLoader
from agent_league.config.home import make_home
from agent_league.launch.in_process import play_in_process
from agent_league.launch.league_start import start_new_league
from agent_league.launch.plan import LeagueRequest, make_league_plan
from agent_league.league.resume import open_store
from agent_league.league.state import LeagueState
from agent_league.storage.base import StoredRow
from tests.cli.command import LEAGUE, environment, league
from tests.conftest import BOUND
from tests.web.seasons import season_of


@dataclass(frozen=True, slots=True)
class Said:
    """What a command printed."""

    out: str
    err: str
    code: int

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def error(self) -> str:
        """The sentence that it ended with; empty where it did what it was asked for."""
        return self.err.rpartition("league: ")[2].rstrip("\n") if self.code else ""


def said(*args: object) -> Said:
    """Runs a command here, as wide as it likes."""
    done = league(*args, env={name: value for name, value in environment().items() if name != "COLUMNS"})
    return Said(done.stdout, done.stderr, done.returncode)


def in_terminal(*args: object) -> str:
    """What a command shows to a terminal of 80 columns."""
    ours, theirs = pty.openpty()
    env = environment(COLUMNS="80", LINES="24", TERM="xterm")
    command = [*LEAGUE, *map(str, args)]
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=env)
    os.close(theirs)
    text = b""
    try:
        while piece := os.read(ours, 65536):
            text += piece
    except OSError:
        pass  # how Linux tells that nobody is left at the other end
    finally:
        os.close(ours)
        assert process.wait(BOUND) == 0
    return text.decode()


def play(home: Path, game: str = "tic_tac_toe", **request: Any) -> str:
    """Plays a league to its end, with files, logs and a store; its id."""
    make_home(home)
    plan = make_league_plan(ConfigLoader(home), LeagueRequest(home=home, game=game, seed="7", **request))
    start_new_league(home, plan.league.league_id, None)
    asyncio.run(play_in_process(plan))
    return plan.league.league_id


def keep(home: Path, players: int, played: int | None = None, **season: Any) -> LeagueState:
    """A season in a folder's store, whose matches nobody played."""
    make_home(home)
    rows: list[StoredRow] = []
    made = season_of(players, played, keep=rows.append, **season)
    store = open_store(home, None)
    try:
        row = store.create_season(made.league_id, "2025-01-15T10:00:00Z", "", made.config.model_dump(mode="json"))
        store.write_rows(row.season_id, rows)
    finally:
        store.close()
    (home / "data" / f"{made.league_id}.store.json").write_text('{"store": "its own data/league.db"}')
    return made
