"""`league backup` and `league restore`: a SHARED folder as one file, and back."""

from pathlib import Path
from typing import Annotated

import typer

from agent_league.cli.options import ExistingHomeOption, StoreOption, open_existing_home
from agent_league.cli.terminal import print_remark


def backup(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder to write the backup into.")],
    keep: Annotated[
        int | None, typer.Option(min=1, help="Delete all but so many of the latest backups there (default: none).")
    ] = None,
    store: StoreOption = None,
    home: ExistingHomeOption = None,
) -> None:
    """Write a backup of a SHARED folder, while leagues are played or not: configuration, data and database.

    The file holds keys of the leagues, and only its owner can read it. Logs are left out. Of servers that share a
    PostgreSQL, one makes the backup for all.
    """
    from agent_league.launch.backup import delete_old_backups, write_backup

    home, _ = open_existing_home(home)
    print_remark(f"wrote {write_backup(home, folder, store)}")
    for path in delete_old_backups(folder, keep) if keep else ():
        print_remark(f"deleted {path}")


def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `league backup` wrote.")],
    home: Annotated[Path, typer.Option("--home", metavar="DIR", help="The SHARED folder to write: new, or empty.")],
    store: Annotated[
        str | None,
        typer.Option(
            envvar="LEAGUE_STORE",
            help="The database to write, which must be empty (default: SQLite in the SHARED folder's data).",
            metavar="URL",
        ),
    ] = None,
) -> None:
    """Write the SHARED folder that a backup holds. Its leagues go on from there with `league serve`."""
    from agent_league.launch.backup import restore_backup

    restore_backup(file, home, store)
    database = " and the database" if store else ""
    print_remark(f"wrote {home}{database}; `league serve --home {home}` goes on with its leagues.")
