"""What a referee says in `league.v2` without reading it again: to the letter what the models of its messages write."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from agent_league.games.game_messages import PlainWire
from agent_league.games.registry import Game
from agent_league.protocol.v2 import MESSAGES
from agent_league.testing.peers import always_reply
from agent_league.testing.virtual_time import in_virtual_time
from tests.games.sticks import STICKS, SticksRules
from tests.referee.hall import Hall, hall


def said_in(match: Hall) -> dict[str, dict[str, Any]]:
    """The last message of each type that anybody heard of a match."""
    heard = [params for agent in (*match.players.values(), match.manager) for _, params in agent.received_calls]
    return {message["message_type"]: message for message in heard if "match_id" in message}


@pytest.mark.parametrize(
    ("game_type", "asked"), [("even_odd", "CHOOSE_PARITY_CALL"), ("sticks", "GAME_MOVE_CALL")], ids=["own", "plain"]
)
@pytest.mark.parametrize("illegal", [False, True])
@in_virtual_time
async def test_every_message_of_a_match_is_as_its_model_writes_it(
    home: Path, game_type: str, asked: str, illegal: bool
) -> None:
    async with hall(home) as match:
        match.referee._orders.loaded_games["sticks"] = STICKS
        match.pair(
            a={"make_move": always_reply({"move_data": 1})},
            b={"make_move": always_reply({"move_data": 9 if illegal else 1})}
            | ({"choose_parity": always_reply({"parity_choice": "ODD"})} if illegal else {}),
        )
        report = await match.play(game_type=game_type, P01={"standings": {"wins": 2, "losses": 1, "draws": 0}})
    assert (report["result"]["status"] == "TECHNICAL_LOSS") is illegal
    assert ("tolerated" in report["result"]) is (game_type == "sticks")
    messages = said_in(match)
    assert messages.keys() >= {"GAME_INVITATION", asked, "GAME_OVER", "MATCH_RESULT_REPORT"}
    for message_type, message in messages.items():
        assert orjson.dumps(MESSAGES[message_type].model_validate(message).to_wire()) == orjson.dumps(message)


class WrongWire(PlainWire):
    """Words of somebody's game that no player could read."""

    def question(self, *_: Any) -> dict[str, Any]:
        return {"move_request": {"move_type": 7}}


class WrongResult(PlainWire):
    """Words of somebody's game that tell of no result."""

    def result(self, *_: Any) -> dict[str, Any]:
        return {"choices": "none"}


@pytest.mark.parametrize("wire", [WrongWire(), WrongResult()])
@in_virtual_time
async def test_what_a_game_brings_into_a_message_is_still_looked_at(home: Path, wire: PlainWire) -> None:
    async with hall(home) as match:
        match.referee._orders.loaded_games["sticks"] = Game("sticks", SticksRules(), wire, STICKS.parameters)
        one = always_reply({"move_data": 1})
        match.pair(a={"make_move": one}, b={"make_move": one})
        report = await match.play(game_type="sticks")
    assert report["result"]["terminations"] == {"P01": "void", "P02": "void"}
    assert "fault" in report["result"]["details"]


class ForgetfulRules(SticksRules):
    """Changes what it has shown, in place."""

    def __init__(self) -> None:
        self.shown: list[dict[str, Any]] = []

    def view(self, state: Any, seat: int | None) -> Any:
        for view in self.shown:
            view["sticks"] = "gone"
        self.shown.append({"sticks": super().view(state, seat)})
        return self.shown[-1]


@in_virtual_time
async def test_a_question_is_kept_as_it_was_asked_whatever_the_game_does_with_what_it_showed(home: Path) -> None:
    rules = ForgetfulRules()
    async with hall(home) as match:
        match.referee._orders.loaded_games["sticks"] = Game("sticks", rules, parameters=STICKS.parameters)
        match.pair(a={"make_move": always_reply({"move_data": 1})}, b={"make_move": always_reply({"move_data": 1})})
        await match.play(game_type="sticks")
        told = await match.call("get_match_state", {"match_id": "R1M1"})
    assert len(rules.shown) > 2
    questions = [entry["message"] for entry in told["transcript"] if entry["direction"] == "sent"]
    views = [message["move_request"]["context"] for message in questions if "move_request" in message]
    assert views
    assert all(view["sticks"] != "gone" for view in views)
