"""What so many players at once need, by a model of measured figures: `python -m bench.capacity [--measure]`.

Without --measure it uses the figures of `RECORDED`, which docs/scale.md shows with the model's output; with it the
figures of this machine, which takes some minutes (`capacity_measure.py`). The model itself is pure.
"""

import argparse
import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass

PLAYERS = (100, 1_000, 10_000, 100_000)


@dataclass(frozen=True, slots=True)
class Figures:
    """What was measured of one `league serve` with house referees on PostgreSQL."""

    match_cpu_ms: float
    """CPU of the server for a match without its moves: invitation, result, commit, table, notices, files."""
    move_cpu_ms: float
    """CPU of the server for asking one player for one move."""
    store_cpu_ms: float
    """CPU of PostgreSQL for a match."""
    store_kib: float
    """What a match adds to the database."""
    league_mib: float
    """Memory of the server for a league of six players."""
    server_mib: float
    """Memory of a server without leagues."""
    page_cpu_ms: float
    """CPU of the server for a page of a league."""
    viewer_cpu_ms: float
    """CPU of the server for telling one viewer of one match."""
    claims_per_second: float
    """Durable claims of one league each, over sixteen connections."""
    batched_claims_per_second: float
    """The same, fifty leagues at a time over one connection, as after the loss of a server."""
    look_us: float
    """What a look at the directory takes PostgreSQL and server for each league in it."""


RECORDED = Figures(
    match_cpu_ms=6.58,
    move_cpu_ms=0.33,
    store_cpu_ms=1.13,
    store_kib=9.5,
    league_mib=4.96,
    server_mib=106,
    page_cpu_ms=1.7,
    viewer_cpu_ms=0.085,
    claims_per_second=465,
    batched_claims_per_second=6035,
    look_us=16.7,
)
"""Measured on two cores of a virtual machine that others used as well; CPU times hardly depend on that, claims do."""


@dataclass(frozen=True, slots=True)
class Usage:
    """How players play. All can be changed on the command line."""

    moves: int = 20
    """Moves of both players in a match."""
    move_seconds: float = 1.0
    """Time of a move: the player's thought and the network."""
    league_size: int = 30
    viewers_per_player: float = 0.1
    busy: float = 0.6
    """Part of a core that is planned for; the rest is for peaks, and for the leagues of a server that is lost."""


CONNECTIONS_PER_SERVER = 4
"""To PostgreSQL: the store's, the lease's, the directory's, and one that listens."""
DEFAULT_MAX_CONNECTIONS = 97
"""What PostgreSQL allows as it is installed, without those kept for its administrator."""
STORE_CORES = 8
"""Of one PostgreSQL, beyond which it is worth a second one."""
LOOK_SECONDS = 2.0
MAX_LOOK_SHARE = 0.05
"""Part of a core that a server may spend on looks at the directory."""
MAX_SOCKETS = 10_000
"""Connections that a server takes; players that dial out and viewers have one each, and another if passed on."""


@dataclass(frozen=True, slots=True)
class Need:
    """What a number of players needs."""

    players: int
    leagues: int
    matches_per_second: float
    servers: int
    """Processes of `league serve`, each with a core of its own."""
    memory_mib: float
    """Of each server."""
    store_cores: float
    store_gib_a_day: float
    store_connections: int
    sockets: float
    """Connections to each server, if all players dial out."""
    look_share: float
    """Part of a core that each server spends on looks at the directory."""
    takeover_seconds: float
    """What claiming the leagues of a lost server takes, after its lease has ended."""

    def limits(self) -> Iterator[str]:
        """Name what no longer suffices as it is installed."""
        if self.sockets > MAX_SOCKETS:
            yield f"connections to each server: {self.sockets:,.0f}, if all dial out"
        if self.store_connections > DEFAULT_MAX_CONNECTIONS:
            yield f"max_connections of PostgreSQL: {self.store_connections}"
        if self.look_share > MAX_LOOK_SHARE:
            yield f"looks at the directory: {self.look_share:.0%} of each server"
        if self.store_cores > STORE_CORES:
            yield f"one PostgreSQL: {self.store_cores:.0f} cores"


def work_out_need(players: int, figures: Figures, usage: Usage) -> Need:
    """Work out what players who are always in a match need."""
    rate = players / 2 / (usage.moves * usage.move_seconds)
    leagues = math.ceil(players / usage.league_size)
    viewers_per_match = 2 * usage.viewers_per_player * usage.league_size / 2
    match_ms = figures.match_cpu_ms + usage.moves * figures.move_cpu_ms + viewers_per_match * figures.viewer_cpu_ms
    servers = max(1, math.ceil(rate * match_ms / 1000 / usage.busy))
    own = math.ceil(leagues / servers)
    return Need(
        players,
        leagues,
        rate,
        servers,
        figures.server_mib + own * figures.league_mib * usage.league_size / 6,
        rate * figures.store_cpu_ms / 1000 / usage.busy,
        rate * figures.store_kib * 86_400 / 2**20,
        servers * CONNECTIONS_PER_SERVER,
        2 * players * (1 + usage.viewers_per_player) / servers,
        leagues * figures.look_us / 1e6 / LOOK_SECONDS,
        own / figures.batched_claims_per_second,
    )


def describe_one_core(figures: Figures, usage: Usage) -> Iterator[tuple[str, str]]:
    """Say what one core, which is one server, does."""
    match_ms = figures.match_cpu_ms + usage.moves * figures.move_cpu_ms
    rate = 1000 * usage.busy / match_ms
    players = rate * 2 * usage.moves * usage.move_seconds
    yield "matches a second", f"{rate:.0f}"
    yield "players at once", f"{players:,.0f}"
    yield f"leagues of {usage.league_size} at once", f"{players / usage.league_size:.0f}"
    yield "calls for a move a second", f"{rate * usage.moves:.0f}"
    yield "pages a second, if it did nothing else", f"{1000 * usage.busy / figures.page_cpu_ms:.0f}"
    yield "viewers told of a match a second, likewise", f"{1000 * usage.busy / figures.viewer_cpu_ms:,.0f}"
    yield (
        "leagues claimed a second, one by one and after a loss",
        (f"{figures.claims_per_second:.0f} and {figures.batched_claims_per_second:,.0f}"),
    )


def write_tables(figures: Figures, usage: Usage) -> str:
    """Write the figures, what one core does, and what more players need, as Markdown."""
    lines = ["| measured | |", "|---|---|"]
    words = {
        "match_cpu_ms": "CPU of a match without its moves, ms",
        "move_cpu_ms": "CPU of a move, ms",
        "store_cpu_ms": "CPU of PostgreSQL for a match, ms",
        "store_kib": "a match in the database, KiB",
        "league_mib": "memory of a league of six, MiB",
        "server_mib": "memory of a server without leagues, MiB",
        "page_cpu_ms": "CPU of a page, ms",
        "viewer_cpu_ms": "CPU of telling one viewer of one match, ms",
        "claims_per_second": "durable claims a second, one league each, 16 connections",
        "batched_claims_per_second": "leagues claimed a second, fifty at a time",
        "look_us": "a look at the directory, microseconds for each league",
    }
    lines += [f"| {words[name]} | {value:g} |" for name, value in asdict(figures).items()]
    lines += ["", "| one server, one core | |", "|---|---|"]
    lines += [f"| {name} | {value} |" for name, value in describe_one_core(figures, usage)]
    head = ("players at once", "matches/s", "servers", "memory of each", "PostgreSQL", "connections", "data a day")
    lines += ["", f"| {' | '.join((*head, 'what no longer suffices'))} |", "|---" * (len(head) + 1) + "|"]
    for players in PLAYERS:
        need = work_out_need(players, figures, usage)
        cells = (
            f"{players:,}",
            f"{need.matches_per_second:,.1f}",
            f"{need.servers}",
            f"{need.memory_mib:,.0f} MiB",
            f"{need.store_cores:.1f} cores",
            f"{need.store_connections}",
            f"{need.store_gib_a_day:,.1f} GiB",
            "; ".join(need.limits()) or "nothing",
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--measure", action="store_true", help="measure this machine first")
    for name, default in asdict(Usage()).items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(default), default=default)
    asked = vars(parser.parse_args())
    figures = RECORDED
    if asked.pop("measure"):
        from bench.capacity_measure import measure_figures  # noqa: PLC0415 - needs a PostgreSQL

        figures = measure_figures()
        print(f"{figures}\n")
    print(write_tables(figures, Usage(**asked)))


if __name__ == "__main__":
    main()
