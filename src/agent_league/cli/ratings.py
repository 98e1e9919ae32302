"""`league ratings`: one rating for each player over all leagues of some SHARED folders."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent_league.cli.options import JsonOption, StoreOption, open_existing_home
from agent_league.cli.terminal import (
    STDOUT,
    make_stdout_console,
    print_json,
    print_lines,
    print_ratings,
    print_remark,
    print_table,
    write_output,
)
from agent_league.errors import UserError

if TYPE_CHECKING:
    from agent_league.launch.stored_leagues import StoredLeague
    from agent_league.ratings.report import RatingReport
    from agent_league.ratings.results import ResultTable
    from agent_league.web.league_reader import LeagueReader

SAME_PLAYER = "Players of the same display name are the same player."
SAME_VERSION = "Players of the same display name and version are the same player."


@dataclass(frozen=True, slots=True)
class RatedLeague:
    """A league whose results are pooled with those of others; its players are named by their identity."""

    home: Path
    league_id: str
    title: str
    game_type: str
    is_paired_by_results: bool
    results: "ResultTable"

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON, without the results."""
        return {
            "home": str(self.home),
            "league_id": self.league_id,
            "display_name": self.title,
            "game_type": self.game_type,
            "players": len(self.results.players),
            "matches": self.matches,
        }

    @property
    def matches(self) -> int:
        """The matches that count."""
        return round(float(self.results.count.sum()))


def ratings(
    homes: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[HOME...]", help="SHARED folders (default: the one here); all leagues in them count."),
    ] = None,
    versions: Annotated[
        bool, typer.Option("--versions", help="Rate each version of a player by itself, as it gave it on registering.")
    ] = False,
    csv: Annotated[str | None, typer.Option(help="Write the ratings as CSV; - is stdout.", metavar="FILE")] = None,
    store: StoreOption = None,
    json: JsonOption = False,
) -> None:
    """Rate the players of several leagues together, over all their games, and say how sure that is.

    Players of the same display name are the same player, in whatever league and however they were started. Every game
    has the same weight, however many of its matches were played.
    """
    from agent_league.ratings.numpy_import import import_numpy

    if json and csv == STDOUT:
        raise UserError("--csv and --json can't both have stdout")
    import_numpy()
    names: dict[str, str] = {}
    leagues = list(_read_leagues(homes or [None], store, names, versions=versions))
    if not leagues:
        raise UserError("There is no result to rate players by; `league run` plays a league, `league show` shows it.")
    report = _make_report(leagues)
    told = _build_json(leagues, report, names, versions=versions)
    if csv is not None:
        write_output(csv, _format_csv(told, names).encode())
    if json:
        print_json(told)
    elif csv is None:
        _print_report(leagues, report, names, versions=versions)


def _read_leagues(
    homes: Sequence[Path | None], store: str | None, names: dict[str, str], *, versions: bool
) -> Iterator[RatedLeague]:
    """Read the leagues of the folders, each once; those without a result are left out, and that is remarked.

    `names` gets the name that each player is shown by.
    """
    from agent_league.launch.stored_leagues import find_league, list_leagues

    seen: set[Path] = set()
    for asked in homes:
        home, loader = _open_home(asked)
        if home.resolve() in seen:
            continue
        seen.add(home.resolve())
        leagues: list[str | None] = [*list_leagues(home)]
        for league_id in leagues or [None]:
            found = find_league(home, loader, league_id, store)
            league = _read_league(found, names, versions=versions)
            if league.matches:
                yield league
            else:
                print_remark(f"{home}: {league.league_id} has no completed round with a result yet, and is left out.")


def _open_home(asked: Path | None) -> tuple[Path, Any]:
    from agent_league.config.home import is_home

    if asked is not None and not is_home(asked):
        what = "there is no such folder" if not asked.exists() else "it is no SHARED folder"
        raise UserError(f"{asked}: {what}; name the folders that `league run --home` or a manager used.")
    return open_existing_home(asked)


def _read_league(found: "StoredLeague", names: dict[str, str], *, versions: bool) -> RatedLeague:
    from agent_league.web.league_ratings import RatingInput

    reader = found.make_reader()
    results = RatingInput.from_state(reader.state).make_table()
    identities = _find_identities(reader, names, versions=versions)
    players = tuple(identities[player_id] for player_id in results.players)
    state = reader.state
    return RatedLeague(
        found.home,
        state.league_id,
        reader.title,
        state.config.game_type,
        not state.format.is_fixed,
        replace(results, players=players),
    )


def _find_identities(reader: "LeagueReader", names: dict[str, str], *, versions: bool) -> Mapping[str, str]:
    """Return what identifies each player over leagues: its name, as registration compares names."""
    from agent_league.model.names import normalise_confusables

    identities = {}
    for player_id, agent in reader.state.roster.players().items():
        name = f"{agent.display_name} {agent.version}" if versions else agent.display_name
        identities[player_id] = normalise_confusables(name)
        names.setdefault(identities[player_id], name)
    return identities


def _make_report(leagues: Sequence[RatedLeague]) -> "RatingReport":
    from agent_league.games.registry import seats_differ
    from agent_league.ratings.report import make_rating_report
    from agent_league.ratings.results import pool_results

    results = pool_results([league.results for league in leagues])
    return make_rating_report(
        results,
        seats_differ=[game for game in results.games if seats_differ(game)],
        is_paired_by_results=any(league.is_paired_by_results for league in leagues),
    )


def _build_json(
    leagues: Sequence[RatedLeague], report: "RatingReport", names: Mapping[str, str], *, versions: bool
) -> dict[str, Any]:
    return {
        "identity": "display_name and version" if versions else "display_name",
        "players": names,
        "leagues": [league.to_json() for league in leagues],
        "ratings": report.to_json(names),
    }


def _format_csv(told: Mapping[str, Any], names: Mapping[str, str]) -> str:
    from agent_league.model.tables import DataTable
    from agent_league.ratings.tables import RATING_COLUMNS, list_rating_rows

    rows = list_rating_rows(told["ratings"], names)
    columns = RATING_COLUMNS[1:]  # without the id, which belongs to one league
    return DataTable(columns, [[row[column] for column in columns] for row in rows]).to_csv()


def _print_report(
    leagues: Sequence[RatedLeague], report: "RatingReport", names: Mapping[str, str], *, versions: bool
) -> None:
    from agent_league.model.result_words import format_count

    console = make_stdout_console()
    games = {league.game_type for league in leagues}
    title = f"{format_count(len(leagues), 'league')}, {format_count(len(games), 'game')}"
    rows = [(league.home, league.league_id, league.game_type, league.matches) for league in leagues]
    print_table(console, title, ("Folder", "League", "Game", ">Matches"), rows)
    print_ratings(console, report, names, "Ratings over all of them")
    weight = " Every game has the same weight." if len(games) > 1 else ""
    print_lines(console, [f"{SAME_VERSION if versions else SAME_PLAYER}{weight}"], "dim")
