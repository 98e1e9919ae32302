"""Traces which functions of ours a registration and a move pass: `python -m bench.call_trace [--list]`.

Everything runs in this process on the memory carrier. A registration is traced from the player's call to register until
it has accepted the answer; what it does before and after, such as opening its history, is no part of it. A move is
traced from one question of a referee to its next. What has happened before, and is kept, isn't seen again.
"""

import asyncio
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any

import agent_league
from agent_league.config import ConfigLoader
from agent_league.config.home import make_home
from agent_league.http.memory import MemoryNetwork
from agent_league.launch.agent_plan import AgentListeners
from agent_league.launch.in_process import agent_endpoint, run_agents
from agent_league.launch.plan import LeaguePlan, LeagueRequest, make_league_plan

SOURCE = str(Path(agent_league.__file__).parent)
QUESTION = b'"method":"make_move"'
REGISTER, AFTER_REGISTERING = "LeagueRegistration.register", "Player._play_league"
TRACED_QUESTION = 4
"""Which question of a match begins the trace; before it everything has been done once."""


class FunctionTrace:
    """The functions of this package that are entered between `start` and `stop`, in order.

    With `since` it begins where that function is entered; it stops where `until` is.
    """

    def __init__(self, since: str = "", until: str = "") -> None:
        self.calls: list[tuple[str, str]] = []
        self._since = since
        self._until = until

    def start(self) -> None:
        sys.setprofile(self._note)

    def stop(self) -> None:
        sys.setprofile(None)

    def _note(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event != "call":
            return
        if code.co_qualname == self._until:
            self.stop()
            return
        if code.co_qualname == self._since:
            self._since = ""
        if not self._since and code.co_filename.startswith(SOURCE) and "<" not in code.co_name:
            self.calls.append((code.co_filename.removeprefix(f"{SOURCE}/"), code.co_qualname))

    @property
    def functions(self) -> list[tuple[str, str]]:
        """Each once, in the order of their first calls."""
        return list(dict.fromkeys(self.calls))

    @property
    def package_changes(self) -> int:
        """How often the next function called is of another package."""
        packages = [file.split("/")[0] for file, _ in self.calls]
        return sum(one != other for one, other in pairwise(packages))


class TracedNetwork(MemoryNetwork):
    """The memory carrier, which traces from one question of a match to the next."""

    def __init__(self, trace: FunctionTrace) -> None:
        super().__init__()
        self._trace = trace
        self._questions = 0
        self.is_traced = asyncio.Event()

    async def exchange(
        self,
        endpoint: str,
        frame: bytes,
        limit: float,
        bearer: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, bytes]:
        if QUESTION in frame:
            self._questions += 1
            if self._questions == TRACED_QUESTION:
                self._trace.start()
            elif self._questions == TRACED_QUESTION + 1:
                self._trace.stop()
                self.is_traced.set()
        return await super().exchange(endpoint, frame, limit, bearer, headers)


async def trace_registration(plan: LeaguePlan) -> FunctionTrace:
    """What a player's registration passes, on both sides; another has registered before it."""
    network, trace, registered = MemoryNetwork(), FunctionTrace(REGISTER, AFTER_REGISTERING), asyncio.Event()
    watchers = AgentListeners(
        on_player_event=lambda _id, _event: registered.set()
    )  # the first event of a player is just that
    first, second = plan.players
    async with run_agents(network, [plan.manager, first], watchers):
        await registered.wait()
        registered.clear()
        newcomer = second.make_agent(network, watchers)
        network.attach(agent_endpoint(second), newcomer.dispatcher.answer_request)
        trace.start()
        run = asyncio.create_task(newcomer.run())
        await registered.wait()
        trace.stop()
        run.cancel()
    return trace


async def trace_move(plan: LeaguePlan) -> FunctionTrace:
    """What a move passes, from one question to the next."""
    trace = FunctionTrace()
    network = TracedNetwork(trace)
    async with run_agents(network, plan.agent_plans):
        await network.is_traced.wait()
    return trace


def make_league(home: Path) -> LeaguePlan:
    """A league of two players, whose only match has questions one after another."""
    make_home(home)
    request = LeagueRequest(home=home, players=2, referees=1, seed="1", game="tic_tac_toe")
    return make_league_plan(ConfigLoader(home), request)


def main(arguments: Sequence[str]) -> None:
    for name, trace_one in (("registration", trace_registration), ("move", trace_move)):
        with tempfile.TemporaryDirectory() as folder:
            trace = asyncio.run(trace_one(make_league(Path(folder) / "SHARED")))
        functions = trace.functions
        figures = {
            "traced": name,
            "functions": len(functions),
            "files": len({file for file, _ in functions}),
            "package_changes": trace.package_changes,
        }
        print(json.dumps(figures))
        if "--list" in arguments:
            print("".join(f"  {file}  {function}\n" for file, function in functions))


if __name__ == "__main__":
    main(sys.argv[1:])
