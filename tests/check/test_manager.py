"""The check of a manager: faults of others are found at their steps and named; ours passes every step (test_check)."""

from typing import Any

import pytest

from agent_league.check import manager_league
from agent_league.check.manager import build_manager_steps
from agent_league.check.manager_subject import LEAGUE_USED_UP, RESTART_MANAGER
from agent_league.check.steps import TOLERATED_HINT, CheckReport, StepVerdict
from agent_league.model.agents import Role
from tests.check.judging import check_port, found
from tests.conftest import free_ports
from tests.foreign.managers import PostManager, RoundsManager, ToolManager, TypeManager
from tests.foreign.stage import started
from tests.foreign.web import Message


async def checked(kind: Any, players: int = 4) -> CheckReport:
    port = free_ports(2)
    async with started(kind(port, players)):
        return await check_port(port, port + 1, role=Role.LEAGUE_MANAGER, timeout=5)


def problem(message: Message) -> str | None:
    """What is wrong with a registration, as an error code."""
    meta = message.get("player_meta")
    if message.get("protocol") != "league.v2":
        return "E018"
    if not isinstance(meta, dict) or "display_name" not in meta:
        return "E003"
    if not isinstance(meta["display_name"], str):
        return "E002"
    return None if message["timestamp"].endswith("Z") else "E021"


class Sober(RoundsManager):
    """Looks at what it is told, and refuses what is wrong."""

    def register_player(self, message: Message) -> Message:
        code = problem(message)
        return self.message("LEAGUE_ERROR", error_code=code) if code else super().register_player(message)

    def admit(self, message: Message, *place: Any) -> Message:
        """A good application: somebody who comes back, somebody who is rejected, or somebody new."""
        agents, meta, id_field = place[0], message[place[1]], place[3]
        known = next((name for name, agent in agents.items() if agent["display_name"] == meta["display_name"]), None)
        answer = {"conversation_id": message["conversation_id"], "league_id": "league_2025_even_odd", "reason": None}
        if known and agents[known]["contact_endpoint"] == meta["contact_endpoint"]:
            return {**answer, "status": "ACCEPTED", id_field: known, "auth_token": agents[known]["auth_token"]}
        if reason := self.objection(meta, taken=known is not None):
            return {**answer, "status": "REJECTED", "reason": reason}
        return super().admit(message, *place)

    def begin(self, matches: list[Message]) -> None:
        super().begin(matches)
        for match in matches:
            self.tell(match["referee_endpoint"], "start_match", self.message("START_MATCH", **match))

    def objection(self, meta: Message, *, taken: bool) -> str | None:
        if "even_odd" not in meta["game_types"]:
            return "Unsupported game type"
        if not meta["contact_endpoint"].startswith("http"):
            return "Invalid MCP endpoint"
        return "Duplicate display name" if taken else None

    def league_query(self, message: Message) -> Message:
        player = self.players.get(message["sender"].partition(":")[2], {})
        if not message.get("auth_token"):
            return self.message("LEAGUE_ERROR", error_code="E011")
        if message["auth_token"] != player.get("auth_token"):
            return self.message("LEAGUE_ERROR", error_code="E012")
        more = {"query_type": message["query_type"], "success": True}
        return self.message(
            "LEAGUE_QUERY_RESPONSE", conversation_id=message["conversation_id"], data=self.table(), **more
        )

    def report_match_result(self, message: Message) -> Message:
        result = message["result"]
        if result["winner"] is not None and result["winner"] not in self.players:
            return self.message("LEAGUE_ERROR", error_code="E002")
        known = self.reports.get(message["match_id"])
        if known is not None and known["winner"] != result["winner"]:
            return self.message("LEAGUE_ERROR", error_code="E002")
        return super().report_match_result(message)


class Gullible(Sober):
    """Answers whoever asks, with whatever token."""

    def league_query(self, message: Message) -> Message:
        player = self.players[message["sender"].partition(":")[2]]
        return super().league_query({**message, "auth_token": player["auth_token"]})


class Generous(Sober):
    """Two points for a win."""

    def count(self, result: Message) -> None:
        super().count({**result, "score": {player: min(2, points) for player, points in result["score"].items()}})


class Fickle(Sober):
    """The latest result stands."""

    def report_match_result(self, message: Message) -> Message:
        self.reports.pop(message["match_id"], None)
        return super().report_match_result(message)


class Absent(Sober):
    """Loses the conversation, and writes local time."""

    def message(self, message_type: str, **fields: Any) -> Message:
        lost = {"conversation_id": "conv-mine", "timestamp": "2025-01-15T10:30:00+02:00"}
        return super().message(message_type, **{**fields, **lost})


class Nameless(Sober):
    """Says in no message who it is, nor in which protocol."""

    def message(self, message_type: str, **fields: Any) -> Message:
        message = super().message(message_type, **fields)
        return {name: value for name, value in message.items() if name not in ("sender", "protocol")}


class Quiet(Sober):
    """Publishes no standings."""

    def tell_all(self, method: str, message: Message) -> None:
        if method != "update_standings":
            super().tell_all(method, message)


PLANTED: dict[type[Sober], dict[str, str]] = {
    Sober: {},
    Gullible: {
        "a question without a token is refused with E011": "E011",
        "a wrong token is refused with E012": "'auth_token'",
        "the token of another player is refused with E012": "'auth_token'",
    },
    Generous: {
        "the standings are right after each round": "3, 1 and 0 points",
        "LEAGUE_COMPLETED: champion": "points",
        "LEAGUE_COMPLETED: final_standings": "points",
    },
    Fickle: {
        "another result for the same match is refused": "The first result stands",
        "the standings are right after each round": "expected",
        "LEAGUE_COMPLETED: champion": "points",
        "LEAGUE_COMPLETED: final_standings": "points",
    },
    Absent: {f"{kind}: timestamp": "E021" for kind in ("ROUND_ANNOUNCEMENT", "START_MATCH", "LEAGUE_COMPLETED")},
    Nameless: {},
    Quiet: {"LEAGUE_STANDINGS_UPDATE reaches all players": "`update_standings`"},
}


def test_a_manager_is_judged_in_at_least_25_steps_with_names_of_their_own() -> None:
    names = [step.name for step in build_manager_steps()]
    assert len(names) >= 25
    assert len(set(names)) == len(names)


ANSWERS = ("REFEREE_REGISTER_RESPONSE", "LEAGUE_REGISTER_RESPONSE", "LEAGUE_QUERY_RESPONSE")
TOLERATED_FAULTS: dict[type[Sober], dict[str, str]] = {
    Absent: {f"{kind}: {name}": f"'{name}' is" for kind in ANSWERS for name in ("timestamp", "conversation_id")},
    Nameless: {
        f"{kind}: {name}": f"'{name}' is missing"
        for kind in (*ANSWERS, "ROUND_ANNOUNCEMENT", "START_MATCH", "LEAGUE_COMPLETED")
        for name in ("sender", "protocol")
    },
}
"""What players and referees of ours read all the same."""


@pytest.mark.parametrize("kind", PLANTED, ids=lambda kind: kind.__name__)
async def test_a_planted_fault_is_found_at_its_step_and_named(kind: type[Sober]) -> None:
    report = await checked(kind)
    failures, warnings = found(report), found(report, StepVerdict.WARNING)
    assert set(failures) == set(PLANTED[kind])
    assert all(word in failures[name] for name, word in PLANTED[kind].items()), failures
    for name, word in TOLERATED_FAULTS.get(kind, {}).items():
        assert word in warnings[name], warnings[name]
        assert TOLERATED_HINT in warnings[name]
    assert report.remarks == (LEAGUE_USED_UP,)


async def test_a_league_that_does_not_start_is_skipped_and_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manager_league, "START_SECONDS", 0.02)
    report = await checked(Sober, players=100)
    skipped = found(report, StepVerdict.SKIPPED)
    assert "--admin-token-file" in skipped["the league starts"]
    assert "the league did not start" in skipped["START_MATCH reaches a referee"]
    assert found(report) == {}
    assert "no league was played" in report.unjudged
    assert report.exit_code == 1
    assert report.remarks == (RESTART_MANAGER,)


async def test_where_nothing_was_registered_nothing_is_used_up() -> None:
    port = free_ports(2)
    assert (await check_port(port, port + 1, role=Role.LEAGUE_MANAGER)).remarks == ()


SPOKEN = {
    TypeManager: "message type as the method",
    PostManager: "POST /register with the bare message",
    ToolManager: "tools/call with the method's name",
}


@pytest.mark.parametrize("kind", SPOKEN, ids=lambda kind: kind.__name__)
async def test_the_dialect_of_a_manager_is_named_and_its_league_played_to_the_end(
    kind: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manager_league, "START_MATCH_SECONDS", 0.5)
    report = await checked(kind)
    assert SPOKEN[kind] in report.dialect
    assert "the league is played to its end" in found(report, StepVerdict.PASS)
