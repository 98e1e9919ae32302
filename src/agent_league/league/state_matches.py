"""The matches of a league: to whom they are assigned, their results, and those that are corrected or played again.

Who referees which match is decided by `assignment.py`, what an organiser may correct by `corrections.py`.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from agent_league.errors import ErrorCode, Refusal
from agent_league.league.state_record import LeagueSetup
from agent_league.league.state_times import LeagueTiming
from agent_league.league.stored_rows import match_to_row
from agent_league.model.events import MatchAssigned, MatchFinished, MatchReplaced
from agent_league.model.results import (
    FAULT_KEY,
    UNREPORTED_KEY,
    MatchResult,
    Outcome,
    ReplacedMatch,
    ResultDetails,
    Termination,
)
from agent_league.model.schedule import Pairing, Schedule, make_rerun_id
from agent_league.text import quote, shorten


class LeagueMatches(LeagueTiming):
    """The matches of a league, from their assignment to their result."""

    def __init__(self, setup: LeagueSetup) -> None:
        super().__init__(setup)
        self.replaced_matches: dict[str, ReplacedMatch] = {}
        """By match id: those that were played again under another id."""
        self.poll_counts: Counter[str] = Counter()
        """How often each referee has asked for its matches. Not saved: a polling referee asks again after a restart."""
        self._fetchable_matches: dict[str, str] = {}
        """Match id -> id of the referee that may fetch it by polling."""

    def has_match(self, match_id: str) -> bool:
        """Whether there is a match of this id, be it one that was played again under another."""
        return match_id in self._pairings or match_id in self.replaced_matches

    def get_pairing(self, match_id: str) -> Pairing:
        """Return a match of the schedule, or one that was replaced; raises a Refusal."""
        found = self._pairings.get(match_id)
        if found is None and match_id in self.replaced_matches:
            return self.replaced_matches[match_id].pairing
        if found is None:
            raise Refusal(
                ErrorCode.MATCH_NOT_FOUND,
                f"no match {quote(match_id)} in this league",
                match_id=shorten(match_id),
            )
        return found

    def assign_match(self, match_id: str, referee_id: str) -> None:
        self.assigned_referees[match_id] = referee_id
        self._save_row(match_to_row(self._pairings[match_id], referee_id, None))
        self.emit(MatchAssigned(match_id, referee_id))

    def unassign_match(self, match_id: str) -> None:
        """Undo an assignment that the referee has not been told of."""
        if match_id not in self.results:
            del self.assigned_referees[match_id]
            self._save_row(match_to_row(self._pairings[match_id], None, None))
            self.emit(MatchAssigned(match_id, None))

    def make_fetchable(self, match_id: str, referee_id: str) -> None:
        """Let a referee that has no start_match method fetch its match by polling."""
        self._fetchable_matches[match_id] = referee_id

    def list_fetchable_matches(self, referee_id: str) -> list[Pairing]:
        """List the matches that a referee may fetch by polling; none while the league is on hold."""
        if self.is_on_hold:
            return []
        return [
            self._pairings[match_id]
            for match_id, waits_for in self._fetchable_matches.items()
            if waits_for == self.assigned_referees.get(match_id) == referee_id and match_id not in self.results
        ]

    def count_running_matches(self) -> Counter[str]:
        """Count the assigned matches without a result, by referee id."""
        return Counter(referee for match_id, referee in self.assigned_referees.items() if match_id not in self.results)

    def record_result(self, result: MatchResult, referee_id: str) -> bool:
        """Record a result from the referee the match is assigned to; returns False if it was known already.

        A player that the organiser has barred by now loses, whatever the report says. Raises a Refusal for a report
        from another referee, for one that contradicts the recorded result and for one that comes too late.
        """
        if replaced := self.replaced_matches.get(result.match_id):
            if replaced.referee_id == referee_id and replaced.result.has_same_outcome(result):
                return False
            raise Refusal(
                ErrorCode.INVALID_MESSAGE_FORMAT,
                f"match {result.match_id} is played again as {replaced.replaced_by}",
                match_id=result.match_id,
                replaced_by=replaced.replaced_by,
            )
        if self.assigned_referees.get(result.match_id) != referee_id:
            raise Refusal(
                ErrorCode.MATCH_NOT_FOUND,
                f"match {result.match_id} was not given to {referee_id}",
                match_id=result.match_id,
            )
        known = self.results.get(result.match_id)
        if known is not None and not self._can_replace_result(known):
            if known.is_unreported:
                raise Refusal(
                    ErrorCode.INVALID_MESSAGE_FORMAT,
                    f"match {result.match_id} is void, as its report came after the end of its round",
                    match_id=result.match_id,
                    void=True,
                )
            if known.has_same_outcome(result):
                return False
            raise Refusal(
                ErrorCode.INVALID_MESSAGE_FORMAT,
                f"match {result.match_id} is finished with another result, which stands",
                match_id=result.match_id,
                recorded_winner=known.winner,
                **({"void": True} if known.is_void else {}),
            )
        self._finish_match(result, referee_id)
        return True

    def record_void_match(self, match_id: str, referee_id: str, why: str, refusals: Sequence[str] = ()) -> None:
        """End a match as void because its referee is alive but never reports it.

        The referee may still report it until the round is completed.
        """
        if match_id in self.results:
            return
        pairing = self._pairings[match_id]
        details: dict[str, Any] = {FAULT_KEY: why, UNREPORTED_KEY: referee_id}
        if refusals:
            details["refusals"] = list(refusals)
        result = MatchResult(
            match_id=match_id,
            round_id=pairing.round_id,
            players=pairing.players,
            outcome=Outcome.TECHNICAL_LOSS,
            winner=None,
            details=ResultDetails.from_mapping(details),
            terminations=dict.fromkeys(pairing.players, Termination.VOID),
        )
        self._finish_match(result, referee_id)

    def _can_replace_result(self, known: MatchResult) -> bool:
        """Whether a void result of an unreported match may still be replaced by a report."""
        return known.is_unreported and known.round_id > self.rounds_completed

    def _finish_match(self, result: MatchResult, referee_id: str) -> None:
        members = [self.roster[player_id] for player_id in result.players]
        barred = {
            one.agent_id: Termination.WITHDRAWN if one.is_withdrawn else Termination.SUSPENDED
            for one in members
            if one.is_barred
        }
        for changed in self._add_result(result.overrule_for_barred(barred), referee_id):
            self.emit(MatchFinished(changed))

    def _add_result(self, result: MatchResult, referee_id: str) -> list[MatchResult]:
        """Store the result of a match; returns the results that are new with it."""
        self.results[result.match_id] = result
        if self.ladder:
            self.ladder.add_result(result, self.scoring)
        self._add_to_tables(result)
        self._save_row(match_to_row(self._pairings[result.match_id], referee_id, result))
        return [result]

    def correct_result(self, result: MatchResult) -> None:
        """Make this the result of its match, whatever it was before, and compute the tables anew."""
        for changed in self._exchange_result(result):
            self.emit(MatchFinished(changed))

    def _exchange_result(self, result: MatchResult) -> list[MatchResult]:
        """Store another result of a match; returns the results that are new with it."""
        if self.ladder:
            self.ladder.replace_result(self.results.get(result.match_id), result, self.scoring)
        self.results[result.match_id] = result
        referee_id = self.assigned_referees.get(result.match_id)
        self._save_row(match_to_row(self._pairings[result.match_id], referee_id, result))
        self._rebuild_tables()
        return [result]

    def replace_match(self, match_id: str) -> Pairing:
        """Have a finished match played again, under a new id; the first one and its result stay in the record."""
        old = self._pairings[match_id]
        new = replace(old, match_id=make_rerun_id(match_id, old.replaces), replaces=match_id)
        if self.ladder:
            reason = self.ladder.replace_match(self.results[match_id], new.match_id, self.scoring)
            new = replace(new, reason=reason)
        self.replaced_matches[match_id] = ReplacedMatch(
            old, self.assigned_referees.pop(match_id, None), self.results.pop(match_id), new.match_id
        )
        rounds = list(self.schedule.rounds)
        round_ = rounds[old.round_id - 1]
        pairings = tuple(new if pairing is old else pairing for pairing in round_.pairings)
        rounds[old.round_id - 1] = replace(round_, pairings=pairings)
        self._set_schedule(Schedule(tuple(rounds)))
        self._save_row(match_to_row(new, None, None))
        self._rebuild_tables()
        self.emit(MatchReplaced(match_id, new))
        return new
