"""What the MCP side costs a player that is only ever called bare: the CPU time of a call on its side, and of its start.

The same player in processes of its own: without the MCP side, with it, and with it after a client has opened a session
(so that the SDK is loaded). They are called in turn, in one run, and made anew for every round: no two moments and no
two processes are equal, and their differences are larger than what is measured here.
"""

import asyncio
import statistics
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from agent_league.config.home import make_home
from agent_league.http.client import HttpCarrier
from bench.plans import Setting

PLAYER = Path(__file__).with_name("lone_player.py")
WITHOUT, WITH, OPENED = "without", "with", "opened"
KINDS = (WITHOUT, WITH, OPENED)
QUESTION = b'{"jsonrpc": "2.0", "method": "get_player_state", "params": {}, "id": 1}'
CALLS, IN_FLIGHT = 160, 8
"""How many calls a player gets in a turn, and how many of them at a time."""


@dataclass(frozen=True, slots=True)
class LonePlayer:
    """A player's process: where it is called, and how it is asked what it has spent."""

    endpoint: str
    orders: IO[bytes]
    words: IO[bytes]

    def spent(self) -> float:
        """CPU seconds so far."""
        self.orders.write(b"\n")
        self.orders.flush()
        return float(self.words.readline())


@dataclass(frozen=True, slots=True)
class McpCost:
    """CPU seconds of every round, by kind of player."""

    starts: dict[str, list[float]] = field(default_factory=lambda: {kind: [] for kind in KINDS})
    calls: dict[str, list[float]] = field(default_factory=lambda: {kind: [] for kind in KINDS})

    def figures(self) -> dict[str, float]:
        """Medians; a ratio is to the player without the MCP side of the same round."""
        return {
            "bare_call_microseconds": round(statistics.median(self.calls[WITHOUT]) * 1e6, 1),
            "bare_call_ratio_with_mcp": _ratio(self.calls, WITH),
            "bare_call_ratio_with_mcp_in_use": _ratio(self.calls, OPENED),
            "player_start_seconds": round(statistics.median(self.starts[WITHOUT]), 3),
            "player_start_ratio_with_mcp": _ratio(self.starts, WITH),
        }


def measure_mcp_cost(setting: Setting, home: Path, rounds: int, turns: int) -> McpCost:
    """Starts the players so often, and calls each of them in so many turns."""
    make_home(home)
    cost = McpCost()
    for number in range(rounds):
        with ExitStack() as stack:
            players = {kind: stack.enter_context(_player(setting, home, kind)) for kind in _in_turn(number)}
            for kind, player in players.items():
                cost.starts[kind].append(player.spent())
            for kind, seconds in asyncio.run(_call_in_turn(players, turns)).items():
                cost.calls[kind].append(statistics.median(seconds))
    return cost


async def _call_in_turn(players: Mapping[str, LonePlayer], turns: int) -> dict[str, list[float]]:
    """CPU seconds that each player spends on a call, turn by turn."""
    seconds: dict[str, list[float]] = {kind: [] for kind in players}
    await _open_session(players[OPENED].endpoint)
    carrier = HttpCarrier()
    for number in range(turns):
        for kind in _in_turn(number):
            seconds[kind].append(await _spent_on_a_call(carrier, players[kind]))
    await carrier.close()
    return seconds


async def _spent_on_a_call(carrier: HttpCarrier, player: LonePlayer) -> float:
    async def ask() -> None:
        for _ in range(CALLS // IN_FLIGHT):
            await carrier.exchange(player.endpoint, QUESTION, 30)

    before = player.spent()
    await asyncio.gather(*(ask() for _ in range(IN_FLIGHT)))
    return (player.spent() - before) / CALLS


async def _open_session(endpoint: str) -> None:
    """A client asks for the tools and leaves its session open."""
    from mcp import Client  # noqa: PLC0415 - a second of import, for this alone
    from mcp.client.streamable_http import streamable_http_client  # noqa: PLC0415

    async with Client(streamable_http_client(endpoint, terminate_on_close=False), mode="legacy") as client:
        await client.list_tools()


@contextmanager
def _player(setting: Setting, home: Path, kind: str) -> Iterator[LonePlayer]:
    port = setting.lone_port + KINDS.index(kind)
    command = [sys.executable, str(PLAYER), str(home), WITHOUT if kind == WITHOUT else WITH, str(port)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    ) as process:  # Ctrl-C is ours to answer; the end of its input ends it
        if not process.stdin or not process.stdout or process.stdout.readline() != b"ready\n":
            raise SystemExit("bench: a player did not start")
        yield LonePlayer(f"http://localhost:{port}/mcp", process.stdin, process.stdout)
        process.communicate()


def _in_turn(number: int) -> tuple[str, ...]:
    """All kinds, another one first each time."""
    first = number % len(KINDS)
    return KINDS[first:] + KINDS[:first]


def _ratio(seconds: Mapping[str, Sequence[float]], kind: str) -> float:
    pairs = zip(seconds[kind], seconds[WITHOUT], strict=True)
    return round(statistics.median(one / other for one, other in pairs), 3)
