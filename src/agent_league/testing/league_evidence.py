"""What a simulated league left behind, parsed for the invariants: its messages, stored rows and log lines."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import orjson

from agent_league.model.agents import Role
from agent_league.storage.base import MatchRow, Saved
from agent_league.storage.memory import MemoryStore
from agent_league.testing.network import Call
from agent_league.testing.simulated_world import LEAGUE_ID, World

SECRET = re.compile(rb'(?:tok-|eyJ)[\w.-]{16,}|(?<="application_key":")[^"]+')
"""Matches league tokens, signed tokens and applicants' keys."""


@dataclass(frozen=True, slots=True)
class Said:
    """A request with one of its answers; None if there was none."""

    call: Call
    method: str
    params: dict[str, Any]
    answer: dict[str, Any] | None
    at: float
    """When the answer was sent."""

    @property
    def result(self) -> dict[str, Any]:
        result = self.answer.get("result") if self.answer else None
        return result if isinstance(result, dict) else {}

    @property
    def refusal(self) -> str:
        """Code and message of an error; empty if there is none."""
        error = (self.answer or {}).get("error") or self.result
        code = error.get("error_code") or error.get("code") or ""
        return f"{code} {error.get('message') or error.get('reason') or ''}".strip()

    @property
    def is_ok(self) -> bool:
        return self.result.get("status") == "ok"


class Evidence:
    """All that a finished simulation left behind."""

    def __init__(self, world: World, complaints: str = "") -> None:
        self.world = world
        self.complaints = complaints
        """What agents wrote to stderr."""
        self.scenario = world.scenario
        self._parsed: dict[bytes, Any] = {}

    @cached_property
    def said(self) -> list[Said]:
        found = []
        for call in self.world.network.calls:
            request = self._read(call.frame)
            answers = [(self._read(reply.body), reply.at) for reply in call.replies if reply.body]
            for answer, at in answers or [(None, call.at)]:
                found.append(Said(call, request.get("method", ""), request.get("params") or {}, answer, at))
        return found

    def of(self, *methods: str) -> Iterator[Said]:
        return (said for said in self.said if said.method in methods)

    @property
    def events(self) -> list[str]:
        """The trace, formatted as one line per entry."""
        about = {said.call.number: f"{said.method} {said.params.get('match_id') or ''}".rstrip() for said in self.said}
        refused = {said.call.number: said.refusal for said in self.said}
        return [
            moment.line(about.get(moment.number, ""), refused.get(moment.number, "") if moment.what == "answer" else "")
            for moment in self.world.trace.moments
        ]

    @cached_property
    def saved(self) -> Saved | None:
        return MemoryStore(self.world.memory).read(LEAGUE_ID)

    @cached_property
    def matches(self) -> dict[str, MatchRow]:
        return {row.match_id: row for row in self.saved.matches} if self.saved else {}

    @cached_property
    def player_seats(self) -> dict[str, str]:
        """Player id -> name of the simulated agent."""
        return self._seats(Role.PLAYER)

    @cached_property
    def referee_seats(self) -> dict[str, str]:
        """Referee id -> name of the simulated agent."""
        return self._seats(Role.REFEREE)

    def _seats(self, role: Role) -> dict[str, str]:
        seats = {seat.endpoint: seat.name for seat in self.world.seats.values()}
        agents = self.saved.agents if self.saved else ()
        return {row.agent_id: seats[row.endpoint] for row in agents if row.role == role}

    @cached_property
    def log(self) -> list[tuple[str, str]]:
        """All log lines, each with its agent's name."""
        return [
            (seat.name, line)
            for seat in self.world.seats.values()
            for path in sorted(seat.home.glob("logs/**/*.jsonl"))
            for line in path.read_text(encoding="utf-8").splitlines()
        ]

    @cached_property
    def tokens(self) -> set[str]:
        """Every token or key that was ever sent."""
        found = {call.bearer for call in self.world.network.calls if call.bearer}
        for body in self._parsed:
            found.update(token.decode() for token in SECRET.findall(body))
        return found

    def _read(self, body: bytes) -> Any:
        """Parse a body, once for all equal ones."""
        if body not in self._parsed:
            self._parsed[body] = orjson.loads(body)
        return self._parsed[body]
