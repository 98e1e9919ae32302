"""Questions that are asked at the same time: where one breaks down, none goes on. And what is left of a match."""

import asyncio
import gc
from collections.abc import Iterator
from typing import Any
from weakref import WeakSet

import pytest

from agent_league.launch.in_process import play_in_process
from agent_league.referee.play import MatchPlay, run_together
from agent_league.testing.virtual_time import in_virtual_time
from tests.conftest import PlanMaker


class Questions:
    """Questions to players, and which of them were given up."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.given_up: list[str] = []

    async def ask(self, player_id: str, after: float, *, breaks: bool = False) -> str:
        self.asked.append(player_id)
        try:
            await asyncio.sleep(after)
        except asyncio.CancelledError:
            self.given_up.append(player_id)
            raise
        if breaks:
            raise LookupError(player_id)
        return f"{player_id}'s answer"


@in_virtual_time
async def test_answers_come_in_the_order_of_the_questions_whoever_is_faster() -> None:
    questions = Questions()
    answers = await run_together([questions.ask("P01", 2), questions.ask("P02", 1)])
    assert answers == ["P01's answer", "P02's answer"]
    assert questions.asked == ["P01", "P02"]
    assert asyncio.get_running_loop().time() == 2


@pytest.mark.parametrize("broken", ["P01", "P02"])
@in_virtual_time
async def test_where_one_question_breaks_down_the_other_is_given_up_at_once(broken: str) -> None:
    questions, players = Questions(), ("P01", "P02")
    with pytest.raises(ExceptionGroup) as caught:
        await run_together(
            questions.ask(player_id, 1 if player_id == broken else 30, breaks=player_id == broken)
            for player_id in players
        )
    assert [str(error) for error in caught.value.exceptions] == [broken]
    assert questions.given_up == [player_id for player_id in players if player_id != broken]
    assert asyncio.get_running_loop().time() == 1


@in_virtual_time
async def test_who_is_asked_alone_answers_alone() -> None:
    assert await run_together([Questions().ask("P01", 1)]) == ["P01's answer"]


@pytest.fixture
def without_collector() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("game", ["even_odd", "tic_tac_toe", "prisoners_dilemma"])
@pytest.mark.usefixtures("without_collector")
async def test_a_match_that_is_over_is_freed_without_the_garbage_collector(
    game: str, plan: PlanMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its transcript is large: kept until a collection, hundreds push all else out of the caches."""
    begun, left = [0], WeakSet[MatchPlay]()

    class Watched(MatchPlay):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            begun[0] += 1
            left.add(self)

    monkeypatch.setattr("agent_league.referee.app.MatchPlay", Watched)
    await play_in_process(plan(players=4, referees=1, game=game))
    assert begun == [6]
    assert not left
