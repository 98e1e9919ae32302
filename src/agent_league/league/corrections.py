"""Corrections of what was played and who plays: the checks, and what each changes in the league's state.

A correction never rewrites history: a match that is played again gets an id of its own, and a result that is overruled
keeps what its referee reported. What that does to the rounds after it is worked out by `state_repairs.py`; here it is
refused without the organiser's consent. docs/corrections.md says what that means for each format.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from agent_league.errors import ErrorCode, Refusal
from agent_league.formats.base import RepairableFormat
from agent_league.league.state import LeaguePhase, LeagueState
from agent_league.league.state_repairs import list_possible_results
from agent_league.league.tournament import describe_format
from agent_league.model.agents import Role
from agent_league.model.audit import NOTHING_CHANGED
from agent_league.model.results import MatchResult
from agent_league.model.schedule import Pairing
from agent_league.text import quote, shorten

DRAW_WORD = "draw"
"""Stands for the winner of a match that is awarded as a draw."""


@dataclass(frozen=True, slots=True)
class Change:
    """What a command did."""

    sentence: str
    """Without a full stop."""
    target: str = ""
    """The id of the player or match."""
    before: Mapping[str, Any] = field(default_factory=dict)
    """What it replaced."""


class Corrections:
    """Corrects one league. Every method raises a Refusal that changes nothing."""

    def __init__(self, state: LeagueState) -> None:
        self._state = state

    def rerun_match(self, match_id: str, *, void_followers: bool = False) -> Change:
        """Have a finished match played again under another id, by any referee that is there.

        With `void_followers` the matches that followed from its first result may become void by the second.
        """
        pairing = self._find_match(match_id)
        known = self._state.results.get(pairing.match_id)
        if known is None:
            raise _refuse(f"{pairing.match_id} has no result yet: there is nothing to play again", pairing.match_id)
        self._check_players(pairing)
        self._check_later_rounds(pairing, [None, *list_possible_results(known)])
        followers = self._find_followers(pairing, list_possible_results(known), void_followers=void_followers)
        again = self._state.replace_match(pairing.match_id)
        if self._state.phase is LeaguePhase.COMPLETED:
            self._state.reopen_league()
        sentence = f"{pairing.match_id} is played again as {again.match_id}; its first result counts no more"
        if followers:
            sentence = f"{sentence}; with another winner {_list_ids(followers)} will be void"
        return Change(sentence, pairing.match_id, known.to_json())

    def void_match(self, match_id: str, reason: str, *, void_followers: bool = False) -> Change:
        """Make a match count for nobody."""
        pairing = self._find_match(match_id)
        known = self._find_result(pairing)
        result = known.make_void({"action": "VOID_MATCH", "reason": reason})
        sentence = f"{pairing.match_id} is void: it counts for nobody"
        return self._correct_result(pairing, result, sentence, void_followers=void_followers)

    def award_match(self, match_id: str, winner: str, reason: str, *, void_followers: bool = False) -> Change:
        """Decide a match: for a player, by id or name, or as a draw. Ratings leave it out, as no game was played."""
        pairing = self._find_match(match_id)
        chosen = None
        if winner.casefold() != DRAW_WORD:
            chosen = self._state.find_player_id(winner)
            if chosen not in pairing.players:
                expected = " or ".join(pairing.players)
                raise _refuse(
                    f"{chosen} doesn't play {pairing.match_id}; expected {expected}, or {DRAW_WORD}", pairing.match_id
                )
        result = self._find_result(pairing).award_to(chosen, {"action": "AWARD_MATCH", "reason": reason})
        to_whom = f"awarded to {chosen}" if chosen else "awarded as a draw"
        sentence = f"{pairing.match_id} is {to_whom}"
        return self._correct_result(pairing, result, sentence, void_followers=void_followers)

    def withdraw_player(self, player: str) -> Change:
        """Take a player out: it loses what it has not played, or isn't paired, and stands at the end of the table."""
        player_id = self._state.find_player_id(player)
        if self._state.roster[player_id].is_withdrawn:
            return Change(f"{NOTHING_CHANGED}: {player_id} has withdrawn already", player_id)
        self._state.set_withdrawn(player_id, is_withdrawn=True)
        self._note_end_changed()
        return Change(f"{player_id} has withdrawn: its results stand, and it is last in the table", player_id)

    def admit_player(self, player: str) -> Change:
        """Let a player that has withdrawn play again, or one of this name enter late if the format allows it."""
        state = self._state
        member = state.roster.find_by_id_or_name(Role.PLAYER, player)
        if member is None:
            return self._admit_late(player)
        if state.ladder and not member.is_withdrawn:
            told = f"{member.agent_id} may meet everybody, whatever its check says"
            is_new = state.admit_to_ladder(member.agent_id)
            return Change(told if is_new else f"{NOTHING_CHANGED}: {told} already", member.agent_id)
        if not member.is_withdrawn:
            raise _refuse(
                f"{member.agent_id} takes part already; `reinstate` ends a suspension", player=member.agent_id
            )
        state.set_withdrawn(member.agent_id, is_withdrawn=False)
        self._note_end_changed()
        return Change(f"{member.agent_id} takes part again", member.agent_id)

    def _admit_late(self, name: str) -> Change:
        state, name = self._state, name.strip()
        if not name:
            raise Refusal(ErrorCode.MISSING_REQUIRED_FIELD, "missing: player_id", missing_fields=["player_id"])
        if state.phase is not LeaguePhase.REGISTRATION and not state.takes_late_players:
            why = "the league is over" if state.phase is LeaguePhase.COMPLETED else "every round has been paired"
            if not state.format.takes_late_entries:
                why = f"its format, {describe_format(state.config)}, takes nobody after the start"
            raise _refuse(f"no player {quote(name)} in this league, and nobody may enter any more: {why}", player=name)
        if name in state.admitted_names:
            return Change(f"{NOTHING_CHANGED}: {quote(name)} may enter already", name)
        state.admit_name(name)
        return Change(f"a player that registers as {quote(name)} may enter", name)

    def _find_match(self, match_id: str) -> Pairing:
        """Find a match that may be corrected, by its id in either case."""
        state = self._state
        if state.phase is LeaguePhase.REGISTRATION:
            raise _refuse("the league has not started: it has no match yet", match_id)
        pairing = state.get_pairing(match_id.strip().upper())
        if replaced := state.replaced_matches.get(pairing.match_id):
            raise _refuse(f"{pairing.match_id} was played again: name {replaced.replaced_by} instead", match_id)
        if pairing.match_id in state.set_aside:
            cause = state.results[pairing.match_id].cause
            raise _refuse(
                f"{pairing.match_id} is void for good, as it would not have been paired after {cause} was corrected: "
                f"correct {cause}, or what was played since",
                match_id,
            )
        return pairing

    def _find_result(self, pairing: Pairing) -> MatchResult:
        """The result of a match, or one of nobody if it is being played; raises a Refusal before its round."""
        state, match_id = self._state, pairing.match_id
        if known := state.results.get(match_id):
            return known
        referee_id = state.assigned_referees.get(match_id)
        if referee_id is None and pairing.round_id > state.current_round:
            raise _refuse(
                f"{match_id} has not begun; a player that can't play it is withdrawn, or suspended for a while",
                match_id,
            )
        return MatchResult.make_unplayed(pairing, referee_id)

    def _correct_result(self, pairing: Pairing, result: MatchResult, sentence: str, *, void_followers: bool) -> Change:
        state = self._state
        before = state.results.get(pairing.match_id)
        if before and before.counts_like(result):
            return Change(f"{NOTHING_CHANGED}: {sentence.partition(':')[0]} already", pairing.match_id)
        self._check_later_rounds(pairing, [result])
        followers = self._find_followers(pairing, [result], void_followers=void_followers)
        paired = {one.match_id: one.players for one in state.schedule.pairings if one.round_id > state.current_round}
        state.correct_result(result)
        sentence = _add_followers(sentence, followers, _list_changed(state, paired))
        if state.phase is LeaguePhase.COMPLETED and state.needs_further_round():
            state.reopen_league()
            sentence = f"{sentence}; the league needs another round, which is played"
        self._note_end_changed()
        return Change(sentence, pairing.match_id, before.to_json() if before else {})

    def _note_end_changed(self) -> None:
        """Have the end announced once more, with the corrected table."""
        if self._state.phase is LeaguePhase.COMPLETED:
            self._state.mark_end_announced(is_announced=False)

    def _check_players(self, pairing: Pairing) -> None:
        for player_id in pairing.players:
            if self._state.roster[player_id].is_barred:
                word = "has withdrawn" if self._state.roster[player_id].is_withdrawn else "is suspended"
                raise _refuse(
                    f"{player_id} {word}, so that {pairing.match_id} can't be played again; award it instead",
                    pairing.match_id,
                )

    def _find_followers(
        self, pairing: Pairing, results: Iterable[MatchResult], *, void_followers: bool
    ) -> list[Pairing]:
        """The matches that one of these results would make void; raises a Refusal without consent to that."""
        state, found = self._state, dict[str, Pairing]()
        for result in results:
            fallen = state.find_repair(pairing.match_id, result).fallen
            found |= {one.match_id: one for one in state.list_begun(fallen)}
        followers = [one for one in state.schedule.pairings if one.match_id in found]
        if not followers or void_followers:
            return followers
        told = ", ".join(f"{one.match_id} ({self._describe_stage(one)})" for one in followers)
        raise _refuse(
            f"{pairing.match_id} decided who plays {told}. If others go on, that becomes void and the right players "
            "are paired; agree to it by --void-followers, on the organiser's page by its box, in messages by "
            '"void_followers": true',
            pairing.match_id,
        )

    def _describe_stage(self, pairing: Pairing) -> str:
        """How far a match is, in a word."""
        if pairing.match_id in self._state.results:
            return "played"
        return "in play" if pairing.match_id in self._state.assigned_referees else "paired"

    def _check_later_rounds(self, pairing: Pairing, results: list[MatchResult | None]) -> None:
        """Raise a Refusal unless the rounds that were paired later can stand with each of these results."""
        state = self._state
        whole = state.tournament
        is_play_off = state.schedule.rounds[pairing.round_id - 1].is_play_off
        if state.format.is_fixed or is_play_off or isinstance(state.format, RepairableFormat):
            return
        for result in results:
            changed = {key: one for key, one in whole.results.items() if key != pairing.match_id}
            if result is not None:
                changed[pairing.match_id] = result
            try:
                state.format.rank_players(replace(whole, results=changed))
            except Exception:  # noqa: BLE001 - a third party's format may raise anything at rounds that it would not pair
                raise self._refuse_by_format(pairing) from None

    def _refuse_by_format(self, pairing: Pairing) -> Refusal:
        """The refusal of a correction after which the format would have paired other matches."""
        state, match_id = self._state, pairing.match_id
        later = [
            one
            for round_ in state.schedule.rounds[pairing.round_id :]
            for one in round_.pairings
            if set(one.players) & set(pairing.players)
        ]
        form = describe_format(state.config)
        known = state.results.get(match_id)
        if not later:
            return _refuse(f"with another result of {match_id} the {form} would have paired other matches", match_id)
        follower = later[0]
        word = "played" if follower.match_id in state.results else "paired"
        went_on = next(one for one in pairing.players if one in follower.players)
        stays = f"award {match_id} to {went_on} or void it, which leaves who went on"
        changed = f", or void {follower.match_id} and award what follows" if known else ""
        return _refuse(
            f"{match_id} decided who plays {follower.match_id}, which has been {word}: with another result the {form} "
            f"would have paired others. What can be done: {stays}{changed}",
            match_id,
        )


def _list_changed(state: LeagueState, paired: Mapping[str, tuple[str, str]]) -> list[Pairing]:
    """The matches among these, which had not begun, that have other players now, and those that are new beside them."""
    rounds = {state.get_pairing(match_id).round_id for match_id in paired if state.has_match(match_id)}
    return [
        one
        for one in state.schedule.pairings
        if one.round_id in rounds and set(paired.get(one.match_id, ())) != set(one.players)
    ]


def _add_followers(sentence: str, void: Sequence[Pairing], changed: Sequence[Pairing]) -> str:
    """Add what a correction did to the matches that followed."""
    if void:
        told = "is void, as it" if len(void) == 1 else "are void, as they"
        sentence = f"{sentence}; {_list_ids(void)} {told} would not have been paired"
    pairs = ", ".join(f"{one.match_id}: {' against '.join(one.players)}" for one in changed)
    return f"{sentence}; paired anew: {pairs}" if changed else sentence


def _list_ids(pairings: Iterable[Pairing]) -> str:
    return ", ".join(pairing.match_id for pairing in pairings)


def _refuse(sentence: str, match_id: str = "", player: str = "") -> Refusal:
    about = {"match_id": shorten(match_id)} if match_id else {"player_id": shorten(player)} if player else {}
    return Refusal(ErrorCode.INVALID_MESSAGE_FORMAT, sentence, **about)
