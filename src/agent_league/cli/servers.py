"""`league servers`: the servers that share a PostgreSQL, and which of them has which league."""

from typing import TYPE_CHECKING, Any

from agent_league.cli.options import JsonOption, StoreOption
from agent_league.cli.terminal import make_stdout_console, print_json, print_lines, print_table
from agent_league.errors import UserError

if TYPE_CHECKING:
    from agent_league.storage.directory import DirectoryView


def servers(
    store: StoreOption = None,
    json: JsonOption = False,
) -> None:
    """Show the servers that share a PostgreSQL, and which of them has which league.

    It reads the database alone, so that it tells the same wherever it is asked.
    """
    from agent_league.storage.directory import ServerDirectory
    from agent_league.storage.sql import SqlStore, find_database_file

    if store is None or find_database_file(store) is not None:
        raise UserError(
            "league servers: expected the PostgreSQL that they share, as --store or $LEAGUE_STORE:"
            " postgresql+psycopg://USER:PASSWORD@HOST/DATABASE. A SQLite file has one server."
        )
    opened = SqlStore(store)
    try:
        view = ServerDirectory(opened, 0.0).peek()
    finally:
        opened.close()
    if view is None:
        raise UserError("No server has ever used this database.")
    told = describe_servers(view)
    if json:
        print_json(told)
        return
    console = make_stdout_console()
    rows = [
        (
            one["address"],
            one["machine"],
            one["version"],
            len(one["leagues"]),
            f"{one['work']:.1f}",
            f"{one['seconds_left']:.1f} s",
        )
        for one in told["servers"]
    ]
    print_table(
        console, "Servers", ("internal address", "machine", "version", "leagues", "work", "lease ends in"), rows
    )
    placed = [(league_id, one["address"]) for one in told["servers"] for league_id in one["leagues"]]
    if placed:
        print_table(console, "Leagues", ("league", "server"), sorted(placed))
    if told["free"]:
        print_lines(console, [f"Without a server: {', '.join(told['free'])}."], "dim")


def describe_servers(view: "DirectoryView") -> dict[str, Any]:
    """Describe who is there and who has what."""
    owned: dict[str, list[str]] = {server_id: [] for server_id in view.servers}
    work = dict.fromkeys(view.servers, 0.0)
    for lease in view.leagues.values():
        if lease.is_defined and lease.server_id in owned:
            owned[lease.server_id].append(lease.league_id)
            work[lease.server_id] += lease.weight
    return {
        "servers": [
            {
                "server_id": row.server_id,
                "address": row.address,
                "machine": row.machine,
                "version": row.version,
                "seconds_left": round(view.seconds_left[row.server_id], 1),
                "work": round(work[row.server_id], 1),
                "leagues": owned[row.server_id],
            }
            for row in sorted(view.servers.values(), key=lambda row: (row.machine, row.address))
        ],
        "free": [lease.league_id for lease in view.list_free()],
    }
