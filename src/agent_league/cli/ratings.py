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
    from agent_league.config import ConfigLoader
    from agent_league.launch.stored_leagues import StoredLeague
    from agent_league.ratings.report import RatingReport
    from agent_league.ratings.results import ResultTable

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
    leagues = list(_read_leagues(homes or [None], store, versions=versions))
    if not leagues:
        raise UserError("There is no result to rate players by; `league run` plays a league, `league show` shows it.")
    report = _make_report(leagues)
    told = _build_json(leagues, report, versions=versions)
    if csv is not None:
        write_output(csv, _format_csv(told).encode())
    if json:
        print_json(told)
    elif csv is None:
        _print_report(leagues, report, versions=versions)


def _read_leagues(homes: Sequence[Path | None], store: str | None, *, versions: bool) -> Iterator[RatedLeague]:
    """Read the leagues of the folders, each once; those without a result are left out, and that is remarked."""
    from agent_league.launch.stored_leagues import find_league, list_leagues

    seen: set[Path] = set()
    names: dict[str, str] = {}
    for asked in homes:
        home, loader = _open_home(asked)
        if home.resolve() in seen:
            continue
        seen.add(home.resolve())
        leagues: list[str | None] = [*list_leagues(home)]
        for league_id in leagues or [None]:
            league = _read_league(find_league(home, loader, league_id, store), names, versions=versions)
            if league.matches:
                yield league
            else:
                print_remark(f"{home}: {league.league_id} has no completed round with a result yet, and is left out.")


def _open_home(asked: Path | None) -> "tuple[Path, ConfigLoader]":
    from agent_league.config.home import find_home, is_home

    home = asked or find_home(Path.cwd())
    if home is None:
        raise UserError("There is no SHARED folder here; name those that `league run --home` or a manager used.")
    if not is_home(home):
        what = "it is no SHARED folder" if home.exists() else "there is no such folder"
        raise UserError(f"{home}: {what}; name those that `league run --home` or a manager used.")
    return open_existing_home(home)


def _read_league(found: "StoredLeague", names: dict[str, str], *, versions: bool) -> RatedLeague:
    """Read a league; `names` has the name of each player so far, by how registration compares names."""
    from agent_league.model.names import normalise_confusables
    from agent_league.web.league_ratings import RatingInput

    reader = found.make_reader()
    state = reader.state
    agents = state.roster.players()
    results = RatingInput.from_state(state).make_table()
    shown = (
        f"{agents[one].display_name} {agents[one].version}" if versions else agents[one].display_name
        for one in results.players
    )
    players = tuple(names.setdefault(normalise_confusables(name), name) for name in shown)
    return RatedLeague(
        found.home,
        state.league_id,
        reader.title,
        state.config.game_type,
        not state.format.is_fixed,
        replace(results, players=players),
    )


def _make_report(leagues: Sequence[RatedLeague]) -> "RatingReport":
    from agent_league.games.registry import find_game_title, seats_differ
    from agent_league.ratings.report import make_rating_report
    from agent_league.ratings.results import pool_results

    results = pool_results([league.results for league in leagues])
    return make_rating_report(
        results,
        seats_differ=[game for game in results.games if seats_differ(game)],
        is_paired_by_results=any(league.is_paired_by_results for league in leagues),
        title_game=find_game_title,
    )


def _build_json(leagues: Sequence[RatedLeague], report: "RatingReport", *, versions: bool) -> dict[str, Any]:
    return {
        "identity": "display_name and version" if versions else "display_name",
        "leagues": [league.to_json() for league in leagues],
        "ratings": report.to_json(),
    }


def _format_csv(told: Mapping[str, Any]) -> str:
    from agent_league.model.tables import DataTable
    from agent_league.ratings.tables import RATING_COLUMNS, list_rating_rows

    rows = list_rating_rows(told["ratings"], {})
    columns = RATING_COLUMNS[1:]  # without the id, which belongs to one league
    return DataTable(columns, [[row[column] for column in columns] for row in rows]).to_csv()


def _print_report(leagues: Sequence[RatedLeague], report: "RatingReport", *, versions: bool) -> None:
    from agent_league.model.result_words import format_count

    console = make_stdout_console()
    games = {league.game_type for league in leagues}
    title = f"{format_count(len(leagues), 'league')}, {format_count(len(games), 'game')}"
    rows = [(league.home, league.league_id, league.game_type, league.matches) for league in leagues]
    print_table(console, title, ("Folder", "League", "Game", ">Matches"), rows)
    print_ratings(console, report, {}, "Ratings over all of them")
    weight = " Every game has the same weight." if len(games) > 1 else ""
    print_lines(console, [f"{SAME_VERSION if versions else SAME_PLAYER}{weight}"], "dim")
