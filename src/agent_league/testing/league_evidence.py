"""Evidence: what a simulated league left behind, made readable: its messages, its rows, its log lines."""

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
"""League tokens, signed tokens, and the keys of applicants."""


@dataclass(frozen=True, slots=True)
class Said:
    """A request, and an answer that left for it; None where none did."""

    call: Call
    method: str
    params: dict[str, Any]
    answer: dict[str, Any] | None
    at: float
    """When the answer left."""

    @property
    def result(self) -> dict[str, Any]:
        result = self.answer.get("result") if self.answer else None
        return result if isinstance(result, dict) else {}

    @property
    def refusal(self) -> str:
        """What an error says."""
        error = (self.answer or {}).get("error") or self.result
        code = error.get("error_code") or error.get("code") or ""
        return f"{code} {error.get('message') or error.get('reason') or ''}".strip()

    @property
    def is_ok(self) -> bool:
        return self.result.get("status") == "ok"


class Evidence:
    """A run that is over."""

    def __init__(self, world: World, complaints: str = "") -> None:
        self.world = world
        self.complaints = complaints
        """What agents wrote to their terminals."""
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
        """What happened, a line each."""
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
        """Player id -> the name of its seat."""
        return self._seats(Role.PLAYER)

    @cached_property
    def referee_seats(self) -> dict[str, str]:
        """Referee id -> the name of its seat."""
        return self._seats(Role.REFEREE)

    def _seats(self, role: Role) -> dict[str, str]:
        seats = {seat.endpoint: seat.name for seat in self.world.seats.values()}
        agents = self.saved.agents if self.saved else ()
        return {row.agent_id: seats[row.endpoint] for row in agents if row.role == role}

    @cached_property
    def log(self) -> list[tuple[str, str]]:
        """All log lines: whose, and what."""
        return [
            (seat.name, line)
            for seat in self.world.seats.values()
            for path in sorted(seat.home.glob("logs/**/*.jsonl"))
            for line in path.read_text(encoding="utf-8").splitlines()
        ]

    @cached_property
    def tokens(self) -> set[str]:
        """Every secret that was ever sent."""
        found = {call.bearer for call in self.world.network.calls if call.bearer}
        for body in self._parsed:
            found.update(token.decode() for token in SECRET.findall(body))
        return found

    def _read(self, body: bytes) -> Any:
        """A broadcast is read once."""
        if body not in self._parsed:
            self._parsed[body] = orjson.loads(body)
        return self._parsed[body]
