"""The organiser's commands to a running manager: `league admin`."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent_league.cli.options import (
    GameOption,
    HomeOption,
    ManagerOption,
    StoreOption,
    choose_stored_league,
    format_home_option,
    open_existing_home,
    resolve_manager,
)
from agent_league.cli.terminal import print_remark, write_to_stdout
from agent_league.errors import LeagueFailed, UserError
from agent_league.model.names import list_known_names
from agent_league.text import capitalise, to_printable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agent_league.config import ConfigLoader
    from agent_league.launch.organiser_call import TeamsMissing
    from agent_league.protocol.envelope import Message

ConductedLeagueOption = Annotated[
    str | None,
    typer.Option("--league-id", help="The league (default: the one that runs, or the latest)."),
]
ReasonOption = Annotated[str | None, typer.Option(help="Why; stands in the public audit log.", metavar="TEXT")]
TokenFileOption = Annotated[Path | None, typer.Option(help="The file with the admin token.")]


class AdminAction(StrEnum):
    """The choices of `league admin`."""

    START = "start"
    OPEN = "open"
    CLOSE = "close"
    PAUSE = "pause"
    RESUME = "resume"
    FREEZE = "freeze"
    UNFREEZE = "unfreeze"
    ROUND = "round"
    TIMES = "times"
    SUSPEND = "suspend"
    REINSTATE = "reinstate"
    RERUN = "rerun"
    VOID = "void"
    AWARD = "award"
    WITHDRAW = "withdraw"
    ADMIT = "admit"
    INVITE = "invite"
    REVOKE = "revoke"


ACTION_MESSAGES = {
    AdminAction.OPEN: ("OPEN_REGISTRATION", "Registration to {league} is open."),
    AdminAction.CLOSE: (
        "CLOSE_REGISTRATION",
        "Registration to {league} is closed; `league admin start{home}` starts it.",
    ),
    AdminAction.PAUSE: ("PAUSE", "{league} is paused: matches in play end, no other begins."),
    AdminAction.RESUME: ("RESUME", "{league} goes on."),
    AdminAction.FREEZE: ("FREEZE_AGENTS", "No player is admitted to {league} or replaced any more."),
    AdminAction.UNFREEZE: ("UNFREEZE_AGENTS", "Players may be admitted to {league} and replaced again."),
    AdminAction.ROUND: ("PLAY_ROUND", "The next round of {league} begins now."),
    AdminAction.TIMES: ("SET_TIMES", ""),
    AdminAction.SUSPEND: (
        "SUSPEND_PLAYER",
        "{player} is suspended, and loses its matches or isn't paired, until it is reinstated.",
    ),
    AdminAction.REINSTATE: ("REINSTATE_PLAYER", "{player} plays again."),
    AdminAction.RERUN: ("RERUN_MATCH", ""),
    AdminAction.VOID: ("VOID_MATCH", ""),
    AdminAction.AWARD: ("AWARD_MATCH", ""),
    AdminAction.WITHDRAW: ("WITHDRAW_PLAYER", ""),
    AdminAction.ADMIT: ("ADMIT_PLAYER", ""),
}
"""By action: the protocol's name for it, and the sentence that confirms it; empty for the manager's own, which is told
where nothing has changed, too."""
EXPECTED_ARGUMENTS = {
    AdminAction.SUSPEND: "P01",
    AdminAction.REINSTATE: "P01",
    AdminAction.WITHDRAW: "P01",
    AdminAction.ADMIT: "P01",
    AdminAction.RERUN: "R1M1",
    AdminAction.VOID: "R1M1",
    AdminAction.AWARD: "R1M1 P01",
}
"""What an action is about, as an example; the others are about the league."""
TIMES_EXAMPLE = '--set start="2026-10-26 18:00"'
MATCH_ACTIONS = (AdminAction.RERUN, AdminAction.VOID, AdminAction.AWARD)
CORRECTIONS = (*MATCH_ACTIONS, AdminAction.WITHDRAW, AdminAction.ADMIT)
REASONED_ACTIONS = (*CORRECTIONS, AdminAction.TIMES)
"""Actions that need a reason."""
ORGANISER_ACTIONS = (AdminAction.INVITE, AdminAction.REVOKE)
"""Actions that need no manager: they write to the league's database."""


def _start_league(home: Path, league_id: str, address: str, token_file: Path | None, *, yes: bool) -> None:
    """Close registration and start the league; ask first if teams of the roster are missing."""
    from agent_league.launch.organiser_call import TeamsMissing
    from agent_league.protocol.v2 import StartLeague

    try:
        _send_command(StartLeague, "start_league", address, league_id, token_file, home)
    except TeamsMissing as missing:
        _confirm_start(missing, yes=yes)
        _send_command(StartLeague, "start_league", address, league_id, token_file, home, without_missing_teams=True)
    print_remark(f"{league_id} has started.")


def _confirm_start(missing: "TeamsMissing", *, yes: bool) -> None:
    """Name the teams that are missing, and ask whether to start without them; raises LeagueFailed if not."""
    print_remark("These teams of the roster are missing:")
    for one in missing.teams:
        print_remark(f"  {one.get('team')}: {one.get('why')}")
    if yes:
        return
    if not sys.stdin.isatty():
        raise missing
    if not typer.confirm("Start without them?", err=True):
        raise LeagueFailed("The league was not started.")


def admin(
    action: Annotated[AdminAction, typer.Argument(help="What to do.", show_default=False)],
    target: Annotated[
        str | None,
        typer.Argument(
            help="The player (P01, or a name), the match (R1M1), or the organiser's name.", metavar="TARGET"
        ),
    ] = None,
    winner: Annotated[
        str | None, typer.Argument(help="For award: who wins the match, or draw.", metavar="WINNER")
    ] = None,
    reason: ReasonOption = None,
    void_followers: Annotated[
        bool,
        typer.Option(
            "--void-followers",
            help="For rerun, void and award: let matches that were paired from the old result become void.",
        ),
    ] = False,
    times: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=TEXT",
            help="For times: what changes, as in `times` of the league file; again for more, or for another entry of a"
            " list; empty for none.",
        ),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="For start: leave out teams that are missing; don't ask.")
    ] = False,
    manager: ManagerOption = None,
    league_id: ConductedLeagueOption = None,
    game: GameOption = None,
    token_file: TokenFileOption = None,
    url: Annotated[
        str | None,
        typer.Option(
            "--public-url", metavar="URL", help="For invite: the address by which organisers reach the league."
        ),
    ] = None,
    store: StoreOption = None,
    home: HomeOption = None,
) -> None:
    """Start a league, open or close registration, pause or resume, change times, suspend players, correct results,
    invite organisers.

    `start` closes registration and starts now. If teams of the roster have not signed up, or are not reachable yet, it
    names them and asks whether to start without them; in scripts, --yes says so. A pause lets the matches in play end
    and no other begin, and outlasts a restart. A suspended player loses its matches technically, those in play too,
    whatever it does and its referee reports, until it is reinstated.
    `rerun MATCH`, `void MATCH`, `award MATCH PLAYER|draw`, `withdraw PLAYER` and `admit PLAYER` correct what was played
    and who plays, after the end too, and need --reason, which everybody can read. If a bracket would have paired others
    with the corrected result, the command says which matches become void by it, and needs --void-followers.
    `times --set start="2026-10-26 18:00" --reason ...` changes the league's times from now on, as the organiser's page
    does; `times` alone prints them. `league show audit` lists what was carried out.
    `invite NAME` prints a link by which an organiser signs in, to one league with --league-id; `revoke NAME` ends it
    and what was signed in by it.
    """
    from agent_league.model.audit import NOTHING_CHANGED
    from agent_league.protocol.v2 import ManageLeague

    if action in ORGANISER_ACTIONS:
        _change_organiser(action, target, league_id, home, store, url)
        return
    if action is AdminAction.TIMES and not (times or target or reason):
        _print_times(manager, league_id, game, store, home)
        return
    typed = _read_typed_times(action, times or [])
    _check_arguments(action, target, winner, reason)
    if void_followers and action not in MATCH_ACTIONS:
        raise UserError(f"league admin {action}: --void-followers is for {', '.join(MATCH_ACTIONS)}")
    if action is AdminAction.START:
        home, loader = open_existing_home(home)
        league_id, address = _resolve_league(home, loader, manager, league_id, game)
        _start_league(home, league_id, address, token_file, yes=yes)
        return
    if yes:
        raise UserError(f"league admin {action}: --yes is for {AdminAction.START}")
    said, sentence = ACTION_MESSAGES[action]
    is_match = action in MATCH_ACTIONS
    named = {"match_id": target if is_match else None, "player_id": winner if is_match else target, "reason": reason}
    about: dict[str, Any] = {name: value for name, value in named.items() if value is not None}
    if typed:
        about["times"] = typed
    if void_followers:
        about["void_followers"] = True
    home, loader = open_existing_home(home)
    league_id, address = _resolve_league(home, loader, manager, league_id, game)
    if action in CORRECTIONS and not manager and _is_stopped_after_end(home, league_id, store):
        _correct_stopped_league(home, loader, league_id, store, said, about)
        return
    answer = _send_command(ManageLeague, "manage_league", address, league_id, token_file, home, action=said, **about)
    told = str(answer.get("change") or "") if isinstance(answer, dict) else ""
    confirmed = sentence.format(league=league_id, player=target, home=format_home_option(home))
    is_own = confirmed and not told.startswith(NOTHING_CHANGED)
    print_remark(confirmed if is_own else capitalise(to_printable(told or "It is done.")))


def _is_stopped_after_end(home: Path, league_id: str, store: str | None) -> bool:
    """Whether the league is over, and nobody conducts it from this folder."""
    from agent_league.launch.league_start import find_running_leagues, read_saved_season
    from agent_league.storage.base import DISMISSED_PHASE

    if league_id in find_running_leagues(home):
        return False
    saved = read_saved_season(home, league_id, store)
    return saved is not None and saved.season.phase in (DISMISSED_PHASE, "COMPLETED")


def _correct_stopped_league(
    home: Path, loader: "ConfigLoader", league_id: str, store: str | None, action: str, about: "Mapping[str, Any]"
) -> None:
    """Write a correction to the store of a league whose manager was stopped after the end."""
    from agent_league.launch.league_start import load_unfinished
    from agent_league.launch.serving import run_async
    from agent_league.launch.stopped_league import correct_stopped_league
    from agent_league.league.organiser_commands import OrganiserCommand
    from agent_league.model.audit import OrganiserAction

    match_id, player_id = about.get("match_id"), about.get("player_id", "")
    command = OrganiserCommand(
        OrganiserAction(action),
        match_id or player_id,
        about["reason"],
        winner=player_id if match_id else "",
        void_followers=about.get("void_followers", False),
    )
    told = run_async(correct_stopped_league(home, loader, league_id, store, command))
    print_remark(capitalise(to_printable(told)))
    options = format_home_option(home)
    if load_unfinished(home, league_id, store):
        print_remark(
            f"It needs another match: {league_id} goes on with `league manager{options}`, a referee and players."
        )
    else:
        print_remark(
            f"{league_id} is over and nobody conducts it; `league show standings{options}` has the corrected table."
        )


def _check_arguments(action: AdminAction, target: str | None, winner: str | None, reason: str | None) -> None:
    """Raise UserError if an argument is missing, or one too many."""
    expected = EXPECTED_ARGUMENTS.get(action, "")
    why = ' --reason "..."' if action in REASONED_ACTIONS else ""
    whole = f"expected `league admin {action} {TIMES_EXAMPLE if action is AdminAction.TIMES else expected}{why}`"
    thing = "match" if action in MATCH_ACTIONS else "player"
    if target is None and expected:
        raise UserError(f"league admin {action}: which {thing}? {whole}")
    if target is not None and not expected:
        raise UserError(f"league admin {action}: takes no player")
    if (winner is not None) is not (action is AdminAction.AWARD):
        raise UserError(f"league admin {action}: {'who wins?' if winner is None else 'one name too many;'} {whole}")
    if action in REASONED_ACTIONS and not (reason or "").strip():
        raise UserError(f"league admin {action}: why? {whole}; the reason stands in the public audit log")


def _print_times(
    manager: str | None, league_id: str | None, game: str | None, store: str | None, home: Path | None
) -> None:
    """Print a league's times, in the form that --set takes; raises UserError if another folder has the league."""
    from agent_league.launch.league_start import find_running_leagues
    from agent_league.launch.stored_leagues import read_present_times
    from agent_league.league.changed_times import TIME_LABELS, write_times

    home, loader = open_existing_home(home)
    league_id, address = _resolve_league(home, loader, manager, league_id, game)
    if manager and league_id not in find_running_leagues(home):
        raise UserError(
            f"league admin times: reads a league of {home}, and that at {address} isn't conducted there; leave out "
            "--manager, or name its folder with --home"
        )
    written = write_times(read_present_times(home, loader, league_id, store))
    lines = [f"{name}={entry}" for name in TIME_LABELS for entry in written[name].splitlines() or [""]]
    print_remark(f"The times of {league_id}; --set changes them:")
    write_to_stdout("\n".join(lines).encode())


def _read_typed_times(action: AdminAction, settings: "Sequence[str]") -> dict[str, str]:
    """Read `NAME=TEXT`, entries of one list joined by lines; raises UserError."""
    from agent_league.league.changed_times import LISTS, TIME_LABELS

    if action is not AdminAction.TIMES:
        if settings:
            raise UserError(f"league admin {action}: --set is for {AdminAction.TIMES}")
        return {}
    if not settings:
        raise UserError(
            f'league admin times: which? expected `league admin times {TIMES_EXAMPLE} --reason "..."`; '
            f"there are {', '.join(TIME_LABELS)}"
        )
    typed: dict[str, str] = {}
    for setting in settings:
        name, equals, text = (part.strip() for part in setting.partition("="))
        if not equals or name not in TIME_LABELS:
            known = list_known_names(name, [*TIME_LABELS])
            raise UserError(f"--set {setting}: expected NAME=TEXT, and a name of {known}")
        if name in typed and name not in LISTS:
            raise UserError(f"--set {name}: it is set twice")
        typed[name] = f"{typed[name]}\n{text}" if name in typed else text
    return typed


def _change_organiser(
    action: AdminAction, name: str | None, league_id: str | None, home: Path | None, store: str | None, url: str | None
) -> None:
    from agent_league.cli.organisers import invite_organiser, revoke_organiser

    if name is None:
        raise UserError(f"league admin {action}: whom? expected `league admin {action} NAME`")
    home, loader = open_existing_home(home)
    if action is AdminAction.INVITE:
        invite_organiser(name, league_id, home, loader, store, url)
    else:
        revoke_organiser(name, home, store)


def _resolve_league(
    home: Path, loader: "ConfigLoader", manager: str | None, league_id: str | None, game: str | None
) -> tuple[str, str]:
    """Return league id and manager's endpoint: as typed, else of the one that runs here, else the latest."""
    from agent_league.http.hosts import is_same_endpoint
    from agent_league.launch.league_start import find_running_leagues
    from agent_league.storage.paths import DataPaths

    asked = league_id if league_id and DataPaths(home).store_name_file(league_id).exists() else None
    if (league_id or game) and not asked:
        asked = loader.load_league(league_id, game).league_id
    here = {
        league: endpoint
        for league, endpoint in find_running_leagues(home).items()
        if asked in (None, league) and (not manager or is_same_endpoint(endpoint, resolve_manager(manager, loader)))
    }
    if len(here) > 1:
        raise UserError(f"Several leagues are being conducted in {home}; choose with --league-id: {', '.join(here)}.")
    found, endpoint = next(iter(here.items()), (asked, None))
    if found is None:
        found = loader.load_league().league_id if manager else choose_stored_league(home, loader, None)
    return found, resolve_manager(manager, loader) if manager or endpoint is None else endpoint


def _send_command(
    message: "type[Message]",
    method: str,
    manager: str,
    league_id: str,
    token_file: Path | None,
    home: Path,
    **fields: Any,
) -> object:
    """Send a message to the manager as its organiser, and return its answer."""
    from agent_league.launch.organiser_call import call_as_organiser
    from agent_league.launch.serving import run_async
    from agent_league.storage.paths import DataPaths

    own_file = DataPaths(home).admin_token_file(league_id)
    if token_file is None and not own_file.exists():
        raise UserError(
            f"No manager conducts {league_id} in {home} yet: `league serve` or `league manager` starts one, and writes "
            f"the admin token {own_file.name} that this command needs. Is it another folder's (--home), or another "
            "league (--league-id or --game)?"
        )
    token_file = token_file or own_file
    return run_async(call_as_organiser(message, method, manager, league_id, token_file, **fields))
