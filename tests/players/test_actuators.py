"""The player's answers, as they travel: what the models of the protocol would write, field by field and in order."""

from dataclasses import asdict
from typing import Any

import orjson
import pytest

from agent_league.players.actuators import Actuators, WireFields
from agent_league.players.observation import Usage
from agent_league.protocol import v2
from agent_league.protocol.envelope import Message
from agent_league.testing.virtual_time import VIRTUAL_START
from tests.players.chair import invitation, move_call, parity_call

COST = Usage("m", 1, 2, 0.5, 3, 1)


class Stopped:
    """A clock at one moment."""

    now = staticmethod(lambda: VIRTUAL_START)


def answers(token: str | None) -> dict[str, tuple[WireFields, type[Message], dict[str, Any]]]:
    """An answer of each kind, its model, and the fields of its own."""
    write = Actuators(Stopped(), lambda: ("P01", token))
    parity, move = v2.ChooseParityCall.model_validate(parity_call()), v2.GameMoveCall.model_validate(move_call([[1]]))
    join = write.answer_invitation(v2.GameInvitation.model_validate(invitation()), accept=True)
    usage = v2.MoveUsage(**asdict(COST))
    return {
        "join": (join, v2.GameJoinAck, {"arrival_timestamp": "2025-01-15T10:00:00Z", "accept": True}),
        "parity": (write.answer_parity_call(parity, "odd"), v2.ChooseParityResponse, {"parity_choice": "odd"}),
        "move": (write.answer_move_call(move, [1]), v2.GameMoveResponse, {"move_data": [1]}),
        "costly": (write.answer_move_call(move, [1], COST), v2.GameMoveResponse, {"move_data": [1], "usage": usage}),
    }


@pytest.mark.parametrize("token", ["tok-p01", None])
@pytest.mark.parametrize("kind", answers(None))
def test_an_answer_travels_as_its_model_writes_it(kind: str, token: str | None) -> None:
    answer, model, own = answers(token)[kind]
    written = model.write(
        sender="player:P01",
        timestamp="2025-01-15T10:00:00Z",
        conversation_id="conv-r1m1-001",
        auth_token=token,
        match_id="R1M1",
        player_id="P01",
        **own,
    )
    assert orjson.dumps(answer) == orjson.dumps(written.to_wire())


def test_a_cost_that_cannot_be_sent_is_left_out() -> None:
    move = v2.GameMoveCall.model_validate(move_call([1]))
    answer = Actuators(Stopped(), lambda: ("P01", None)).answer_move_call(move, 1, Usage("m", input_tokens=-1))
    assert "usage" not in answer
