"""Players that speak otherwise are understood and judged all the same, and their dialect is named."""

from typing import Any

import pytest

from agent_league.check.steps import TOLERATED_HINT, CheckReport, StepVerdict
from agent_league.config.models import TimeoutConfig
from tests.check.judging import check_guest, found
from tests.foreign import players
from tests.foreign.sample_player import SamplePlayer
from tests.foreign.v1_player import V1FramedPlayer, V1MovePlayer, V1Player
from tests.foreign.web import Message

SEEDS = "league.v2, the protocol's own form, "
DIALECTS: dict[Any, str] = {
    SamplePlayer: "league.v2, in the protocol's own form",
    players.BarePlayer: "league.v2, the bare message as the body",
    players.TypePlayer: "league.v2, message type as the method",
    players.SmallPlayer: "league.v2, message type in small letters",
    players.HandlerPlayer: "league.v2, one method, handle_message, for everything",
    players.StructuredToolPlayer: "league.v2, tools/call with the method's name",
    players.ToolPlayer: "league.v2, tools/call with the method's name, answers in result.content[0].text",
    players.ReceivePlayer: "league.v2, names that say what is received, or run",
    players.ParityChoosePlayer: "league.v2, message type in small letters, choose_parity as 'parity_choose'",
    players.NotFoundPlayer: "league.v2, message type in small letters",
    players.ChoicePlayer: SEEDS + "'choice' for 'parity_choice'",
    players.AcceptedPlayer: SEEDS + "'accepted' for 'accept'",
    players.JoinedPlayer: SEEDS + "'status' 'joined' for 'accept'",
    players.MessagePlayer: SEEDS + "answers in result.message",
    players.RequestShapedPlayer: SEEDS + "answers in params",
    players.BareReplyPlayer: SEEDS + "answers in the bare body",
    players.PushedPlayer: SEEDS + "answers in a call of its own to the referee",
    V1Player: "league.v1",
    V1MovePlayer: "league.v1",
    V1FramedPlayer: "league.v1, answers in result",
}


PATIENT = TimeoutConfig(game_join_ack_timeout_sec=12)
"""Long enough for a well-behaved player on a busy machine."""


async def checked(kind: Any) -> CheckReport:
    return await check_guest(kind, timeouts=PATIENT)


@pytest.mark.parametrize("kind", DIALECTS, ids=lambda kind: kind.__name__)
async def test_the_dialect_is_named_and_nothing_but_warnings_comes_of_it(kind: Any) -> None:
    report = await checked(kind)
    assert report.dialect == DIALECTS[kind]
    assert found(report) == {}
    assert report.ok
    assert report.count_verdict(StepVerdict.PASS) >= 40


async def test_another_spelling_is_a_warning_that_names_the_method_to_serve() -> None:
    report = await checked(players.TypePlayer)
    warnings = {step.name: step.hint for step in report.outcomes if step.verdict is StepVerdict.WARNING}
    assert "`choose_parity`" in warnings["choose_parity is answered"]
    assert "`handle_game_invitation`" in warnings["handle_game_invitation is answered"]


async def test_another_field_name_is_a_warning_that_names_both() -> None:
    report = await checked(players.ChoicePlayer)
    warnings = {step.name: step.hint for step in report.outcomes if step.verdict is StepVerdict.WARNING}
    hint = warnings["CHOOSE_PARITY_RESPONSE: the names of its fields"]
    assert hint == f"Write 'parity_choice' instead of 'choice'. {TOLERATED_HINT}"


class PoliteHandlerPlayer(players.HandlerPlayer):
    """Takes messages by `handle_message` alone, and answers every other method as if it had taken it."""

    name = "Polite Handler"

    def __init__(self, port: int, manager: str) -> None:
        super().__init__(port, manager)
        self.missed: list[str] = []

    def unknown(self, body: Any) -> Any:
        self.missed.append(str(body.get("method")))
        return 200, {"jsonrpc": "2.0", "result": {"status": "ok"}, "id": body.get("id")}


class PlainlyRegisteringPlayer(PoliteHandlerPlayer):
    """The same, but its registration, which is in the protocol's own form, doesn't tell how it wants to be called."""

    name = "Plainly Registering"

    def frame(self, method: str, message: Message) -> Message:
        return SamplePlayer.frame(self, method, message)


@pytest.mark.parametrize(
    ("kind", "is_told"), [(PoliteHandlerPlayer, True), (PlainlyRegisteringPlayer, False)], ids=["told", "learned"]
)
async def test_notices_come_in_the_form_in_which_the_questions_were_understood(
    kind: type[PoliteHandlerPlayer], is_told: bool
) -> None:
    made: list[PoliteHandlerPlayer] = []

    def make(port: int, manager: str) -> PoliteHandlerPlayer:
        made.append(kind(port, manager))
        return made[0]

    await checked(make)
    assert "update_standings" not in made[0].missed
    assert "notify_league_completed" not in made[0].missed
    asked = [body["params"] for body in made[0].misunderstood if isinstance(body, dict) and "params" in body]
    invited = [params for params in asked if "message_type" in params and params["message_type"] == "GAME_INVITATION"]
    assert (invited == []) is is_told  # a look for methods, before it has registered, holds no invitation


@pytest.mark.parametrize(
    "kind",
    [kind for kind in players.V2_PLAYERS if kind not in DIALECTS],
    ids=lambda kind: kind.__name__,
)
async def test_a_player_that_a_league_plays_with_has_warnings_at_most(kind: Any) -> None:
    assert found(await checked(kind)) == {}


class HangingUpPlayer(SamplePlayer):
    """Ends the connection where it is asked for a move, which only games other than Even/Odd need."""

    name = "Hanging Up"

    def unknown(self, body: Any) -> Any:
        if "GAME_MOVE_CALL" in str(body):
            return 200, object()  # its server can't write that, and ends the connection
        return super().unknown(body)


async def test_a_player_that_hangs_up_on_moves_is_not_failed_for_them() -> None:
    report = await checked(HangingUpPlayer)
    moves = [step for step in report.outcomes if "make_move" in step.name]
    assert {step.verdict for step in moves} == {StepVerdict.SKIPPED}, moves
