"""How a league begins: anew, with what an earlier one left moved aside, or where an interrupted one stopped."""

from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from agent_league.arena.plan import LeagueRequest
from agent_league.config import ConfigLoader
from agent_league.errors import UserError
from agent_league.league.takeover import open_store
from agent_league.storage.archive import archive_league
from agent_league.storage.base import Saved
from agent_league.storage.files import read_object, write_json
from agent_league.storage.paths import DataPaths


def unfinished(home: Path, league_id: str, store: str | None) -> Saved | None:
    """What there is to go on with; None where there is nothing."""
    opened = open_store(home, store)
    try:
        saved = opened.read(league_id)
    finally:
        opened.close()
    return None if saved is None or saved.season.announced else saved


def begin_anew(home: Path, league_id: str, store: str | None, *, with_players: bool) -> Path | None:
    """Makes room for a new league; where the data of an earlier one was moved to, or None.

    `with_players`: those who play in it start anew as well.
    """
    opened = open_store(home, store)
    try:
        opened.put_aside(league_id)
    finally:
        opened.close()
    label = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    return archive_league(home, league_id, label, with_players=with_players)


def keep_request(request: LeagueRequest, league_id: str, overrides: dict[str, Any]) -> None:
    """Writes down what a run was asked for, so that it can be continued."""
    asked = {name: value for name, value in asdict(request).items() if name != "home"}
    write_json(DataPaths(request.home).run_request(league_id), {"request": asked, "overrides": overrides})


def resumed(loader: ConfigLoader, request: LeagueRequest) -> tuple[ConfigLoader, LeagueRequest]:
    """The run that was interrupted, as it was asked for; only where its database is may be said again."""
    home, store = request.home, request.store
    if replace(request, league_id=None, store=None) != LeagueRequest(home=home) or loader.overrides:
        raise UserError(
            "--resume continues a run as it was started; leave out all but --home, --league-id, --store and --json."
        )
    league_id = loader.load_league(request.league_id).league_id
    path = DataPaths(home).run_request(league_id)
    kept = read_object(path) or {}
    asked, overrides = kept.get("request"), kept.get("overrides")
    if not isinstance(asked, dict) or not isinstance(overrides, dict) or unfinished(home, league_id, store) is None:
        raise UserError(f"There is no interrupted run of {league_id} in {home}; `league run` starts a new one.")
    try:
        strategies = tuple(asked.get("strategies", ()))
        again = LeagueRequest(**{**asked, "home": home, "store": store, "strategies": strategies})
    except TypeError:
        raise UserError(f"{path} was written by another version, or edited; `league run` starts a new one.") from None
    return ConfigLoader(home, overrides), again
