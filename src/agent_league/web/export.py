"""Exports a league as files: a static site, CSV tables, a JSON document.

The site has the same pages as the live one. It is written only into an empty folder or into an earlier export, which is
recognised by its manifest. Fields and columns of the data are documented in docs/watching.md and stay stable; new ones
are added at the end.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path, PurePosixPath
from typing import Any

from agent_league.errors import UserError
from agent_league.league.ladder_view import LadderView
from agent_league.model.agents import Role
from agent_league.model.match_view import MatchView
from agent_league.model.names import is_safe_name
from agent_league.model.tables import DataTable
from agent_league.ratings.tables import RATING_COLUMNS, list_rating_rows
from agent_league.storage.files import encode_json, read_json_object, write_atomically
from agent_league.text import MAX_PHRASE, quote
from agent_league.version import __version__
from agent_league.web.league_reader import LeagueReader
from agent_league.web.page import PageNotFound
from agent_league.web.pages import PAGES, read_page_data, render_notice, render_page
from agent_league.web.rendering import FileSite, page_file

MANIFEST = "agent-league-export.json"
"""Lists the files of an export, so that the next one replaces these and touches nothing else."""

PAGE_FAILED_TEXT = "This page could not be made when the league was exported."

PageIndex = tuple[int, str]
"""Index of a page in PAGES and a key; can be pickled for another process."""


@dataclass(frozen=True, slots=True)
class ExportedFile:
    """A file of an exported site."""

    path: str
    size: int
    assets: frozenset[str] = frozenset()
    """Names of the styles and scripts that it needs."""
    problem: str = ""
    """The error if the page could not be rendered."""


@dataclass(frozen=True, slots=True)
class _AssetCollectingSite(FileSite):
    """Collects the names of the assets that a page links to."""

    assets: set[str] = field(default_factory=set)

    def asset(self, name: str) -> str:
        self.assets.add(name)
        return FileSite.asset(self, name)


def list_pages(reader: LeagueReader) -> list[PageIndex]:
    """List all pages to export."""
    return [
        (number, key)
        for number, page in enumerate(PAGES)
        if page.is_exported and page.is_offered(reader)
        for key in page.list_keys(reader)
        if not key or is_safe_name(key)
    ]


def write_pages(
    reader: LeagueReader, folder: Path, wanted: Iterable[PageIndex], note: str = ""
) -> Iterator[ExportedFile]:
    """Write pages, each with the note at its top; a page that doesn't exist is left out.

    A page that fails to render is replaced by a notice, so that the rest of the site is still exported.
    """
    for number, key in wanted:
        page = PAGES[number]
        path = page_file(page.path_for(key))
        site, problem = _AssetCollectingSite(path.count("/"), note), ""
        try:
            text = render_page(page, read_page_data(page, key, reader, site), site)
        except PageNotFound:
            continue
        except Exception as error:  # noqa: BLE001 - one failed page must not end the export
            problem = quote(error, MAX_PHRASE)
            text = render_notice("Not there", PAGE_FAILED_TEXT, reader, FileSite(path.count("/"), note))
        yield _write_file(folder, path, text.encode(), frozenset(site.assets), problem)


def write_assets(folder: Path, pages: Iterable[ExportedFile]) -> Iterator[ExportedFile]:
    """Write the assets that the exported pages need; scripts of the live site alone are not among these."""
    static = files("agent_league.web") / "static"
    for name in sorted({name for page in pages for name in page.assets}):
        yield _write_file(folder, f"static/{name}", (static / name).read_bytes())


def claim_folder(folder: Path, *, force: bool) -> list[str]:
    """Mark the folder as an export and return the files of an earlier one; raises UserError if it holds other files."""
    earlier = read_json_object(_checked_path(folder, MANIFEST))
    if earlier is None and folder.exists():
        if not folder.is_dir():
            raise UserError(f"--html {folder}: is a file; expected a folder")
        if any(folder.iterdir()) and not force:
            raise UserError(
                f"--html {folder}: there are files in it that are no earlier export; name another folder, or add "
                "--force to write into this one all the same"
            )
    listed = (earlier or {}).get("files")
    kept = [name for name in listed if isinstance(name, str)] if isinstance(listed, list) else []
    _write_manifest(folder, kept, None)
    return kept


def finish_export(folder: Path, written: Sequence[ExportedFile], earlier: Iterable[str], league_id: str) -> None:
    """Delete files of the earlier export that this one doesn't have, and write the manifest."""
    now = {file.path for file in written}
    for name in set(earlier) - now:
        if _is_export_path(name):
            with suppress(OSError, UserError):
                _checked_path(folder, name).unlink()
    _write_manifest(folder, sorted(now), league_id)


def _write_manifest(folder: Path, names: Sequence[str], league_id: str | None) -> None:
    content = {"made_by": f"agent-league {__version__}", "league_id": league_id, "files": list(names)}
    try:
        write_atomically(_checked_path(folder, MANIFEST), encode_json(content))
    except OSError as error:
        raise UserError(f"--html {folder}: can't be written: {error.strerror}") from None


def _is_export_path(name: str) -> bool:
    """Whether a path from a manifest can be a file of an export; a manifest may have been tampered with."""
    parts = PurePosixPath(name).parts
    return (
        0 < len(parts) <= 3
        and all(is_safe_name(part) for part in parts)
        and name.endswith((".html", ".css", ".js", ".svg", ".png"))
    )


def _write_file(
    folder: Path, path: str, content: bytes, assets: frozenset[str] = frozenset(), problem: str = ""
) -> ExportedFile:
    target = _checked_path(folder, path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    except OSError as error:
        raise UserError(f"{target} can't be written: {error.strerror}") from None
    return ExportedFile(path, len(content), assets, problem)


def _checked_path(folder: Path, path: str) -> Path:
    """Return a file's path in the folder; raises UserError for a symbolic link, which may lead to other files."""
    target = folder
    for part in PurePosixPath(path).parts:
        target /= part
        if target.is_symlink():
            raise UserError(f"{target} is a link; an export writes into its own folder alone. Take it away first.")
    return target


SCHEMA_VERSION = "1.0.0"


def build_document(reader: LeagueReader, exported_at: str) -> dict[str, Any]:
    """Build the document of a league: settings, standings, matches and agents, without the matches' messages."""
    return {
        "schema_version": SCHEMA_VERSION,
        "exported_at": exported_at,
        "league": build_league_data(reader),
        "standings": list_standings_data(reader),
        "ratings": _ratings_data(reader),
        "matches": [build_match_data(reader.queries.view_match(one)) for one in reader.state.schedule.pairings],
        "agents": _agents_data(reader),
        "rounds": [
            {"round_id": one.round_id, "title": one.title, "stage": one.stage, "byes": dict(one.byes)}
            for one in reader.state.schedule.rounds
        ],
        "groups": [table.to_json() for table in reader.state.find_group_tables()],
        "audit": [entry.to_json() for entry in reader.state.audit_log],
        "ladder": LadderView(reader.state, reader.state.ladder).to_document() if reader.state.ladder else None,
        "models": _models_data(reader),
    }


def _ratings_data(reader: LeagueReader) -> dict[str, Any] | None:
    """The ratings; where rows are hidden, those of players who are shown, and nothing said about the whole."""
    rated, state = reader.rate_players(), reader.state
    if rated is None:
        return None
    told = rated.to_json(reader.player_names)
    if not state.hides_rows:
        return told

    def select_shown(table: Mapping[str, Any] | None) -> dict[str, Any] | None:
        if table is None:
            return None
        shown = [one for one in table["ratings"] if state.shows_player(one["player_id"])]
        return {"ratings": shown, "games": table["games"]}

    tables = {name: select_shown(told[name]) for name in ("all_results", "without_technical_losses")}
    return {**tables, "technical_losses": told["technical_losses"]}


def _models_data(reader: LeagueReader) -> list[dict[str, Any]]:
    """What the players' language models used, as they say; nothing where names are hidden, as a model may tell one."""
    state = reader.state
    if state.hides_names:
        return []
    return [
        {"player_id": player_id, "display_name": reader.player_names.get(player_id, player_id), **used.to_json()}
        for player_id, used in state.collect_model_usage().items()
        if state.shows_player(player_id)
    ]


def build_league_data(reader: LeagueReader) -> dict[str, Any]:
    """What a document tells of the league as a whole."""
    season = reader.state
    league = season.config
    return {
        "league_id": season.league_id,
        "display_name": reader.title,
        "game_type": league.game_type,
        "game_parameters": dict(league.game_parameters),
        "phase": str(season.phase),
        "rounds": len(season.schedule.rounds),
        "rounds_completed": season.rounds_completed,
        "players": len(season.roster.players()),
        "matches": season.matches_planned,
        "matches_played": season.matches_played,
        "scoring": league.scoring.model_dump(mode="json"),
    }


def list_standings_data(reader: LeagueReader) -> list[dict[str, Any]]:
    """The rows of the standings, as a viewer may see them."""
    table = reader.state.standings_table
    return [
        {**row.to_json_with_tiebreaks(), "technical_losses": table.get_tally(row.player_id).technical_losses}
        for row in reader.state.standings()
    ]


def build_match_data(match: MatchView) -> dict[str, Any]:
    """What a document tells of one match."""
    result = match.result
    return {
        "match_id": match.match_id,
        "round_id": match.pairing.round_id,
        "player_a": match.pairing.player_a,
        "player_b": match.pairing.player_b,
        "referee_id": match.referee_id,
        "status": result.status if result else "PLAYING" if match.is_playing else "PENDING",
        "winner": match.winner,
        "points": match.points,
        "terminations": match.terminations,
        "details": dict(result.details) if result else {},
        "reason": match.pairing.reason,
    }


def _agents_data(reader: LeagueReader) -> list[dict[str, Any]]:
    tolerated = reader.state.collect_deviations()
    return [
        {
            "agent_id": member.agent_id,
            "role": str(member.role),
            "display_name": member.agent.display_name,
            "version": member.agent.version,
            "protocol": member.protocol_profile.protocol,
            "game_types": list(member.agent.game_types),
            "endpoint": member.agent.endpoint,
            "max_concurrent_matches": member.agent.max_concurrent_matches if member.role is Role.REFEREE else None,
            "state": str(member.state),
            "tolerated": list(tolerated.get(member.agent_id, ())),
        }
        for member in reader.state.roster
    ]


def _split_sides(match: Mapping[str, Any]) -> dict[str, Any]:
    """Flatten points and terminations into a column for each side."""
    return {
        f"{column}_{side}": match[values].get(match[f"player_{side}"])
        for column, values in (("points", "points"), ("termination", "terminations"))
        for side in "ab"
    }


def _list_ratings(told: Mapping[str, Any]) -> list[dict[str, Any]]:
    """List the ratings of a document, the best first; none before the first round is over."""
    names = {row["player_id"]: row["display_name"] for row in told["standings"]}
    return list_rating_rows(told["ratings"], names) if told["ratings"] else []


def _join_lists(agent: Mapping[str, Any]) -> dict[str, Any]:
    return {"game_types": " ".join(agent["game_types"]), "tolerated": "; ".join(agent["tolerated"])}


TABLES: Mapping[str, tuple[str, ...]] = {
    "standings": (
        *("rank", "player_id", "display_name", "played", "wins", "draws", "losses", "technical_losses", "points"),
        "shared_rank",
    ),
    "matches": (
        *("match_id", "round_id", "player_a", "player_b", "referee_id", "status", "winner"),
        *("points_a", "points_b", "termination_a", "termination_b", "reason"),
    ),
    "agents": (
        *("agent_id", "role", "display_name", "version", "protocol", "endpoint", "state", "game_types", "tolerated"),
    ),
    "ratings": RATING_COLUMNS,
    "models": (
        *("player_id", "display_name", "model", "moves", "input_tokens", "output_tokens", "cost_usd", "unpriced_moves"),
        *("latency_ms", "illegal_answers", "late_answers", "fallback_moves"),
    ),
    "audit": ("number", "at", "who", "action", "target", "reason", "change"),
}
"""The columns of each table, in order."""
FLATTENED: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "standings": lambda row: {name: value for name, value in row["tiebreaks"].items() if name not in row},
    "matches": _split_sides,
    "agents": _join_lists,
}
"""For the tables whose rows have lists or objects: the function that makes cells of them."""


def format_table_csv(told: Mapping[str, Any], name: str) -> str:
    """Format one table of a document as CSV with a header row; a missing value is an empty cell."""
    flatten = FLATTENED.get(name, dict)
    rows = [{**row, **flatten(row)} for row in (_list_ratings(told) if name == "ratings" else told[name])]
    columns = list_columns(told, name)
    return DataTable(columns, [[row[column] for column in columns] for row in rows]).to_csv()


def list_columns(told: Mapping[str, Any], name: str) -> list[str]:
    """List the columns of a table; the standings have those of the league's tiebreakers as well."""
    tiebreakers = told["standings"][0]["tiebreaks"] if name == "standings" and told["standings"] else ()
    return list(dict.fromkeys((*TABLES[name], *tiebreakers)))
