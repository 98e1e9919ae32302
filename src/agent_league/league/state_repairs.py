"""What a corrected result changes in the rounds that were paired from it: matches that are set aside, or paired anew.

The format says which matches stand. One that has begun and doesn't is void and stays in the record; a round that hasn't
begun is paired anew. What a correction may set aside without the organiser's consent is decided by `corrections.py`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from agent_league.formats.base import RepairableFormat, TournamentRecord
from agent_league.league.state_matches import LeagueMatches
from agent_league.league.stored_rows import match_to_row, round_to_row
from agent_league.model.audit import AuditEntry, OrganiserAction
from agent_league.model.results import CORRECTED_KEY, FOLLOWS_KEY, MatchResult
from agent_league.model.schedule import LeagueRound, Pairing, Schedule
from agent_league.storage.base import MatchRow, RemovedRow


@dataclass(frozen=True, slots=True)
class RoundRepair:
    """What another result of a match does to the rounds after it."""

    rounds: Sequence[LeagueRound] = ()
    """All rounds of the tournament as they stand then; empty if they all stand as they are."""
    fallen: Sequence[Pairing] = ()
    """The matches that don't stand."""


class LeagueRepairs(LeagueMatches):
    """Keeps the rounds of a league in line with results that change."""

    def find_repair(self, match_id: str, result: MatchResult) -> RoundRepair:
        """Find out what another result of a match would do to the rounds that were paired later."""
        pairing = self._pairings[match_id]
        format_ = self.format
        if not isinstance(format_, RepairableFormat) or not self._has_repairable_rounds(pairing.round_id):
            return RoundRepair()
        before = self._whole_tournament
        after = replace(before, results={**before.results, match_id: result})
        rounds = _find_standing_rounds(format_, before, after)
        kept = {pairing.match_id for round_ in rounds for pairing in round_.pairings}
        fallen = [one for round_ in before.rounds for one in round_.pairings if one.match_id not in kept]
        return RoundRepair(rounds, fallen) if fallen else RoundRepair()

    def list_begun(self, pairings: Sequence[Pairing]) -> list[Pairing]:
        """Those of the matches whose round has begun."""
        return [one for one in pairings if self._is_round_begun(self.schedule.rounds[one.round_id - 1])]

    def list_corrections(self, match_id: str) -> list[AuditEntry]:
        """The audit entries about a match; if it was set aside, those of the match whose correction did it."""
        targets = {match_id}
        if match_id in self.set_aside:
            cause = self.results[match_id].cause
            targets |= {cause, self.get_pairing(cause).replaces}
        return [entry for entry in self.audit_log if entry.target and entry.target in targets]

    def _exchange_result(self, result: MatchResult) -> list[MatchResult]:
        repair = self.find_repair(result.match_id, result)
        correction = result.details.get(CORRECTED_KEY) or {}
        changed = super()._exchange_result(result)
        return [*changed, *self._apply_repair(repair, result.match_id, str(correction.get("reason", "")))]

    def replace_match(self, match_id: str) -> Pairing:
        """Have a finished match played again, under a new id; a round that hasn't begun and depends on it waits."""
        known = self.results[match_id]
        fallen = [one for result in list_possible_results(known) for one in self.find_repair(match_id, result).fallen]
        new = super().replace_match(match_id)
        if len(self.list_begun(fallen)) < len(fallen):
            self._unpair_rounds(new.round_id)
        return new

    def _add_result(self, result: MatchResult, referee_id: str) -> list[MatchResult]:
        replaces = self._pairings[result.match_id].replaces
        repair = self.find_repair(result.match_id, result) if replaces else RoundRepair()
        changed = super()._add_result(result, referee_id)
        return [*changed, *self._apply_repair(repair, result.match_id, self._find_rerun_reason(replaces))]

    def _has_repairable_rounds(self, round_id: int) -> bool:
        """Whether rounds were paired after this one that depend on its results."""
        rounds = self.schedule.rounds
        is_play_off = rounds[round_id - 1].is_play_off
        return isinstance(self.format, RepairableFormat) and not is_play_off and round_id < len(rounds)

    def _apply_repair(self, repair: RoundRepair, cause: str, reason: str) -> list[MatchResult]:
        """Set aside what doesn't stand; returns the results that are new with it."""
        if not repair.fallen:
            return []
        begun = self.list_begun(repair.fallen)
        rounds = list(self.schedule.rounds)
        for index, now in enumerate(repair.rounds):
            if (now.byes, now.absent) != (rounds[index].byes, rounds[index].absent):
                rounds[index] = replace(rounds[index], byes=now.byes, absent=now.absent)
                self._save_row(round_to_row(rounds[index]))
        self._set_schedule(Schedule(tuple(rounds)))
        void = [self._set_aside(pairing, cause, reason) for pairing in begun]
        if len(begun) < len(repair.fallen):
            self._unpair_rounds(self._pairings[cause].round_id)
        self._rebuild_tables()
        self.pair_further_rounds()
        return void

    def _set_aside(self, pairing: Pairing, cause: str, reason: str) -> MatchResult:
        """Make a match void whose players should not have met."""
        match_id, referee_id = pairing.match_id, self.assigned_referees.get(pairing.match_id)
        known = self.results.get(match_id) or MatchResult.make_unplayed(pairing, referee_id)
        correction = {"action": str(OrganiserAction.VOID_MATCH), "reason": reason, FOLLOWS_KEY: cause}
        result = self.results[match_id] = known.make_void(correction)
        self.set_aside.add(match_id)
        self._save_row(match_to_row(self._pairings[match_id], referee_id, result))
        return result

    def _unpair_rounds(self, after: int) -> None:
        """Forget the rounds after one that haven't begun; they are paired anew."""
        rounds = self.schedule.rounds
        kept = [one for one in rounds if one.round_id <= after or self._is_round_begun(one)]
        for round_ in rounds[len(kept) :]:
            for pairing in round_.pairings:
                self._save_row(RemovedRow(MatchRow, pairing.match_id))
        self._set_schedule(Schedule(tuple(kept)))

    def _is_round_begun(self, round_: LeagueRound) -> bool:
        return round_.round_id <= self.current_round or self.has_round_begun(round_)

    def _select_results(self) -> Mapping[str, MatchResult]:
        """The results; while a match is played again from which later rounds were paired, its first one stands in."""
        first = {
            pairing.match_id: replace(self.replaced_matches[pairing.replaces].result, match_id=pairing.match_id)
            for pairing in (self.list_open_reruns() if self.replaced_matches else ())
            if self._has_repairable_rounds(pairing.round_id)
        }
        return {**self.results, **first} if first else self.results

    def _find_rerun_reason(self, match_id: str) -> str:
        """Why an organiser had a match played again."""
        orders = [one for one in self.audit_log if one.action == OrganiserAction.RERUN_MATCH and one.target == match_id]
        return orders[-1].reason if orders else ""


def list_possible_results(known: MatchResult) -> Iterator[MatchResult]:
    """The ways in which a match that is played again may end."""
    for winner in (*known.players, None):
        yield known.award_to(winner, {})
    yield known.make_void({})


def _find_standing_rounds(
    format_: RepairableFormat, before: TournamentRecord, after: TournamentRecord
) -> list[LeagueRound]:
    """Ask the format; once something else is to be played, a play-off after it falls as well."""
    own = [round_ for round_ in before.rounds if not round_.is_play_off]
    standing = list(format_.find_standing_rounds(replace(before, rounds=own), replace(after, rounds=own)))
    has_fallen = any(len(new.pairings) < len(old.pairings) for new, old in zip(standing, own, strict=True))
    by_id = {round_.round_id: round_ for round_ in standing}
    return [by_id.get(one.round_id, replace(one, pairings=(), byes={}) if has_fallen else one) for one in before.rounds]
