"""The command: what is asked for is measured, told on the way, and shown as a table, as JSON, or as a picture."""

import argparse
import json
import signal
import statistics
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from agent_league.cli.app import COMMANDS
from bench import report
from bench.calls import Call, read_seeds_calls, spread
from bench.dial_out_cost import measure_dial_out_cost
from bench.drill import measure
from bench.earlier import FIRST, NoEarlierVersion, compare_versions
from bench.effort import FULL, QUICK, Effort
from bench.figures import (
    Figures,
    Turn,
    earlier_figures,
    growth_figures,
    help_figures,
    league_figures,
    machine,
    many_leagues_figures,
    memory_figures,
    simulate_figures,
    slow_figures,
)
from bench.floor import Floor
from bench.goals import find_judged_size, goals
from bench.league import play
from bench.limit import Limit
from bench.many_leagues import ComparedLeagues, compare_to_one_league
from bench.mcp_cost import measure_mcp_cost
from bench.memory import measure_player_memory
from bench.passing_cost import measure_passing_cost
from bench.peers import list_peers
from bench.plans import Setting, planned
from bench.plot import plot
from bench.simulate import ComparedPeer, compare, compare_to_peer
from bench.simulate import spread as spread_over
from bench.slow_peers import measure_slow_peers
from bench.start import measure_help, seconds_to_first_match
from bench.stock import Stock
from bench.strangers import make_strangers
from bench.usage import require_proc

PARTS = (
    *("league", "earlier", "slow_peers", "first_match", "help", "memory", "many_leagues"),
    *("simulate", "mcp", "dial_out", "passing"),
)
JOBS = 2


def main(arguments: Sequence[str] | None = None) -> None:
    asked = _parser().parse_args(arguments)
    unknown = sorted(set(asked.only) - set(PARTS))
    if unknown:
        raise SystemExit(f"bench: --only takes {', '.join(PARTS)}, not {', '.join(unknown)}")
    require_proc()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    effort = QUICK if asked.quick else FULL
    if asked.players:
        effort = replace(effort, leagues=dict.fromkeys(sorted(set(asked.players)), max(effort.leagues.values())))
    try:
        with tempfile.TemporaryDirectory() as folder:
            figures = measured(Setting(asked.port, asked.referees), effort, asked.only, Path(folder), asked.against)
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    show(figures, as_json=asked.json, picture=asked.plot)


def measured(setting: Setting, effort: Effort, parts: Sequence[str], folder: Path, earlier: str = FIRST) -> Figures:
    """Measures the parts that are asked for.

    All write below this folder, which is deleted at the end of all: after thousands of files were, ext4 takes several
    times as long to create others.
    """
    figures: Figures = {"machine": machine()}
    if "league" in parts:
        figures["leagues"] = _leagues(setting, effort, folder)
        figures["growth"] = growth_figures(figures["leagues"])
    if "earlier" in parts and effort.earlier_turns:
        players = find_judged_size(effort.leagues)
        _tell(f"{players} players, in turn with version {earlier}")
        try:
            compared = compare_versions(earlier, setting, folder / "earlier", players, effort.earlier_turns)
            figures["earlier"] = earlier_figures(compared)
        except NoEarlierVersion as error:
            _tell(f"version {earlier} is not measured: {error}")
    if "slow_peers" in parts:
        _tell("one bad player")
        figures["slow_peers"] = slow_figures(measure_slow_peers(setting, folder, effort.manner))
    if "first_match" in parts:
        _tell("from command to first match")
        seconds = [seconds_to_first_match(setting, folder / f"first{n}") for n in range(effort.first_matches + 1)]
        figures["first_match"] = {"seconds": round(statistics.median(seconds[1:]), 3)}
    if "help" in parts:
        _tell("help of commands")
        commands = [name for listed in COMMANDS.values() for name in listed]
        figures["help"] = help_figures(measure_help(effort.help_turns, commands[: effort.helped_commands]))
    if "memory" in parts:
        _tell("what a player takes of memory")
        figures["memory"] = memory_figures(measure_player_memory(setting, folder / "memory", effort.memory_sizes))
    if "many_leagues" in parts and effort.many_leagues_turns:
        figures["many_leagues"] = many_leagues_figures(_many_leagues(effort, folder))
    if "simulate" in parts:
        _tell("simulated games")
        figures["simulate"] = _simulate(effort)
    if "mcp" in parts:
        _tell("what MCP costs")
        cost = measure_mcp_cost(setting, folder / "mcp", effort.mcp_rounds, effort.mcp_turns)
        figures["mcp"] = cost.figures()
    if "dial_out" in parts:
        _tell("what dialling out costs")
        figures["dial_out"] = measure_dial_out_cost(setting, folder / "dial_out", effort.mcp_turns).figures()
    if "passing" in parts:
        _tell("what passing a call on costs")
        figures["passing"] = measure_passing_cost(folder / "passing", effort.mcp_turns).figures()
    figures["goals"] = [goal.as_dict() for goal in goals(figures)]
    return figures


def show(figures: Figures, *, as_json: bool, picture: Path | None) -> None:
    """The table on standard output; where that belongs to JSON, beside it."""
    print("\n".join(report.lines(figures)), file=sys.stderr if as_json else sys.stdout)
    if as_json:
        print(json.dumps(figures))
    if picture:
        picture.write_text(plot(figures), encoding="utf-8")


def _leagues(setting: Setting, effort: Effort, folder: Path) -> list[Figures]:
    said = read_seeds_calls()
    turns: dict[int, list[Turn]] = {players: [] for players in effort.leagues}
    judged = find_judged_size(effort.leagues)
    for number in range(max(effort.leagues.values())):
        for players, runs in effort.leagues.items():
            if number < runs:
                _tell(f"{players} players, {number + 1} of {runs}")
                calls = spread(said.of(players), effort.calls)
                home = folder / f"league{players}-{number}"
                turns[players].append(_take_turn(setting, home, players, calls, with_strangers=players == judged))
    return [league_figures(said.of(players), taken) for players, taken in turns.items()]


def _take_turn(setting: Setting, home: Path, players: int, calls: Sequence[Call], *, with_strangers: bool) -> Turn:
    ports = range(setting.player_port, setting.player_port + players)
    limit, floor, stock = (measure(stack, calls, ports) for stack in (Limit, Floor, Stock))
    strangers = play(make_strangers(planned(setting, home / "strangers", players))) if with_strangers else None
    return Turn(limit, floor, stock, play(planned(setting, home / "ours", players)), strangers)


def _many_leagues(effort: Effort, folder: Path) -> list[ComparedLeagues]:
    turns = []
    for number in range(effort.many_leagues_turns):
        _tell(f"many leagues on one server, {number + 1} of {effort.many_leagues_turns}")
        turns.append(compare_to_one_league(effort.many_leagues, folder / f"many{number}"))
    return turns


def _simulate(effort: Effort) -> Figures:
    compared = [compare(*meeting, effort.trials) for meeting in effort.meetings]
    peers = list[ComparedPeer]()
    for peer in list_peers() if effort.peers else ():
        if problem := peer.find_problem():
            _tell(f"{peer.game} is not measured beside {problem}")
            continue
        peers.append(compare_to_peer(peer, effort.trials))
    _tell(f"simulated games in {JOBS} processes")
    return simulate_figures(compared, peers, spread_over(JOBS, effort.spread_trials, effort.spread_games))


def _tell(words: str) -> None:
    print(f"bench: {words}", file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="league dev bench",
        description="Measure a league beside the limit of this machine, and tell which goals hold.",
        epilog="See docs/performance.md for what is measured and how to read it.",
    )
    parser.add_argument("--quick", action="store_true", help="a little of everything, in under a minute")
    parser.add_argument("--json", action="store_true", help="print one JSON object; the table goes to standard error")
    parser.add_argument("--plot", type=Path, metavar="FILE.svg", help="draw the leagues as well")
    parser.add_argument("--only", type=_words, default=PARTS, metavar="PART,...", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--players", type=_numbers, metavar="N,...", help="sizes of leagues instead of the usual ones")
    parser.add_argument("--against", default=FIRST, metavar="COMMIT", help=f"the earlier version (default: {FIRST})")
    parser.add_argument("--referees", type=int, default=4, help="how many a league has (default: 4)")
    parser.add_argument("--port", type=int, default=18000, help="the first of some hundred ports (default: 18000)")
    return parser


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(word) for word in _words(text))
