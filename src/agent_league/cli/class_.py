"""`league class`: the teams of a league, their sign-up addresses, and the key of its referees."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent_league.cli.league_address import check_league_path, find_league_address
from agent_league.cli.options import (
    HomeOption,
    StoredLeagueOption,
    StoreOption,
    choose_stored_league,
    open_or_create_home,
)
from agent_league.cli.terminal import format_options, make_stdout_console, print_remark, print_table, write_to_stdout
from agent_league.errors import UserError
from agent_league.model.result_words import format_count
from agent_league.text import quote

if TYPE_CHECKING:
    from agent_league.league.class_roster import IssuedKey
    from agent_league.storage.access import AccessStore, TeamRow
    from agent_league.storage.base import AgentRow
    from agent_league.storage.sql import SqlStore

LONGEST_ROSTER = 16 * 1024 * 1024


def class_(
    roster: Annotated[
        Path | None,
        typer.Argument(metavar="ROSTER.csv", help="The class: student id, name, e-mail, team; in any order."),
    ] = None,
    renew: Annotated[str | None, typer.Option(metavar="TEAM", help="Give a team a new key; the old one ends.")] = None,
    renew_all: Annotated[
        bool, typer.Option("--renew-all", help="Give every team a new key, on a new sheet; the old ones end.")
    ] = False,
    revoke: Annotated[str | None, typer.Option(metavar="TEAM", help="End a team's key.")] = None,
    referee_key: Annotated[
        bool, typer.Option("--referee-key", help="Make the key of referees on other machines; an earlier one ends.")
    ] = False,
    sheet: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Where to write the sheet (default: sign-up-LEAGUE.html, and .csv beside it)."
        ),
    ] = None,
    url: Annotated[
        str | None,
        typer.Option(
            "--public-url", metavar="URL", help="The address by which teams reach the league (default: as configured)."
        ),
    ] = None,
    league_id: StoredLeagueOption = None,
    store: StoreOption = None,
    home: HomeOption = None,
) -> None:
    """Make a class of a roster: one sign-up address a team, on a sheet to print; without one, list the teams.

    Keys are shown once, on the sheet: the league keeps only hashes of them. A roster that is read again keeps the keys
    of teams that are known, and makes some for new ones.
    """
    if sum((roster is not None, renew is not None, renew_all, revoke is not None, referee_key)) > 1:
        raise UserError("league class: expected one of ROSTER.csv, --renew, --renew-all, --revoke and --referee-key")
    content = _read_file(roster) if roster is not None else b""
    folder, loader = open_or_create_home(home, None)
    league = loader.load_league(league_id).league_id if league_id else choose_stored_league(folder, loader, None)
    with _open_class(folder, store) as (access, opened):
        if roster is not None or renew is not None or renew_all or referee_key:
            address = find_league_address(folder, loader, league, url)
            check_league_path(folder, league, address)
            if roster is not None:
                _read_roster(access, roster.name, content, league, address, sheet, url)
            elif renew_all:
                _renew_all_keys(access, league, address, sheet)
            else:
                _renew_key(access, league, renew, address)
        elif revoke is not None:
            _revoke_key(access, league, revoke, _find_agents(opened, league))
        else:
            _list_teams(access, league, _find_agents(opened, league))


@contextmanager
def _open_class(home: Path, store: str | None) -> "Iterator[tuple[AccessStore, SqlStore]]":
    from agent_league.league.resume import open_store
    from agent_league.storage.sql_access import SqlAccessStore

    opened = open_store(home, store)
    try:
        yield SqlAccessStore(opened), opened
    finally:
        opened.close()


def _find_agents(store: "SqlStore", league_id: str) -> "dict[str, AgentRow]":
    """The agents of teams that have signed up, by team."""
    saved = store.read_season(league_id)
    return {agent.team_id: agent for agent in saved.agents if agent.team_id} if saved else {}


def _read_file(roster: Path) -> bytes:
    try:
        with roster.open("rb") as file:
            return file.read(LONGEST_ROSTER)
    except OSError as error:
        raise UserError(f"{roster} can't be read: {error.strerror}") from None


def _read_roster(
    access: "AccessStore",
    name: str,
    content: bytes,
    league_id: str,
    address: str,
    sheet: Path | None,
    typed_url: str | None,
) -> None:
    """Take the teams of a roster file with this name and content, and write the sheet of those that are new."""
    from agent_league.clock import SystemClock, format_utc
    from agent_league.league.class_roster import parse_roster, update_teams

    read = parse_roster(content, name)
    students = read.students
    known = access.read_teams(league_id)
    update = update_teams(league_id, known, students, format_utc(SystemClock().now()))
    files = _write_sheet(update.issued, league_id, address, sheet) if update.issued else None
    access.write_teams(update.rows)
    kept = len(update.rows) - len(update.issued)
    print_remark(
        f"{league_id} has {format_count(len(students), 'student')} in {format_count(len(update.rows), 'team')}"
        f"{f'; {kept} of them keep their keys' if kept else ''}."
    )
    if read.unread:
        what = ", ".join(map(quote, read.unread))
        alone = "; no column names the team, so everybody is a team of one" if not read.has_teams else ""
        print_remark(f"Columns of {name} that were not read: {what}{alone}.")
    if files:
        _tell_of_sheet(update.issued, league_id, files)
    else:
        renewal = {"--league-id": league_id, "--public-url": typed_url or "URL"}
        print_remark(
            "No sheet was written, since a key is shown once. If the sheet is lost, or its addresses are wrong, "
            f"`league class --renew-all{format_options(renewal)}` writes another, with new keys."
        )
    if update.unnamed:
        names = ", ".join(f"{row.team_id} ({row.name})" for row in update.unnamed)
        print_remark(
            f"Not in this roster, and left as they are: {names}. "
            f"`league class --revoke TEAM --league-id {league_id}` ends a key."
        )


def _write_sheet(issued: "Sequence[IssuedKey]", league_id: str, address: str, sheet: Path | None) -> tuple[Path, Path]:
    """Write the sheet for people and for programs, readable by their owner alone; UserError if one is there."""
    from agent_league.storage.files import write_atomically
    from agent_league.web.sign_up_sheet import format_sheet_csv, render_sheet

    page = sheet or Path(f"sign-up-{league_id}.html")
    page = page if page.suffix else page.with_suffix(".html")
    table = page.with_suffix(".csv")
    for file in (page, table):
        if file.exists():
            raise UserError(f"{file} is there already; move it away, or name another file with --sheet")
    write_atomically(page, render_sheet(issued, league_id, address).encode(), mode=0o600)
    write_atomically(table, format_sheet_csv(issued, address).encode("utf-8-sig"), mode=0o600)
    return page, table


def _tell_of_sheet(issued: "Sequence[IssuedKey]", league_id: str, files: tuple[Path, Path]) -> None:
    print_remark(
        f"{format_count(len(issued), 'new key')}: {files[0]} to print, {files[1]} to mail. They are shown "
        f"there alone; a lost one is replaced by `league class --renew TEAM --league-id {league_id}`."
    )


def _renew_all_keys(access: "AccessStore", league_id: str, address: str, sheet: Path | None) -> None:
    """Write a sheet with a new key for every team whose key was not revoked."""
    from agent_league.clock import SystemClock, format_utc
    from agent_league.league.class_roster import renew_key

    teams = [row for row in access.read_teams(league_id) if row.role == "player" and row.key_sha256]
    if not teams:
        raise UserError(f"{league_id} has no team with a key; `league class ROSTER.csv` makes them.")
    now = format_utc(SystemClock().now())
    issued = [renew_key(row, now) for row in teams]
    files = _write_sheet(issued, league_id, address, sheet)
    access.write_teams([one.team for one in issued])
    _tell_of_sheet(issued, league_id, files)
    print_remark(
        "Earlier addresses have ended. Agents that have registered play on; those that dial out only as long as they "
        "stay connected: start them with the new ones."
    )


def _renew_key(access: "AccessStore", league_id: str, team: str | None, address: str) -> None:
    """Print the sign-up address with a new key, of a team or of the referees."""
    from agent_league.clock import SystemClock, format_utc
    from agent_league.http.sign_up_address import add_sign_up_key
    from agent_league.league.class_roster import find_team, renew_key
    from agent_league.storage.access import TeamRow

    if team is None:
        row = TeamRow(league_id, "referees", "Referees", "referee")
    else:
        row = find_team([row for row in access.read_teams(league_id) if row.role == "player"], team)
    issued = renew_key(row, format_utc(SystemClock().now()))
    access.write_teams([issued.team])
    print_remark(f"The sign-up address of {row.name}; it is shown this once, and an earlier one has ended:")
    write_to_stdout(add_sign_up_key(address, issued.key).encode())


def _revoke_key(access: "AccessStore", league_id: str, team: str, agents: "dict[str, AgentRow]") -> None:
    from agent_league.league.class_roster import find_team

    row = find_team(access.read_teams(league_id), team)
    ended = "has ended" if row.key_sha256 else "had ended already: nothing changed"
    access.write_teams([replace(row, key_sha256=None)])
    option = format_options({"--league-id": league_id})
    print_remark(f"The key of {row.name} {ended}; `league class --renew {row.team_id}{option}` makes another.")
    if agent := agents.get(row.team_id):
        print_remark(
            f"Its agent {agent.agent_id} stays in the league; `league admin suspend {agent.agent_id}{option}` bars it."
        )


def _list_teams(access: "AccessStore", league_id: str, agents: "dict[str, AgentRow]") -> None:
    rows = access.read_teams(league_id)
    if not rows:
        print_remark(f"{league_id} has no teams; `league class ROSTER.csv` makes them.")
        return
    cells = [_describe_team(row, agents.get(row.team_id)) for row in rows]
    print_table(make_stdout_console(), league_id, ("Team", "Name", ">Students", "Key", "Agent", "Version"), cells)
    players = [row for row in rows if row.role == "player"]
    signed_up = sum(row.team_id in agents for row in players)
    print_remark(f"{signed_up} of {format_count(len(players), 'team')} signed up.")


def _describe_team(row: "TeamRow", agent: "AgentRow | None") -> tuple[str, ...]:
    key = f"since {row.created_at.partition('T')[0]}" if row.key_sha256 else "revoked"
    shown = (f"{agent.agent_id} {agent.display_name}", str(len(agent.versions))) if agent else ("not yet", "")
    return (row.team_id, row.name, str(len(row.students)), key, *(("", "") if row.role == "referee" else shown))
