"""`league serve`: any number of leagues in one process, each below its own path."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent_league.cli.options import (
    HomeOption,
    HostOption,
    NoSeatsOption,
    OptionalPortOption,
    SettingsOption,
    StoreOption,
    StrictOption,
    add_strict_setting,
    open_or_create_home,
)
from agent_league.cli.terminal import print_remark
from agent_league.errors import UserError
from agent_league.model.result_words import format_count

if TYPE_CHECKING:
    from agent_league.serve.league_server import LeagueServer, ServerSettings


def serve(
    port: OptionalPortOption = None,
    host: HostOption = "127.0.0.1",
    public_url: Annotated[
        str | None,
        typer.Option(
            help="The address by which others reach the server, if a proxy is before it; stands for"
            " network.public_url.",
            metavar="URL",
        ),
    ] = None,
    referees: Annotated[int, typer.Option(min=0, max=100, help="House referees of each league.")] = 1,
    store: StoreOption = None,
    home: HomeOption = None,
    strict: StrictOption = False,
    settings: SettingsOption = None,
    no_seats: NoSeatsOption = False,
    internal_url: Annotated[
        str | None,
        typer.Option(
            help="Where other servers of the same PostgreSQL pass calls on to this one: a port of its own, which agents"
            " need not reach. Default: on this machine, 1000 above --port.",
            metavar="URL",
        ),
    ] = None,
) -> None:
    """Serve all leagues of a SHARED folder, each below its own path, with an index of them.

    Every file in config/leagues is a league at /leagues/NAME/, with its own /mcp and pages; a new file is found while
    the server runs, and `league new league NAME` writes one. A league starts once participants.start_with players are
    there, or on `league admin start`. After a stop of any kind, every league goes on where it stopped.
    """
    from agent_league.launch.serving import run_async
    from agent_league.serve.league_server import ServerSettings

    public = [f"network.public_url={public_url}"] if public_url else []
    home, loader = open_or_create_home(home, [*add_strict_setting(settings, strict=strict), *public])
    system = loader.load_system()
    port = port or system.network.default_league_manager_port
    wanted = ServerSettings(loader, system, host, port, store, referees, not no_seats, internal_url)
    with lock_home(home, wanted.local_root), lock_store(wanted):
        run_async(_serve_leagues(wanted))


@contextmanager
def lock_home(home: Path, root: str) -> Iterator[None]:
    """Hold the lock of a home's server at an address; raises UserError if another one serves it."""
    from agent_league.storage.lock import LockHeld, hold_lock
    from agent_league.storage.paths import DataPaths

    try:
        with hold_lock(DataPaths(home).server_lock_file, f"{root} (process {os.getpid()})"):
            yield
    except LockHeld as other:
        raise UserError(
            f"The leagues of {home} are being served already, at {other}. Stop that server first, or name another"
            " folder with --home."
        ) from None


@contextmanager
def lock_store(settings: "ServerSettings") -> Iterator[None]:
    """Hold a database file, which one server alone may serve; one in PostgreSQL is shared. Raises UserError."""
    from agent_league.storage.lock import LockHeld, hold_lock
    from agent_league.storage.sql import find_database_file

    file = find_database_file(settings.store_address)
    if file is None:
        yield
        return
    try:
        with hold_lock(file.with_name(f"{file.name}.lock"), f"{settings.local_root} (process {os.getpid()})"):
            yield
    except LockHeld as other:
        raise UserError(
            f"The leagues in {file} are being served already, at {other}. A SQLite file has one server; several share"
            " a PostgreSQL: --store postgresql+psycopg://USER:PASSWORD@HOST/DATABASE."
        ) from None


async def _serve_leagues(settings: "ServerSettings") -> None:
    from agent_league.launch.play_function import interrupt_event
    from agent_league.serve.serving import serve_until

    await serve_until(interrupt_event(), settings, _print_leagues)


def _print_leagues(server: "LeagueServer") -> None:
    """Print what is served, and what isn't and why."""
    settings, index = server.settings, server.read_index()
    served = len(index.now) + len(index.soon) + len(index.past)
    print_remark(f"Serving {format_count(served, 'league')} at {settings.public_root}/")
    for failed in index.failed:
        print_remark(f"Not served: {failed.league_id}: {failed.problem}")
    if settings.internal_url:
        print_remark(f"Other servers of its store pass calls on to it at {settings.internal_url}")
    if settings.public_root != settings.local_root:
        print_remark(f"Here it listens at {settings.local_root}/")
        if not settings.system.network.trusted_proxies:
            print_remark(
                "network.trusted_proxies is empty: all callers will seem to come from the proxy, and share its limits."
            )
    print_remark("Ctrl-C stops it; every league goes on where it stopped when it is started again.")
