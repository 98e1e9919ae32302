"""Starting a league: a new one, with an earlier one's data archived, or an interrupted one resumed."""

import os
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from agent_league.config import ConfigLoader
from agent_league.errors import UserError
from agent_league.http.hosts import is_same_endpoint
from agent_league.launch.agent_plan import AgentPlan, PlayerPlan, RefereePlan
from agent_league.launch.plan import LeagueRequest
from agent_league.league.resume import open_store
from agent_league.model.agents import Role
from agent_league.model.result_words import format_count
from agent_league.storage.archive import LEAGUE_FOLDER, SEASON_FILE, archive_league
from agent_league.storage.base import DISMISSED_PHASE, SavedSeason
from agent_league.storage.files import read_json_object, write_json
from agent_league.storage.lock import LockHeld, hold_lock, read_lock_holder
from agent_league.storage.paths import DataPaths


@contextmanager
def lock_league(home: Path, league_id: str, endpoint: str) -> Iterator[None]:
    """Hold the lock of a league on this machine; raises UserError if another manager holds it."""
    try:
        with hold_lock(DataPaths(home).lock_file(league_id), f"{endpoint} (process {os.getpid()})"):
            yield
    except LockHeld as other:
        raise UserError(
            f"{league_id} of {home} is being conducted already, by the League Manager at {other}. Stop that one first;"
            " for another league beside it, name another folder with --home, or give a `league manager` another league"
            " (--league-id or --game) and --port."
        ) from None


def check_no_other_league(home: Path, league_id: str) -> None:
    """Refuse a run while another league of this folder runs, since their players would share files."""
    for other, manager in find_running_leagues(home).items():
        if other != league_id:
            raise UserError(
                f"{other} of {home} is being conducted, by the League Manager at {manager}, and its players may have"
                " the ids and files of those of this run. Play elsewhere with --home, or stop that one first."
            )


def find_running_leagues(home: Path) -> dict[str, str]:
    """Return the endpoints of managers that run leagues of this folder on this machine, by league.

    A server that shares its store also answers for leagues that others run.
    """
    paths = DataPaths(home)
    files = [path for path in sorted(paths.data_folder.glob("*.lock")) if not path.with_suffix("").is_file()]
    locks = {path.stem: read_lock_holder(path) for path in files}  # that of a database names a file beside it
    own = {league_id: holder.partition(" ")[0] for league_id, holder in locks.items() if holder}
    server = read_lock_holder(paths.server_lock_file)
    if server is None:
        return own
    root = server.partition(" ")[0]
    shared = read_json_object(paths.shared_files_file) or {}
    return {**{league_id: f"{root}/leagues/{league_id}/mcp" for league_id in shared}, **own}


def load_unfinished(home: Path, league_id: str, store: str | None) -> SavedSeason | None:
    """Load the saved state of a league that can be resumed; None if there is none, without agents, or finished."""
    saved = read_saved_season(home, league_id, store, " or begin another league with --new")
    if saved is None or not saved.agents or saved.season.phase == DISMISSED_PHASE:
        return None
    return saved


def read_saved_season(home: Path, league_id: str, store: str | None, or_else: str = "") -> SavedSeason | None:
    """Read what the store has of a league, without taking it over; None if it has nothing.

    Refuses another database than the league's last one, which would silently start a new league; `or_else` is what
    can be done beside naming that one.
    """
    opened = open_store(home, store)
    name = opened.display_name_in(home)
    kept = (read_json_object(DataPaths(home).store_name_file(league_id)) or {}).get("store")
    if isinstance(kept, str) and kept != name:
        raise UserError(f"{league_id} of {home} is kept in {kept}, not in {name}; name that one with --store{or_else}.")
    try:
        return opened.read_season(league_id)
    finally:
        opened.close()


def describe_progress(saved: SavedSeason) -> str:
    """Describe how far a saved league is."""
    replaced = {match.replaces for match in saved.matches}
    matches = [match for match in saved.matches if match.match_id not in replaced]
    played = sum(match.result is not None for match in matches)
    players = sum(agent.role == "player" for agent in saved.agents)
    return f"{played} of {len(matches)} matches played" if matches else f"{format_count(players, 'player')} registered"


def describe_lost_league(home: Path, league_id: str, store: str | None) -> str | None:
    """Describe a league that left files but is missing from its database; None if nothing is lost."""
    opened = open_store(home, store)
    try:
        if opened.read_season(league_id) is not None:
            return None
    finally:
        opened.close()
    file = DataPaths(home).rounds_file(league_id)
    rounds = (read_json_object(file) or {}).get("rounds")
    if not isinstance(rounds, list):
        return None
    statuses = [
        match.get("status")
        for round_ in rounds
        if isinstance(round_, dict) and isinstance(round_.get("matches"), list)
        for match in round_["matches"]
        if isinstance(match, dict)
    ]
    played = sum(status != "PENDING" for status in statuses)
    far = f"{played} of {len(statuses)} matches played" if statuses else "registration"
    what = "knows nothing of it" if opened.is_readable else "isn't there"
    return (
        f"{file} tells of an earlier {league_id} ({far}), but its database, {opened.display_name_in(home)}, "
        f"{what}: it was "
        "deleted, emptied or exchanged. That league can't go on unless a copy of the database is brought back."
    )


def start_new_league(home: Path, league_id: str, store: str | None, seats: Sequence[AgentPlan] = ()) -> Path | None:
    """Archive an earlier league to start a new one; return the archive's path, or None if there was nothing.

    The agents of `seats` lose their histories and credentials; all others keep theirs.
    """
    opened = open_store(home, store)
    saved = None
    try:
        with suppress(UserError):  # a damaged one is archived as well
            saved = opened.read_season(league_id)
        opened.put_season_aside(league_id)
    finally:
        opened.close()
    players = {seat.settings.wanted_id for seat in seats if isinstance(seat, PlayerPlan)}
    if players and saved:
        players |= {agent.agent_id for agent in saved.agents if agent.role == Role.PLAYER}
    for seat in seats:
        if isinstance(seat, RefereePlan | PlayerPlan):
            seat.settings.credentials.delete_file()
    label = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    moved = archive_league(home, league_id, label, sorted(players))
    if moved and saved:
        write_json(moved / SEASON_FILE, {"league_id": league_id, "season_id": saved.season.season_id})
    write_json(DataPaths(home).store_name_file(league_id), {"store": opened.display_name_in(home)})
    return moved


def describe_moved(moved: Path) -> str:
    """Say what was moved aside to make room for a new league."""
    what = (
        "The data of an earlier league was"
        if (moved / LEAGUE_FOLDER).is_dir()
        else "The players' earlier histories were"
    )
    return f"{what} moved to {moved}."


def record_endpoint(home: Path, league_id: str, endpoint: str) -> str | None:
    """Store the manager's endpoint of a league; return the earlier one if it has changed, else None."""
    file = DataPaths(home).store_name_file(league_id)
    kept = read_json_object(file) or {}
    earlier = kept.get("endpoint")
    write_json(file, {**kept, "endpoint": endpoint})
    has_moved = isinstance(earlier, str) and not is_same_endpoint(earlier, endpoint)
    return earlier if has_moved else None


def read_last_endpoint(home: Path, league_id: str) -> str | None:
    """Read the endpoint that the last manager of a league had; None if it never had one."""
    endpoint = (read_json_object(DataPaths(home).store_name_file(league_id)) or {}).get("endpoint")
    return endpoint if isinstance(endpoint, str) else None


def save_request(request: LeagueRequest, league_id: str, overrides: dict[str, Any]) -> None:
    """Save the request and overrides of a run, so that it can be resumed."""
    asked = {name: value for name, value in asdict(request).items() if name != "home"}
    write_json(DataPaths(request.home).run_request_file(league_id), {"request": asked, "overrides": overrides})


def load_interrupted_run(loader: ConfigLoader, request: LeagueRequest) -> tuple[ConfigLoader, LeagueRequest]:
    """Load configuration and request of an interrupted run; of the new request, only `store` is used.

    Raises UserError if there is nothing to resume, or if the new request asks for something else.
    """
    home, store = request.home, request.store
    if replace(request, league_id=None, game=None, store=None) != LeagueRequest(home=home) or loader.overrides:
        raise UserError(
            "--resume continues a run as it was started; leave out all but --home, --league-id, --game, --store,"
            " --no-web, --stay and --json."
        )
    league_id = loader.load_league(request.league_id, request.game).league_id
    if request.league_id is None and request.game is None:
        league_id = _find_interrupted_league(home, league_id, store)
    path = DataPaths(home).run_request_file(league_id)
    kept = read_json_object(path) or {}
    named = {"--home": home, "--league-id": request.league_id, "--game": request.game}
    anew = "league run" + "".join(f" {name} {shlex.quote(str(value))}" for name, value in named.items() if value)
    asked, overrides = kept.get("request"), kept.get("overrides")
    if (
        not isinstance(asked, dict)
        or not isinstance(overrides, dict)
        or load_unfinished(home, league_id, store) is None
    ):
        raise UserError(f"There is no interrupted run of {league_id} in {home}; `{anew}` starts a new one.")
    try:
        strategies = tuple(asked.get("strategies", ()))
        again = LeagueRequest(**{**asked, "home": home, "store": store, "strategies": strategies})
    except TypeError:
        raise UserError(f"{path} was written by another version, or edited; `{anew} --new` starts a new one.") from None
    return ConfigLoader(home, overrides), again


def _find_interrupted_league(home: Path, default_id: str, store: str | None) -> str:
    """The league that `--resume` means where none is named: the default one, or the only one that was interrupted."""
    default = DataPaths(home).run_request_file(default_id)
    leagues = [path.parent.name for path in default.parents[1].glob(f"*/{default.name}")]
    interrupted = [league_id for league_id in leagues if load_unfinished(home, league_id, store) is not None]
    return interrupted[0] if len(interrupted) == 1 else default_id
