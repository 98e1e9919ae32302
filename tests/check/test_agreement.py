"""`league check` and the league agree: the same player plays in a real league, over HTTP, and is checked.

What loses it a match, or its registration, fails its check; what the league only notes is a warning.
"""

import asyncio
from dataclasses import dataclass

import pytest

from agent_league.check.steps import TOLERATED_HINT, StepVerdict
from agent_league.model.events import AgentStateChanged, Event, LeagueCompleted, MatchFinished, RegistrationRefused
from agent_league.model.results import Outcome
from tests.check.faulty import faulty_player
from tests.check.judging import check_guest, found
from tests.check.test_player import REPLIES, checked
from tests.conftest import BOUND, PlanMaker
from tests.foreign.stage import match_files, planned, play_with_players
from tests.foreign.v1_player import V1Player
from tests.foreign.web import Message
from tests.launch.scripted_guests import hosted

OPEN = ("protocol", "message_type", "sender", "timestamp", "conversation_id", "auth_token")
"""What an answer may lack."""


@dataclass(frozen=True, slots=True)
class Season:
    """What became of a player in a league of ours."""

    is_refused: bool
    technical_losses: int
    is_suspended: bool
    tolerated: frozenset[str]
    """What its referee noted of its answers."""

    @property
    def is_harmed(self) -> bool:
        return self.is_refused or self.is_suspended or self.technical_losses > 0


async def play_season(plan: PlanMaker, *faults: str, limit: float = 10) -> Season:
    """Let a player with these faults meet two of ours, each once, with a round off."""
    limits = {"timeouts.game_join_ack_timeout_sec": limit, "timeouts.move_timeout_sec": limit}
    made = planned(plan, players=3, referees=1, overrides={**limits, "retry_policy.base_delay_sec": 0.01})
    over = asyncio.Event()

    def watch(event: Event) -> None:
        if isinstance(event, LeagueCompleted | RegistrationRefused):
            over.set()

    async with hosted(made, guests=1) as league:
        league.on_event = watch
        with faulty_player(made.players[-1].port, made.manager.port, *faults):
            async with asyncio.timeout(BOUND):
                await over.wait()
    events = league.events
    results = [event.result for event in events if isinstance(event, MatchFinished)]
    notes = [note for file in match_files(made).values() for note in file["tolerated"].get("P03", ())]
    lost = [one for one in results if one.outcome is Outcome.TECHNICAL_LOSS and one.winner not in (None, "P03")]
    return Season(
        is_refused=any(isinstance(event, RegistrationRefused) for event in events),
        technical_losses=len(lost),
        is_suspended=any(isinstance(event, AgentStateChanged) and event.agent_id == "P03" for event in events),
        tolerated=frozenset(notes),
    )


HARMFUL = (
    "wrong path",
    "wrong method name",
    "wrong case",
    "a blank",
    "nonsense",
    "local time",
    "lost id",
    "accept is a string",
    "declines",
    "no fields but the seeds'",
    "registers as P01",
    "no accept in GAME_JOIN_ACK",
    "number arrival_timestamp in GAME_JOIN_ACK",
    "no parity_choice in CHOOSE_PARITY_RESPONSE",
    *(f"other {name} in {reply}" for reply in REPLIES for name in ("protocol", "message_type")),
    *(f"number {name} in GAME_JOIN_ACK" for name in ("sender", "timestamp", "auth_token")),
    *(f"number {name} in CHOOSE_PARITY_RESPONSE" for name in ("conversation_id", "match_id", "player_id")),
)
NOTED: dict[tuple[str, ...], list[str]] = {
    ("an empty token",): ["no 'auth_token'"],
    ("the referee's token",): ["a wrong 'auth_token'"],
    ("another's token",): ["a wrong 'auth_token'"],
    ("lost conversation id",): ["another 'conversation_id'"],
    **{(f"no {name} in {reply}",): [f"no '{name}'"] for name in ("sender", "timestamp") for reply in REPLIES},
    **{tuple(f"no {name} in {reply}" for name in OPEN): [f"no '{name}'" for name in OPEN] for reply in REPLIES},
    **{
        tuple(f"other {name} in {reply}" for name in ("conversation_id", "match_id", "sender", "player_id")): [
            "another 'conversation_id'",
            "another 'match_id'",
            "'sender' 'something-else' for 'player:P03'",
            "'player_id' 'something-else' for 'P03'",
        ]
        for reply in REPLIES
    },
}
"""Faults of an answer, and what the referee notes of them."""
UNNOTICED = (
    "no match_id in GAME_JOIN_ACK",
    "no player_id in CHOOSE_PARITY_RESPONSE",
    "no arrival_timestamp in GAME_JOIN_ACK",
    "no jsonrpc",
    "no id",
    "null id",
    "id as a string",
    "an error beside the result",
    "unknown method answered",
    "500 to the unknown",
    "refuses all notices",
    "crash on GAME_OVER",
    "breaks off on GAME_OVER",
    "HTML on GAME_OVER",
    "crash on technical loss",
    "changes its mind",
    "wants a role",
    "yesterday",
    "registers without version",
    "registers without sender",
)
"""Faults that cost nothing either, and leave no trace in the match files."""


@pytest.mark.parametrize("fault", HARMFUL)
async def test_what_loses_a_player_its_matches_or_its_place_fails_its_check(plan: PlanMaker, fault: str) -> None:
    season = await play_season(plan, fault, limit=1)
    assert season.is_harmed
    report = await checked(fault)
    assert not report.ok
    assert found(report, StepVerdict.FAIL)


@pytest.mark.parametrize("faults", [*NOTED, *((fault,) for fault in UNNOTICED)], ids=", ".join)
async def test_what_a_league_puts_up_with_is_a_warning_that_says_so(plan: PlanMaker, faults: tuple[str, ...]) -> None:
    season = await play_season(plan, *faults)
    assert not season.is_harmed
    assert season.tolerated >= set(NOTED.get(faults, ()))
    report = await checked(*faults)
    assert found(report, StepVerdict.FAIL) == {}
    assert report.ok
    warnings = found(report, StepVerdict.WARNING)
    assert warnings
    assert faults not in NOTED or all(TOLERATED_HINT in said for said in warnings.values())


async def test_a_good_player_is_well_in_both(plan: PlanMaker) -> None:
    season = await play_season(plan)
    assert not season.is_harmed
    assert season.tolerated == frozenset()
    assert found(await checked(), StepVerdict.WARNING) == {}


class ForgetfulV1Player(V1Player):
    """Answers without the conversation, and under no name."""

    name = "Forgetful V1"

    def handle_message(self, message: Message) -> Message:
        answer = super().handle_message(message)
        return {name: value for name, value in answer.items() if name not in ("conversation_id", "sender")}


class BorrowedV1Player(V1Player):
    """Answers in the protocol of others."""

    name = "Borrowed V1"

    def handle_message(self, message: Message) -> Message:
        answer = super().handle_message(message)
        return {**answer, "protocol": "league.v2"} if "protocol" in answer else answer


@pytest.mark.parametrize(("kind", "is_harmed"), [(ForgetfulV1Player, False), (BorrowedV1Player, True)])
async def test_both_agree_on_a_player_of_the_older_protocol(
    plan: PlanMaker, kind: type[V1Player], is_harmed: bool
) -> None:
    played, _ = await play_with_players(planned(plan, players=2, referees=1), kind)
    lost = [one for one in played.results.values() if one.outcome is Outcome.TECHNICAL_LOSS]
    assert bool(lost) is is_harmed
    report = await check_guest(kind, timeout=10)
    steps = {step.name: step.hint for step in report.outcomes if step.verdict is not StepVerdict.PASS}
    assert report.ok is not is_harmed
    expected = ["protocol"] if is_harmed else ["conversation_id", "sender"]
    for name in expected:
        assert (TOLERATED_HINT in steps[f"PLAY_RESPONSE: {name}"]) is not is_harmed
