"""What one bad player costs a league: one that answers nothing, one that never answers a move, one that is always late.

Each is compared with the same league in which that player is as quick as the others. It lives in a process of its own
and is written from the protocol alone.
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import quantiles
from typing import Any, Self

from agent_league.agent.app import AgentApp
from agent_league.child_processes import hold_signals
from agent_league.errors import CallFailed
from agent_league.http.carrier import FrameHandler
from agent_league.http.client import HttpCarrier
from agent_league.http.server import HttpServer
from agent_league.launch.serving import run_async
from agent_league.testing.peers import Params, ScriptedPlayer
from bench.drill import end_with, processes_of_the_bench
from bench.league import LeagueRun, play
from bench.plans import Setting, planned

QUICK, HUNG, STUCK, SLOW = "quick", "hung", "stuck", "slow"
TROUBLES = (HUNG, STUCK, SLOW)
"""Silent to everything once it is registered; silent to moves alone; late with every answer."""
NAME = "Agent Outside"
TRIES = 200


@dataclass(frozen=True, slots=True)
class Manner:
    """How the player beside the league behaves, and how long it is waited for."""

    players: int
    move_timeout: float
    delay: float
    """Seconds after which the slow one answers."""

    def settings(self) -> dict[str, Any]:
        """Shorter times for whoever waits for a player, in the proportions of the shipped ones."""
        shorter = self.move_timeout / 30
        return {
            "timeouts.move_timeout_sec": self.move_timeout,
            "timeouts.game_join_ack_timeout_sec": 5 * shorter,
            "timeouts.game_over_timeout_sec": 5 * shorter,
            "timeouts.generic_response_timeout_sec": 10 * shorter,
            "retry_policy.base_delay_sec": 2 * shorter,
            "circuit_breaker.probe_after_sec": 30 * shorter,
        }


@dataclass(frozen=True, slots=True)
class Trial:
    """A league and the id of the player in question."""

    run: LeagueRun
    outside: str

    @property
    def long_match(self) -> float:
        """Seconds within which nearly all matches of the others were played."""
        return quantiles((match.seconds for match in self.run.played if self.outside not in match.players), n=20)[-1]


@dataclass(frozen=True, slots=True)
class SlowPeers:
    """A league in which all are quick, and one for each kind of trouble."""

    manner: Manner
    trials: Mapping[str, Trial]

    def added(self, kind: str) -> float:
        """Seconds that it took longer in all."""
        return self.trials[kind].run.seconds - self.trials[QUICK].run.seconds

    def passed_on(self, kind: str) -> float:
        """How much longer the others' matches took, as a share of what the bad player makes its own opponents wait."""
        wait = self.manner.delay if kind == SLOW else self.manner.move_timeout
        return (self.trials[kind].long_match - self.trials[QUICK].long_match) / wait


def measure_slow_peers(setting: Setting, folder: Path, manner: Manner) -> SlowPeers:
    """Plays the leagues in turn."""
    trials = {}
    for kind in (QUICK, *TROUBLES):
        plan = planned(setting, folder / kind, manner.players, outside=1, overrides=manner.settings())
        outside = Outside(setting, kind, manner.delay)
        run = play(plan, outside)
        trials[kind] = Trial(run, outside.player_id)
    return SlowPeers(manner, trials)


class Outside:
    """The player beside the league, in a process of its own. Leaving the context ends it."""

    def __init__(self, setting: Setting, kind: str, delay: float) -> None:
        self.player_id = ""
        context = processes_of_the_bench()
        self._pipe, self._theirs = context.Pipe()
        self._process = context.Process(target=_live, args=(setting, kind, delay, self._theirs), daemon=True)

    def __enter__(self) -> Self:
        with hold_signals():
            self._process.start()
            self._theirs.close()
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(EOFError):  # it ended before it was admitted
            if self._pipe.poll():
                self.player_id = self._pipe.recv()
        self._pipe.close()
        self._process.join()


def _live(setting: Setting, kind: str, delay: float, pipe: Connection) -> None:
    end_with(pipe)
    run_async(_serve(setting, kind, delay, pipe))


async def _serve(setting: Setting, kind: str, delay: float, pipe: Connection) -> None:
    port = setting.lone_port
    player = ScriptedPlayer(
        NAME, f"http://localhost:{port}/mcp", scripts={"choose_parity": _never} if kind == STUCK else None
    )
    answers: Mapping[str, FrameHandler] = {HUNG: _nothing, SLOW: _late(player, delay)}
    answer = answers.get(kind, player.answer)
    server = HttpServer(AgentApp(answer, dict), "127.0.0.1", port, "the bench")
    await server.start()
    carrier = HttpCarrier()
    await _register(player, carrier, setting)
    pipe.send(player.player_id)
    await asyncio.Event().wait()


async def _register(player: ScriptedPlayer, carrier: HttpCarrier, setting: Setting) -> None:
    """Registers once the manager is there."""
    for _ in range(TRIES):
        await asyncio.sleep(0.05)
        try:
            if (await player.register(carrier, setting.manager))["status"] == "ACCEPTED":
                return
        except CallFailed:
            continue
    raise SystemExit(f"bench: {player.name} was not admitted")


async def _nothing(_body: bytes, _bearer: str | None) -> bytes | None:
    await asyncio.Event().wait()
    return None


async def _never(_: Params) -> Any:
    await asyncio.Event().wait()


def _late(player: ScriptedPlayer, delay: float) -> FrameHandler:
    async def answer(body: bytes, bearer: str | None) -> bytes | None:
        await asyncio.sleep(delay)
        return await player.answer(body, bearer)

    return answer
