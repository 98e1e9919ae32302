"""The check of a referee: ours passes every step, and the faults of others are found at their steps and named."""

from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import pytest

from agent_league.check.referee import build_referee_steps
from agent_league.check.steps import TOLERATED_HINT, CheckReport, StepVerdict
from agent_league.model.agents import Role
from tests.check.judging import check_guest, found
from tests.foreign import referees
from tests.foreign.referees import AnnouncedReferee
from tests.foreign.sample_referee import SampleReferee
from tests.foreign.web import Answer, Message


async def checked(kind: Any, *, registers: bool = True) -> CheckReport:
    limits = {"timeout": 10, "match_seconds": 8, "silent_match_seconds": 0.2}
    return await check_guest(kind, role=Role.REFEREE, registers=registers, **limits)


class Sober(SampleReferee):
    """The sample with a thread for each match, so that one that hangs doesn't stop the next."""

    threaded = True

    def start_match(self, params: Message) -> Message:
        self.later(self.see_through, params)
        return {"status": "ok"}

    def see_through(self, match: Message) -> None:
        try:
            self.report(self.play(match))
        except (KeyError, OSError) as error:
            self.faults.append(repr(error))


class Assigned(Sober):
    """Is started by another method."""

    start_method = "assign_match"


class Cheat(Sober):
    """Reports another winner than it told the players."""

    def report(self, report: Message) -> None:
        a, b = report["result"]["score"]
        winner = {a: b, b: a}.get(report["result"]["winner"], a)
        super().report({**report, "result": {**report["result"], "winner": winner, "score": {a: 7, b: 7}}})


class LyingCheat(Cheat):
    """The same, with details that say so too."""

    def report(self, report: Message) -> None:
        result = report["result"]
        super().report({**report, "result": {**result, "details": {}}})


class Senderless(Sober):
    """Says nowhere who it is."""

    def message(self, message_type: str, match: Message, **fields: Any) -> Message:
        message = super().message(message_type, match, **fields)
        if message_type in ("GAME_INVITATION", "GAME_OVER"):
            del message["sender"]
        return message


class Tokenless(Sober):
    """Reports without its own token, in local time."""

    def report(self, report: Message) -> None:
        bare = {name: value for name, value in report.items() if name != "auth_token"}
        super().report({**bare, "timestamp": "2025-01-15T10:30:00+02:00"})


class Confused(Sober):
    """Tells both players that they are PLAYER_A, and no opponent."""

    def message(self, message_type: str, match: Message, **fields: Any) -> Message:
        if message_type == "GAME_INVITATION":
            fields = {"role_in_match": "PLAYER_A"}
        return super().message(message_type, match, **fields)


class Monotone(Sober):
    """Always draws eleven."""

    def message(self, message_type: str, match: Message, **fields: Any) -> Message:
        if "game_result" in fields:
            fields["game_result"] = {**fields["game_result"], "drawn_number": 11}
        return super().message(message_type, match, **fields)


class Forgetful(Sober):
    """Tells only player A the result."""

    def call(self, endpoint: str, method: str, message: Message) -> Message:
        if method == "notify_match_result" and message["match_id"].endswith("M1") and self.told_one:
            return {}
        self.told_one = method == "notify_match_result"
        return super().call(endpoint, method, message)

    told_one = False


@dataclass(frozen=True, slots=True)
class Expected:
    """The steps at which a fault is found, each with a word of what is said there."""

    failures: dict[str, str] = field(default_factory=dict)
    tolerated: dict[str, str] = field(default_factory=dict)
    """What costs nothing in a league of ours."""


PLANTED: dict[type[SampleReferee], Expected] = {
    LyingCheat: Expected(
        {
            "MATCH_RESULT_REPORT: result.winner": "A league refuses it: it is booked as",
            "MATCH_RESULT_REPORT: result.score": "result.score",
        }
    ),
    Tokenless: Expected({"MATCH_RESULT_REPORT: auth_token": "'auth_token'", "MATCH_RESULT_REPORT: timestamp": "E021"}),
    Monotone: Expected(
        {"GAME_OVER: game_result.drawn_number": "from 1 to 10", "the draw varies, from 1 to 10": "11, 11"}
    ),
    Forgetful: Expected({"GAME_OVER reaches both players": "P02 heard none"}),
    Senderless: Expected(
        {"GAME_INVITATION: sender": "A league refuses it: missing in the envelope: sender"},
        {"GAME_OVER: sender": "'sender' is missing"},
    ),
    Cheat: Expected(
        tolerated={
            "MATCH_RESULT_REPORT: result.winner": "Report the same winner",
            "MATCH_RESULT_REPORT: result.score": "result.score",
        }
    ),
    Confused: Expected(
        tolerated={
            "GAME_INVITATION: role_in_match of the other player": "PLAYER_B",
            "GAME_INVITATION: opponent_id": "'opponent_id' is missing",
        }
    ),
}
WEAKNESSES = {
    "a player that declines loses technically": "TECHNICAL_LOSS",
    "a choice in the wrong case is told with E004 and asked again": "E004",
    "a player that answers rubbish loses technically": "TECHNICAL_LOSS",
    "an order that comes twice is played once": "match_id",
    "a player that stays silent loses technically": "No match may hang for ever",
}
"""What the sample of seed 000 leaves out: where a player fails, its matches end wrongly or never."""


def test_a_referee_is_judged_in_at_least_25_steps_with_names_of_their_own() -> None:
    names = [step.name for step in build_referee_steps()]
    assert len(names) >= 25
    assert len(set(names)) == len(names)


async def test_what_the_sample_of_the_seeds_leaves_out_is_found_and_named() -> None:
    report = await checked(Sober)
    failures, silence = found(report), {"a player that stays silent loses technically"}
    assert set(failures) | silence == set(WEAKNESSES)
    assert all(WEAKNESSES[name] in said for name, said in failures.items()), failures
    tolerated = {
        "an order from a player is refused": "league_manager",
        "an order with a missing field is refused": "E003",
    }
    assert_found(found(report, StepVerdict.WARNING), tolerated, TOLERATED_HINT)


def assert_found(steps: dict[str, str], expected: dict[str, str], also: str = "") -> None:
    assert set(expected) <= set(steps)
    for name, word in expected.items():
        assert word in steps[name], steps[name]
        assert also in steps[name], steps[name]


@pytest.mark.parametrize("kind", PLANTED, ids=lambda kind: kind.__name__)
async def test_a_planted_fault_is_found_at_its_step_and_named(kind: type[SampleReferee]) -> None:
    report, expected = await checked(kind), PLANTED[kind]
    assert_found(found(report), expected.failures)
    assert_found(found(report, StepVerdict.WARNING), expected.tolerated, TOLERATED_HINT)


PLAY_IN_LEAGUES = (
    *(referees.MistakenReferee, referees.UndecidedReferee, referees.UndecidedRunningReferee),
    *(referees.RunningReferee, referees.OwnNameReferee, referees.TypeReferee, referees.BareReferee),
    *(referees.ReportingReferee, referees.PollingReferee),
)


@pytest.mark.parametrize("kind", PLAY_IN_LEAGUES, ids=lambda kind: kind.__name__)
async def test_a_referee_that_leagues_are_played_with_fails_only_where_players_fail_or_orders_are_repeated(
    kind: type[SampleReferee],
) -> None:
    report = await check_guest(kind, role=Role.REFEREE, timeout=10, match_seconds=8, silent_match_seconds=0.2)
    assert set(found(report)) <= set(WEAKNESSES)


class Closed(Sober):
    """Knows `run_match` and nothing else: 404."""

    start_method = "run_match"

    def answer(self, path: str, body: Any) -> Answer:
        return super().answer(path, body) if body.get("method") == self.start_method else (404, {})


class Announced(AnnouncedReferee):
    """Gives a match up whose players have left: the check is over."""

    def play_round(self, announcement: Message) -> None:
        with suppress(OSError):
            super().play_round(announcement)


class AnnouncedById(Announced, referees.AnnouncedIdReferee):
    """As above, by its id."""


STARTED: dict[Any, str] = {
    Assigned: "other short names",
    Closed: "names that say what is received, or run",
    Announced: "started by ROUND_ANNOUNCEMENT",
    AnnouncedById: "started by ROUND_ANNOUNCEMENT",
    referees.AssignmentReferee: "MATCH_ASSIGNMENT",
    referees.PathReferee: "/run_match",
    referees.PollingReferee: "matches fetched by get_assigned_matches",
}


@pytest.mark.parametrize("kind", STARTED, ids=lambda kind: kind.__name__)
async def test_a_referee_that_is_started_otherwise_is_judged_all_the_same(kind: Any) -> None:
    report = await check_guest(kind, role=Role.REFEREE, timeout=30, match_seconds=30, silent_match_seconds=0.2)
    assert STARTED[kind] in report.dialect
    assert "start_match is acknowledged" in found(report, StepVerdict.WARNING)
    assert "GAME_OVER: game_result.winner_player_id" in found(report, StepVerdict.PASS)


class ForgetfulPoller(referees.PollingReferee):
    """Asks for its matches with a token that it was never given."""

    def accepted(self, answer: Message) -> None:
        super().accepted({**answer, "auth_token": "tok-ref01-made-up"})

    def poll(self) -> None:
        self.polled.set()
        super().poll()


async def test_a_referee_that_polls_with_a_wrong_token_is_told_why_it_has_no_match() -> None:
    report = await checked(ForgetfulPoller)
    assert "get_assigned_matches` and was refused: E012" in found(report)["start_match is acknowledged"]


class Inside(SampleReferee):
    """Says the result in its answer to the order."""

    def start_match(self, params: Message) -> Message:
        return self.play(params)


class Renamed(Sober):
    """Reports by another method."""

    report_method = "match_result_report"


REPORTS: dict[Any, str] = {Inside: "inside the reply", Renamed: "by match_result_report"}


@pytest.mark.parametrize("kind", REPORTS, ids=lambda kind: kind.__name__)
async def test_a_report_that_comes_otherwise_is_a_warning(kind: Any) -> None:
    report = await checked(kind)
    assert REPORTS[kind] in found(report, StepVerdict.WARNING)["MATCH_RESULT_REPORT reaches the manager"]
    assert "MATCH_RESULT_REPORT: result.winner" in found(report, StepVerdict.PASS)


async def test_without_a_registration_everything_that_needs_a_manager_is_skipped() -> None:
    report = await checked(Sober, registers=False)
    assert found(report) == {}
    skipped = found(report, StepVerdict.SKIPPED)
    assert "has not registered with the checker" in skipped["start_match is acknowledged"]
    assert "no match was played" in report.unjudged
    assert report.exit_code == 1
