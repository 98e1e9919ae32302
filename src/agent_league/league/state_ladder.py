"""The changes of a practice ladder: matches paired one by one and forgotten, checks, requests, admissions.

Ratings, versions and requests themselves are kept by `ladder_record.py`; whom to pair is decided by the ladder's own
rule and its conductor.
"""

from dataclasses import replace

from agent_league.errors import ErrorCode, Refusal
from agent_league.ladders.base import LadderPairing
from agent_league.league.ladder_format import LADDER_ROUND
from agent_league.league.ladder_record import LadderRecord
from agent_league.league.state_repairs import LeagueRepairs
from agent_league.league.stored_rows import match_to_row
from agent_league.model.events import LadderNews, MatchPaired
from agent_league.model.ladder import CheckSummary, LadderMatch, OpenRequest
from agent_league.model.schedule import Pairing
from agent_league.storage.base import MatchRow, RemovedRow, SavedSeason


class LeagueLadder(LeagueRepairs):
    """What changes in a league that is a practice ladder; every other league refuses it."""

    def pair_ladder_match(self, paired: LadderPairing, at: str) -> Pairing:
        """Add a match that the ladder of this league has paired."""
        ladder = self._require_ladder()
        numbers = (match_id.rpartition("M")[2].partition("-")[0] for match_id in self._pairings)
        last = max(map(int, numbers), default=0)
        pairing = Pairing(f"R{LADDER_ROUND}M{last + 1}", LADDER_ROUND, *paired.players, paired.reason)
        versions = {player_id: ladder.players[player_id].current.number for player_id in paired.players}
        self._pairings[pairing.match_id] = pairing
        self._update_ladder_round()
        ladder.begin_match(pairing.match_id, LadderMatch(paired.reason, versions, at, paired.is_requested))
        self._save_row(match_to_row(pairing, None, None))
        self.emit(MatchPaired(pairing))
        return pairing

    def end_ladder_match(self, match_id: str, at: str) -> list[str]:
        """Note when a match has ended, and forget the oldest ones beyond those that are kept; returns their ids."""
        forgotten = []
        ladder = self._require_ladder()
        ladder.note_match_end(match_id, at)
        while len(self.results) > ladder.config.keep_matches:
            forgotten += self._forget_match(ladder, next(iter(self.results)))
        self._update_ladder_round()
        return forgotten

    def _forget_match(self, ladder: LadderRecord, match_id: str) -> list[str]:
        """Forget a match, with those that it is played again for; returns their ids."""
        forgotten = [match_id]
        while replaces := self.get_pairing(forgotten[-1]).replaces:
            forgotten.append(replaces)
        for one in forgotten:
            for known in (self.results, self._pairings, self.assigned_referees, self._fetchable_matches):
                known.pop(one, None)
            self.replaced_matches.pop(one, None)
            ladder.forget_match(one)
            self._save_row(RemovedRow(MatchRow, one))
        return forgotten

    def note_ladder_check(self, player_id: str, summary: CheckSummary) -> None:
        """Store how the check of a player went."""
        self._require_ladder().note_check(player_id, summary)
        self.emit(LadderNews(player_id, summary.words, is_trouble=not summary.is_passed))

    def admit_to_ladder(self, player_id: str) -> bool:
        """Let a player meet others on the organiser's order, whatever its check says; False if it might already."""
        player_id = self.find_player_id(player_id)
        has_changed = self._require_ladder().admit_player(player_id)
        if has_changed:
            self.emit(LadderNews(player_id, "may meet everybody, as the organiser says"))
        return has_changed

    def request_ladder_match(self, request: OpenRequest) -> None:
        """Store that a player asks for a match."""
        self._require_ladder().add_request(request)
        self.emit(LadderNews(request.player_id, f"asks for a match against {request.opponent_id}"))

    def accept_ladder_request(self, request: OpenRequest) -> None:
        """Store that a player accepts the match that another asks it for."""
        self._require_ladder().add_request(replace(request, is_accepted=True))
        self.emit(LadderNews(request.opponent_id, f"accepts the match that {request.player_id} asks for"))

    def drop_ladder_request(self, request: OpenRequest, by_whom: str) -> None:
        """Forget a request that its player takes back, or that the other declines."""
        self._require_ladder().drop_request(request.player_id, request.opponent_id)
        is_own = by_whom == request.player_id
        said = f"no longer asks for a match against {request.opponent_id}"
        self.emit(LadderNews(by_whom, said if is_own else f"declines the match that {request.player_id} asks for"))

    def rank_ladder_again(self) -> None:
        """Rank the players anew, after their ratings have changed."""
        self.standings_table.rank_again()

    def _restore_ladder(self, ladder: LadderRecord, saved: SavedSeason) -> None:
        ladder.restore_rows(saved.ladder)
        self.table_after_round = self.standings_table
        reasons = {match_id: match.reason for match_id, match in ladder.matches.items()}
        pairings = (replace(one, reason=reasons.get(one.match_id, "")) for one in self.schedule.pairings)
        self._pairings = {pairing.match_id: pairing for pairing in pairings}
        self._update_ladder_round()

    def _require_ladder(self) -> LadderRecord:
        if self.ladder is None:
            raise Refusal(ErrorCode.SERVICE_UNAVAILABLE, "this league is no practice ladder")
        return self.ladder
