"""What a simulated league left behind, parsed for the invariants: its messages, stored rows and log lines."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import orjson

from agent_league.agent.dialects import make_league_uuid
from agent_league.formats.base import Entrant, Format, TournamentRecord
from agent_league.league.stored_rows import result_from_row, schedule_from_rows
from agent_league.league.tournament import draw_number, make_format
from agent_league.model.agents import Role
from agent_league.storage.base import MatchRow, SavedSeason
from agent_league.storage.memory import MemoryStore
from agent_league.testing.network import NetworkCall
from agent_league.testing.simulated_world import LEAGUE_ID, SimulatedWorld

TOKEN_PATTERN = re.compile(rb'(?:tok-|eyJ)[\w.-]{16,}|(?<="application_key":")[^"]+')
"""Matches league tokens, signed tokens and applicants' keys."""


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """A request with one of its answers; None if there was none."""

    call: NetworkCall
    method: str
    params: dict[str, Any]
    answer: dict[str, Any] | None
    answered_at: float
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


class LeagueEvidence:
    """All that a finished simulation left behind."""

    def __init__(self, world: SimulatedWorld, complaints: str = "") -> None:
        self.world = world
        self.stderr_text = complaints
        """What agents wrote to stderr."""
        self.scenario = world.scenario
        self._parsed_bodies: dict[bytes, Any] = {}

    @cached_property
    def recorded_calls(self) -> list[RecordedCall]:
        found = []
        for call in self.world.network.calls:
            request = self._parse_body(call.frame)
            answers = [(self._parse_body(reply.body), reply.sent_at) for reply in call.replies if reply.body]
            for answer, at in answers or [(None, call.sent_at)]:
                found.append(RecordedCall(call, request.get("method", ""), request.get("params") or {}, answer, at))
        return found

    def calls_of(self, *methods: str) -> Iterator[RecordedCall]:
        return (said for said in self.recorded_calls if said.method in methods)

    @property
    def event_lines(self) -> list[str]:
        """The trace, formatted as one line per entry."""
        about = {
            said.call.number: f"{said.method} {said.params.get('match_id') or ''}".rstrip()
            for said in self.recorded_calls
        }
        refused = {said.call.number: said.refusal for said in self.recorded_calls}
        return [
            moment.format_line(
                about.get(moment.number, ""), refused.get(moment.number, "") if moment.event == "answer" else ""
            )
            for moment in self.world.trace.entries
        ]

    @cached_property
    def saved_league(self) -> SavedSeason | None:
        return MemoryStore(self.world.memory).read_season(LEAGUE_ID)

    @cached_property
    def all_match_rows(self) -> dict[str, MatchRow]:
        """By match id, with those that were played again."""
        return {row.match_id: row for row in self.saved_league.matches} if self.saved_league else {}

    @cached_property
    def match_rows(self) -> dict[str, MatchRow]:
        """By match id: those that count."""
        replaced = {row.replaces for row in self.all_match_rows.values()}
        return {match_id: row for match_id, row in self.all_match_rows.items() if match_id not in replaced}

    @property
    def is_corrected(self) -> bool:
        """Whether an organiser has corrected a result."""
        return bool(self.saved_league and self.saved_league.audit)

    @cached_property
    def chosen_format(self) -> Format:
        """The format of the league."""
        return make_format(self.world.league.scheduling)

    def rebuild_tournament(self, results_until: int | None = None) -> TournamentRecord:
        """Rebuild what the format knew after a round, from the stored rows; without a round, at the end."""
        saved = self.saved_league
        if saved is None:
            return TournamentRecord(())
        rows = self.match_rows.values()
        ended = [result for row in rows if (result := result_from_row(row))]
        set_aside = {result.match_id for result in ended if result.cause}
        rounds = [one.without_matches(set_aside) for one in schedule_from_rows(saved.matches, saved.rounds).rounds]
        played = [row for row in rows if results_until is None or row.round_id <= results_until]
        results = {row.match_id: result for row in played if (result := result_from_row(row))}
        seeded = saved.season.settings["scheduling"]["seeded_players"]
        entrants = [Entrant(player_id, seed) for seed, player_id in enumerate(seeded, start=1)]
        known = rounds if results_until is None else rounds[: results_until + 1]
        return TournamentRecord(entrants, known, results, lot=draw_number(self._find_lot(saved)))

    @cached_property
    def play_off_matches(self) -> frozenset[str]:
        """Ids of the matches of the play-off for first place."""
        rounds = self.rebuild_tournament().rounds
        return frozenset(one.match_id for round_ in rounds if round_.is_play_off for one in round_.pairings)

    def _find_lot(self, saved: SavedSeason) -> str:
        season = saved.season
        return make_league_uuid(season.league_id, f"{season.season_id}/{season.created_at}/{season.signing_key}")

    @cached_property
    def player_agents(self) -> dict[str, str]:
        """Player id -> name of the simulated agent."""
        return self._agents_by_id(Role.PLAYER)

    @cached_property
    def referee_agents(self) -> dict[str, str]:
        """Referee id -> name of the simulated agent."""
        return self._agents_by_id(Role.REFEREE)

    def _agents_by_id(self, role: Role) -> dict[str, str]:
        seats = {seat.endpoint: seat.name for seat in self.world.agents.values()}
        agents = self.saved_league.agents if self.saved_league else ()
        return {row.agent_id: seats[row.endpoint] for row in agents if row.role == role}

    @cached_property
    def log_lines(self) -> list[tuple[str, str]]:
        """All log lines, each with its agent's name."""
        return [
            (seat.name, line)
            for seat in self.world.agents.values()
            for path in sorted(seat.home.glob("logs/**/*.jsonl"))
            for line in path.read_text(encoding="utf-8").splitlines()
        ]

    @cached_property
    def sent_tokens(self) -> set[str]:
        """Every token or key that was ever sent."""
        found = {call.bearer for call in self.world.network.calls if call.bearer}
        for body in self._parsed_bodies:
            found.update(token.decode() for token in TOKEN_PATTERN.findall(body))
        return found

    def _parse_body(self, body: bytes) -> Any:
        """Parse a body, once for all equal ones."""
        if body not in self._parsed_bodies:
            self._parsed_bodies[body] = orjson.loads(body)
        return self._parsed_bodies[body]
