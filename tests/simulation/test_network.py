"""The network loses, delays, doubles and breaks as its scenario says."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import closing
from dataclasses import replace

import pytest

from agent_league.errors import PeerTimeout, PeerUnreachable
from agent_league.testing.agent_lives import KillableEventLoop, SimulatedProcess
from agent_league.testing.faults import FaultKind, Scenario
from agent_league.testing.network import FaultyNetwork, ProcessCarrier, SimulationTrace

QUIET = Scenario(seed=1, players=2, referees=1, matches_per_round=None, concurrent_matches=1, latency=0.1)
ENDPOINTS = {"caller": "http://localhost:1/mcp", "host": "http://localhost:2/mcp"}
LIMIT = 10.0


class Scene:
    """A caller and a host that counts what it is asked."""

    def __init__(self, scenario: Scenario) -> None:
        self.trace = SimulationTrace()
        self.network = FaultyNetwork(scenario, ENDPOINTS, self.trace, lambda _: None)
        self.caller, self.host = SimulatedProcess("caller"), SimulatedProcess("host")
        self.served = 0
        self.network.attach_process(self.host, self._answer)

    async def _answer(self, frame: bytes, bearer: str | None) -> bytes:
        self.served += 1
        await asyncio.sleep(0.5)
        return b"answer to " + frame

    async def ask(self) -> tuple[int, bytes]:
        carrier = ProcessCarrier(self.network, self.caller)
        answer: tuple[int, bytes] = await self.caller.start_task(
            carrier.exchange(ENDPOINTS["host"], b"question", LIMIT)
        )
        return answer


def play(scenario: Scenario, act: Callable[[Scene], Awaitable[None]]) -> Scene:
    async def main() -> Scene:
        scene = Scene(scenario)
        await act(scene)
        await asyncio.sleep(1000)
        await loop.finish_dead_tasks()
        return scene

    with closing(KillableEventLoop()) as loop:
        return loop.run_until_complete(main())


def with_fault(fault: FaultKind, **changes: float) -> Scenario:
    return replace(QUIET, fault_rates={fault: 1.0}, **changes)  # type: ignore[arg-type]


def test_a_good_network_carries_an_answer_back() -> None:
    async def act(scene: Scene) -> None:
        assert await scene.ask() == (200, b"answer to question")

    scene = play(QUIET, act)
    assert scene.served == 1
    assert scene.network.fault_intervals == {"caller": [], "host": []}


@pytest.mark.parametrize(("fault", "error"), [(FaultKind.LOST, PeerTimeout), (FaultKind.BROKEN, PeerUnreachable)])
def test_a_request_that_does_not_arrive_is_told_by_silence_or_a_broken_connection(
    fault: FaultKind, error: type[Exception]
) -> None:
    async def act(scene: Scene) -> None:
        with pytest.raises(error):
            await scene.ask()

    scene = play(with_fault(fault), act)
    assert scene.served == 0
    assert scene.network.fault_intervals["host"]


def test_a_doubled_request_is_served_twice_and_answered_once() -> None:
    async def act(scene: Scene) -> None:
        assert (await scene.ask())[0] == 200

    assert play(with_fault(FaultKind.DOUBLED), act).served == 2


def test_a_late_request_is_served_although_its_caller_has_given_up() -> None:
    async def act(scene: Scene) -> None:
        with pytest.raises(PeerTimeout):
            await scene.ask()
        assert scene.served == 0

    assert play(with_fault(FaultKind.DELAYED, longest_delay=1000), act).served == 1


def test_an_agent_that_is_cut_off_is_reached_again_afterwards() -> None:
    async def act(scene: Scene) -> None:
        scene.network.cut_off_until["host"] = 20
        with pytest.raises(PeerTimeout):
            await scene.ask()
        await asyncio.sleep(20)
        assert (await scene.ask())[0] == 200

    play(QUIET, act)


@pytest.mark.parametrize(("silently", "error"), [(False, PeerUnreachable), (True, PeerTimeout)])
def test_whoever_waits_for_one_who_dies_sees_the_connection_break_or_waits_in_vain(
    silently: bool, error: type[Exception]
) -> None:
    async def act(scene: Scene) -> None:
        asyncio.get_running_loop().call_later(0.4, die, scene)
        with pytest.raises(error):
            await scene.ask()

    def die(scene: Scene) -> None:
        scene.network.detach_process(scene.host, silently=silently)
        scene.host.kill()

    assert play(QUIET, act).served == 1


def test_nobody_is_there_after_a_death() -> None:
    async def act(scene: Scene) -> None:
        scene.network.detach_process(scene.host, silently=False)
        scene.host.kill()
        with pytest.raises(PeerUnreachable):
            await scene.ask()

    play(QUIET, act)


def test_a_healed_network_loses_nothing() -> None:
    async def act(scene: Scene) -> None:
        scene.network.is_healed = True
        assert (await scene.ask())[0] == 200

    play(with_fault(FaultKind.LOST), act)
