"""A league of real processes with room for hosts, and a scripted host that plays in it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters

from tests.cli.command import LEAGUE, Running, environment, running
from tests.conftest import free_ports

Choose = Callable[[dict[str, Any]], Any]
"""From an open turn to a move."""


@dataclass
class Processes:
    """The league's processes; hosts find the manager at `url`."""

    port: int
    home: Path
    manager: Running
    all: list[Running]

    @property
    def url(self) -> str:
        return f"http://localhost:{self.port}/mcp"


@contextmanager
def league_of(
    home: Path, *, players: int, ours: int, move_seconds: float = 30, stays: bool = False, game: str | None = None
) -> Iterator[Processes]:
    """A manager that waits for so many players, a referee, and `ours` of the players; the next port is free.

    All end with the league, unless it `stays`.
    """
    port = free_ports(2 + ours + 1)
    ending = [] if stays else ["--exit-when-done"]
    where = ["--manager", f"localhost:{port}", "--home", home, *ending]
    playing = ["--game", game] if game else []
    limits = ["--set", f"timeouts.move_timeout_sec={move_seconds}"]
    commands: list[list[object]] = [
        ["manager", "--port", port, "--players", players, "--referees", 1, "--home", home, *ending, *playing],
        ["referee", "--port", port + 1, *where, *limits, *playing],
        *(["player", "--port", port + 2 + number, *where, *playing] for number in range(ours)),
    ]
    with running(*commands) as processes:
        yield Processes(port, home, processes[0], processes)


def stdio(*arguments: object, cwd: Path | None = None) -> StdioServerParameters:
    """`league join` as a host starts it."""
    command = [*LEAGUE, *map(str, arguments)]
    return StdioServerParameters(command=command[0], args=command[1:], env=environment(), cwd=cwd)


async def play(client: Client, choose: Choose) -> list[dict[str, Any]]:
    """Joins and plays until the league is over; everything that happened."""
    seat = (await join(client))["handle"]
    after, events = 0, []
    while True:
        news = await tool(client, "wait_for_turn", handle=seat, after=after)
        after = news["after"]
        events += news["events"]
        for turn in news["open_turns"]:
            if (move := choose(turn)) is not None:
                await tool(client, "make_move", handle=seat, turn_id=turn["turn_id"], move=move)
        if news["league_over"]:
            return events


async def join(client: Client) -> dict[str, Any]:
    """Call join_league until the manager is there, as its answer asks; a league's processes take a while to start."""
    while (answer := await client.call_tool("join_league", {})).is_error:
        assert "Call join_league again" in str(answer.content), answer
    data: dict[str, Any] = answer.structured_content
    return data


async def tool(client: Client, name: str, **arguments: Any) -> dict[str, Any]:
    answer = await client.call_tool(name, arguments)
    assert not answer.is_error, answer
    data: dict[str, Any] = answer.structured_content
    return data
