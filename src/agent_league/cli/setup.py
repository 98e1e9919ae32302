"""Setup and maintenance: `league init`, `rebuild`, `schemas`, `spec`, `bench` and `version`."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from agent_league.cli.options import GameOption, HomeOption, StoreOption, open_existing_home
from agent_league.cli.terminal import print_remark
from agent_league.version import __version__


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
    league_id: Annotated[str | None, typer.Option(help="The league (default: default_league_id).")] = None,
    game: GameOption = None,
    store: StoreOption = None,
    home: HomeOption = None,
) -> None:
    """Write the files of a league (standings, rounds, lost match files) anew from the manager's database."""
    from agent_league.clock import SystemClock
    from agent_league.errors import UserError
    from agent_league.league.projections import rebuild_league_files as rebuild_files
    from agent_league.league.resume import open_store

    home, loader = open_existing_home(home)
    league = loader.load_league(league_id, game)
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
        raise UserError("`league bench` needs a source checkout; run it as ./league bench there.")
    paths = os.pathsep.join(filter(None, (str(root), os.environ.get("PYTHONPATH"))))
    command = [sys.executable, "-m", "bench", *context.args]
    os.execve(sys.executable, command, {**os.environ, "PYTHONPATH": paths})  # noqa: S606 - signals go straight to it


def version() -> None:
    """Print the version."""
    sys.stdout.write(f"agent-league {__version__}\n")
