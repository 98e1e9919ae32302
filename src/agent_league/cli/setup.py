"""Setup and maintenance: `league init`, `rebuild`, `help`, and `league dev schemas`, `spec`, `bench` and `test`."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from agent_league.cli.options import (
    ExistingHomeOption,
    GameOption,
    StoredLeagueOption,
    StoreOption,
    choose_stored_league,
    open_existing_home,
)
from agent_league.cli.terminal import print_remark


def init(
    folder: Annotated[Path, typer.Argument(metavar="[DIR]", help="The folder to write.")] = Path("SHARED"),
) -> None:
    """Write a SHARED folder with the default configuration; files that are there stay as they are."""
    from agent_league.config.home import make_home

    written = make_home(folder)
    for path in written:
        print_remark(f"wrote {path}")
    if not written:
        print_remark(f"{folder} has all its files already")


def rebuild(
    league_id: StoredLeagueOption = None,
    game: GameOption = None,
    store: StoreOption = None,
    home: ExistingHomeOption = None,
) -> None:
    """Write the files of a league (standings, rounds, lost match files) anew from the manager's database."""
    from agent_league.clock import SystemClock
    from agent_league.errors import UserError
    from agent_league.league.projections import rebuild_league_files as rebuild_files
    from agent_league.league.resume import open_store

    home, loader = open_existing_home(home)
    league = loader.load_league(league_id if game else choose_stored_league(home, loader, league_id), game)
    opened = open_store(home, store)
    try:
        saved = opened.read_season(league.league_id)
    finally:
        opened.close()
    if saved is None:
        raise UserError(f"The database knows no league {league.league_id}; a manager writes it (--home, --store).")
    for path in rebuild_files(saved, league, loader.load_system(), home, SystemClock()):
        print_remark(f"wrote {path}")


def schemas(
    folder: Annotated[Path, typer.Argument(metavar="[DIR]", help="The folder to write.")] = Path("schemas"),
) -> None:
    """Write the JSON Schemas of all messages, one file a message; those of league.v1 in a folder v1."""
    import json

    from agent_league.protocol.schemas import build_message_schemas, build_message_schemas_v1

    for place, found in ((folder, build_message_schemas()), (folder / "v1", build_message_schemas_v1())):
        place.mkdir(parents=True, exist_ok=True)
        for message_type, schema in found.items():
            path = place / f"{message_type}.json"
            path.write_text(json.dumps(schema, indent=2) + "\n", encoding="utf-8")
        print_remark(f"wrote {len(found)} schemas to {place}")


def spec(
    folder: Annotated[Path, typer.Argument(metavar="[DIR]", help="The folder to write.")] = Path("doc"),
) -> None:
    """Write the protocol for readers: protocol-spec.md, and an example of every message in messageexamples."""
    from agent_league.web.protocol.specification import write_specification

    files = write_specification()
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    print_remark(f"wrote {len(files)} files to {folder}")


def bench(context: typer.Context) -> None:
    """Measure a league against the limit of this machine (needs a source checkout)."""
    from agent_league.errors import UserError

    root = Path(os.environ.get("AGENT_LEAGUE_ROOT", Path(__file__).resolve().parents[3]))
    if not (root / "bench" / "__main__.py").is_file():
        raise UserError("`league dev bench` needs a source checkout; run it as ./league dev bench there.")
    paths = os.pathsep.join(filter(None, (str(root), os.environ.get("PYTHONPATH"))))
    command = [sys.executable, "-m", "bench", *context.args]
    os.execve(sys.executable, command, {**os.environ, "PYTHONPATH": paths})  # noqa: S606 - signals go straight to it


def test() -> None:
    """Run the checks and the tests (needs a source checkout)."""
    from agent_league.errors import UserError

    raise UserError("`league dev test` is ./league test of a source checkout; run it there.")


def help_(
    words: Annotated[
        list[str] | None, typer.Argument(metavar="[COMMAND]", help="The command.", show_default=False)
    ] = None,
) -> None:
    """Tell what a command does and which options it has; without one, list the commands."""
    from agent_league.cli.app import app
    from agent_league.cli.terminal import spell_command

    app([*(words or []), "--help"], prog_name=spell_command("").rstrip())
