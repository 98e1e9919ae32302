"""The figures as a table for people, 80 columns wide. Pure: figures in, lines out."""

from collections.abc import Callable, Iterator, Sequence

from bench.figures import Figures, by_kind
from bench.goals import goals
from bench.slow_peers import TROUBLES

WIDTH = 80
LABEL = 44
COLUMN = 12
SLOWEST_COMMANDS = 5
Row = tuple[str, Callable[[Figures], float | None]]
LEAGUE: tuple[Row, ...] = (
    ("matches", lambda one: one["matches"]),
    ("matches/s", lambda one: one["matches_per_second"]),
    ("calls/s", lambda one: one["calls_per_second"]),
    ("p50 of a call, ms", lambda one: one["call_ms_p50"]),
    ("p99 of a call, ms", lambda one: one["call_ms_p99"]),
    ("manager grows, KiB per match", lambda one: one["manager_kib_per_match"]),
    ("processes until everybody is in, s", lambda one: one["seconds_to_start"]),
    ("CPU, us per match", lambda one: one["cpu_us_per_match"]),
)
LIMITS: tuple[Row, ...] = (
    ("limit: the same calls alone: calls/s", lambda one: one["limit_calls_per_second"]),
    ("  CPU, us per call", lambda one: one["limit_cpu_us_per_call"]),
    ("floor: httptools on sockets: calls/s", lambda one: one["floor_calls_per_second"]),
    ("  CPU, us per call", lambda one: one["floor_cpu_us_per_call"]),
    ("stock: aiohttp and uvicorn: calls/s", lambda one: one["stock_calls_per_second"]),
    ("  CPU, us per call", lambda one: one["stock_cpu_us_per_call"]),
    ("league to limit by matches/s", lambda one: one["ratio_to_limit"]),
    ("  by CPU time", lambda one: one["cpu_ratio_to_limit"]),
    ("league to floor by matches/s", lambda one: one["ratio_to_floor"]),
    ("  by CPU time", lambda one: one["cpu_ratio_to_floor"]),
    ("league to stock by matches/s", lambda one: one["ratio_to_stock"]),
    ("  by CPU time", lambda one: one["cpu_ratio_to_stock"]),
    ("league of strangers: CPU, us per match", lambda one: one["strangers_cpu_us_per_match"]),
    ("  to stock by CPU time", lambda one: one["strangers_cpu_ratio_to_stock"]),
)
GROWTH: tuple[Row, ...] = (
    ("CPU per match", lambda one: one["cpu_per_match"]),
    ("  of its calls alone", lambda one: one["cpu_of_calls_alone"]),
    ("manager's memory", lambda one: one["manager_memory"]),
)


def lines(figures: Figures) -> list[str]:
    """The whole table."""
    system = figures["machine"]
    return [
        f"league dev bench: {system['cores']} cores, Python {system['python']}, {system['system']}",
        *_leagues(figures.get("leagues") or ()),
        *_growth(figures.get("growth") or ()),
        *_earlier(figures.get("earlier")),
        *_slow(figures.get("slow_peers")),
        *_first(figures.get("first_match")),
        *_help(figures.get("help")),
        *_memory(figures.get("memory")),
        *_many_leagues(figures.get("many_leagues")),
        *_simulate(figures.get("simulate")),
        *_mcp(figures.get("mcp")),
        *_dial_out(figures.get("dial_out")),
        *_passing(figures.get("passing")),
        *_goals(figures),
    ]


def _leagues(leagues: Sequence[Figures]) -> Iterator[str]:
    if not leagues:
        return
    yield from ("", _row("League over HTTP, players", [one["players"] for one in leagues]))
    yield from _rows(LEAGUE, leagues)
    for kind in by_kind(leagues[0]["cpu_us_per_match_by_process"]):
        yield _row(f"    {kind}", [by_kind(one["cpu_us_per_match_by_process"]).get(kind, 0) for one in leagues])
    for name in leagues[-1]["memory_mib_by_process"]:
        yield _row(f"  memory, MiB: {name}", [one["memory_mib_by_process"].get(name) for one in leagues])
    yield from _rows(LIMITS, leagues)


def _growth(growth: Sequence[Figures]) -> Iterator[str]:
    if len(growth) > 1:
        yield from ("", _row(f"Growth against {growth[0]['players']} players", [one["players"] for one in growth]))
        yield from _rows(GROWTH, growth)


def _earlier(earlier: Figures | None) -> Iterator[str]:
    if earlier:
        yield from ("", _row("In turn with an earlier version, players", [earlier["players"]]))
        yield _row(f"  CPU, us per match: {earlier['commit']}", [earlier["earlier_cpu_us_per_match"]])
        yield _row("    today", [earlier["cpu_us_per_match"]])


def _slow(slow: Figures | None) -> Iterator[str]:
    if not slow:
        return
    head = f"One bad player of {slow['players']}"
    yield from ("", f"{head:{LABEL}}" + "".join(f"{kind:>{COLUMN}}" for kind in TROUBLES))
    for words, key in (
        ("adds in all, s", "added_seconds"),
        (f"  in move timeouts of {slow['move_timeout_seconds']:g} s", "added_move_timeouts"),
        ("share of its waits passed on to others", "passed_on"),
    ):
        yield _row(f"  {words}", [slow[kind][key] for kind in TROUBLES])


def _first(first: Figures | None) -> Iterator[str]:
    if first:
        yield from ("", _row("`league run` with 4 players, first match, s", [first["seconds"]]))


def _help(cost: Figures | None) -> Iterator[str]:
    if not cost:
        return
    yield from ("", _row("`league --help`, s", [cost["seconds"]]))
    yield _row("  a Python that does nothing, s", [cost["python_seconds"]])
    slowest = sorted(cost["cpu_seconds"].items(), key=lambda one: -one[1])
    for name, seconds in slowest[:SLOWEST_COMMANDS]:
        yield _row(f"  `league {name} --help`, s of CPU", [seconds])


def _memory(memory: Figures | None) -> Iterator[str]:
    if memory:
        words = f"A player of {memory['players']} in {memory['matches']} matches, MiB"
        yield from ("", _row(words, [memory["player_mib"]]))


def _many_leagues(many: Figures | None) -> Iterator[str]:
    if not many:
        return
    yield from ("", _head("On one server", ("leagues", "matches", "CPU, us")))
    yield _row("  many leagues", [many["leagues"], many["matches"], many["cpu_us_per_match"]])
    yield _row("  one league", [1, many["one_league_matches"], many["one_league_cpu_us_per_match"]])


def _simulate(simulate: Figures | None) -> Iterator[str]:
    if not simulate:
        return
    yield from ("", _head("Simulate", ("games/s", "plain loop", "ratio")))
    for one in simulate["games"]:
        words = f"  {one['game']}: {', '.join(one['strategies'])}"
        yield _row(words, [one["games_per_second"], one["plain_loop_per_second"], one["ratio_to_plain_loop"]])
    if simulate["peers"]:
        yield from ("", _head("Simulate, beside other libraries", ("games/s", "theirs", "ratio")))
    for one in simulate["peers"]:
        words = f"  {one['game']}: {one['library']}"
        yield _row(words, [one["games_per_second"], one["peer_per_second"], one["ratio_to_peer"]])
    yield from ("", f"Simulate in {simulate['jobs']} processes")
    yield _row("  speed by the clock to one, ratio", [simulate["ratio_of_jobs_to_one"]])
    yield _row("  CPU time to one, ratio", [simulate["cpu_ratio_of_jobs_to_one"]])


def _mcp(mcp: Figures | None) -> Iterator[str]:
    if not mcp:
        return
    yield from ("", "What the MCP side costs a player that is called bare")
    for words, key in (
        ("a call without it, us of CPU", "bare_call_microseconds"),
        ("  with it, ratio", "bare_call_ratio_with_mcp"),
        ("  once a session was opened, ratio", "bare_call_ratio_with_mcp_in_use"),
        ("a start without it, s of CPU", "player_start_seconds"),
        ("  with it, ratio", "player_start_ratio_with_mcp"),
    ):
        yield _row(f"  {words}", [mcp[key]])


def _dial_out(cost: Figures | None) -> Iterator[str]:
    if not cost:
        return
    yield from ("", "What a call to an agent costs, all that take part in it together")
    for words, key in (
        ("directly, us", "direct_call_microseconds"),
        ("  to one that dials out, us", "dial_out_call_microseconds"),
        ("  to one behind `league connect`, us", "connect_call_microseconds"),
    ):
        yield _row(f"  {words}", [cost[key]])


def _passing(cost: Figures | None) -> Iterator[str]:
    if not cost:
        return
    yield from ("", "What a call to a league costs, all that take part in it together")
    yield _row("  at its owner, us", [cost["direct_call_microseconds"]])
    yield _row("    through another server, us", [cost["passed_call_microseconds"]])


def _goals(figures: Figures) -> Iterator[str]:
    judged = goals(figures)
    if judged:
        yield from ("", f"{'Goals on two cores':48}{'measured':>10}{'goal':>12}{'holds':>8}")
    for goal in judged:
        aim = f"{goal.sign} {goal.bound:g}"
        yield f"  {goal.words:46}{_shown(goal.value):>10}{aim:>12}{'yes' if goal.holds else 'NO':>8}"


def _rows(rows: Sequence[Row], columns: Sequence[Figures]) -> Iterator[str]:
    for words, figure in rows:
        yield _row(f"  {words}", [figure(one) for one in columns])


def _head(words: str, columns: Sequence[str]) -> str:
    return f"{words:{LABEL}}" + "".join(f"{column:>{COLUMN}}" for column in columns)


def _row(words: str, values: Sequence[float | None]) -> str:
    return f"{words:{LABEL}}" + "".join(f"{_shown(value):>{COLUMN}}" for value in values)


def _shown(value: float | None) -> str:
    """Three digits that count, and no more."""
    if value is None:
        return "-"
    if isinstance(value, int) or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) >= 1 else f"{round(value, 2) + 0.0:.2f}"
