"""`league export`: a league as a static site, as CSV tables, or as one JSON document."""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent_league.cli.options import ExistingHomeOption, JsonOption, StoredLeagueOption, StoreOption, open_league
from agent_league.cli.terminal import STDOUT, print_remark, show_progress_bar, write_output
from agent_league.errors import UserError

if TYPE_CHECKING:
    from agent_league.launch.stored_leagues import StoredLeague
    from agent_league.web.export import ExportedFile, PageIndex
    from agent_league.web.league_reader import LeagueReader

PAGES_PER_CHUNK = 250
"""Pages of a chunk, the unit of work of a process."""
MAX_PAGES_IN_PROCESS = 500
"""Up to so many pages, starting worker processes takes longer than writing them here."""

WHY_ENDED = "was there too little memory?"


class TableName(StrEnum):
    STANDINGS = "standings"
    MATCHES = "matches"
    AGENTS = "agents"
    RATINGS = "ratings"
    AUDIT = "audit"
    MODELS = "models"


def export(
    html: Annotated[Path | None, typer.Option(help="Write a static site into this folder.", metavar="DIR")] = None,
    csv: Annotated[
        str | None,
        typer.Option(
            help="Write CSV: a folder gets all tables, a file (.csv) or - the one of --table.", metavar="PATH"
        ),
    ] = None,
    json: JsonOption = False,
    json_file: Annotated[str | None, typer.Option(help="Write one JSON document; - is stdout.", metavar="FILE")] = None,
    table: Annotated[TableName, typer.Option(help="The table of --csv.")] = TableName.STANDINGS,
    force: Annotated[bool, typer.Option("--force", help="Write a site among files that are there already.")] = False,
    all_names: Annotated[
        bool, typer.Option("--all-names", help="Write what the league file hides from visitors, too; for organisers.")
    ] = False,
    league_id: StoredLeagueOption = None,
    store: StoreOption = None,
    home: ExistingHomeOption = None,
) -> None:
    """Write a league out of the manager's database: as a site to put anywhere, for spreadsheets, for programs.

    A league that isn't over is written as it stands, and as its file's `visibility` shows it to visitors.
    """
    if json and json_file not in (None, STDOUT):
        raise UserError("--json prints the document that --json-file writes; leave one of them out")
    json_file = STDOUT if json else json_file
    if html is None and csv is None and json_file is None:
        raise UserError("league export: expected --html DIR, --csv PATH, --json or --json-file FILE")
    if csv == json_file == STDOUT:
        raise UserError("--csv and --json can't both have stdout")
    found = _see_as_visitors(open_league(home, league_id, store), all_names=all_names)
    if csv is not None or json_file is not None:
        _export_data(found, csv, json_file, table)
    if html is not None:
        _export_site(found, html, force=force)


def _see_as_visitors(found: "StoredLeague", *, all_names: bool) -> "StoredLeague":
    """Return a league to be read as visitors may see it, or all of it; UserError if they may see nothing."""
    from agent_league.league.visibility import VISITOR

    visibility = found.saved.season.settings.get("visibility", "everything")
    if all_names or visibility == "everything":
        return found
    if visibility == "members":
        raise UserError("This league is shown to its members alone; --all-names writes it for organisers.")
    print_remark("Names are hidden as the league file says; --all-names writes them, for organisers.")
    return replace(found, viewer=VISITOR)


def _export_data(found: "StoredLeague", csv: str | None, json: str | None, table: TableName) -> None:
    from agent_league.clock import SystemClock, format_utc
    from agent_league.storage.files import encode_json
    from agent_league.web.export import TABLES, build_document, format_table_csv

    told = build_document(found.make_reader(), format_utc(SystemClock().now()))
    if json is not None:
        write_output(json, encode_json(told))
    if csv == STDOUT or (csv is not None and csv.lower().endswith(".csv")):
        write_output(csv, format_table_csv(told, table).encode())
    elif csv is not None:
        for name in TABLES:
            write_output(os.path.join(csv, f"{name}.csv"), format_table_csv(told, name).encode())  # noqa: PTH118 - as it was typed


@dataclass(frozen=True, slots=True)
class PageChunk:
    """Some pages of a site, for another process to write."""

    league: "StoredLeague"
    folder: Path
    places: Sequence["PageIndex"]
    note: str

    def __str__(self) -> str:
        return f"{len(self.places)} pages"

    def run(self) -> "Iterator[ExportedFile]":
        from agent_league.web.export import write_pages

        return write_pages(self.league.make_reader(), self.folder, self.places, self.note)


def _export_site(found: "StoredLeague", folder: Path, *, force: bool) -> None:
    from agent_league.lab.workers import run_all
    from agent_league.web.export import claim_folder, finish_export, list_pages, write_assets

    began = time.perf_counter()
    reader = found.make_reader()
    note = _unfinished_note(reader)
    earlier = claim_folder(folder, force=force)
    wanted = list_pages(reader)
    written: list[ExportedFile] = []
    pieces = [
        PageChunk(found, folder, wanted[first : first + PAGES_PER_CHUNK], note)
        for first in range(0, len(wanted), PAGES_PER_CHUNK)
    ]
    with show_progress_bar(quiet=False) as progress:
        task = progress.add_task("Writing pages", total=len(wanted))
        jobs = min(len(pieces), os.cpu_count() or 1) if len(wanted) > MAX_PAGES_IN_PROCESS else 1
        with closing(run_all(pieces, jobs, preload=["agent_league.web.export"], why_ended=WHY_ENDED)) as pages:
            for page in pages:
                written.append(page)
                progress.advance(task)
    written += write_assets(folder, written)
    finish_export(folder, written, earlier, reader.state.league_id)
    for file in written:
        if file.problem:
            print_remark(f"{file.path} could not be made, and says so: {file.problem}")
    size = sum(file.size for file in written) / 1e6
    print_remark(
        f"wrote {len(written)} files, {size:.1f} MB, in {time.perf_counter() - began:.1f} s: {folder / 'index.html'}"
    )


def _unfinished_note(reader: "LeagueReader") -> str:
    """Return the site's note for a league that isn't over; empty for a completed one."""
    from agent_league.clock import SystemClock

    season = reader.state
    if season.phase == "COMPLETED":
        return ""
    now, matches = SystemClock().now().strftime("%Y-%m-%d %H:%M UTC"), len(season.schedule.pairings)
    if not matches:
        return f"As it stood at {now}; the league had not started."
    return f"As it stood at {now}, after {len(season.results)} of {matches} matches."
