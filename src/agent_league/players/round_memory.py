"""The finished rounds of the repeated games that a player is in, for questions that leave out those it was shown.

A question says in `context.rounds_since` how many of the first rounds its view leaves out; without that, the view has
them all. A question that leaves out what isn't known here is refused, and the referee then sends the whole view.
"""

from typing import Any

import orjson

from agent_league.errors import ErrorCode, Refusal
from agent_league.games.repeated import has_rounds
from agent_league.http.carrier import MAX_BODY
from agent_league.protocol import v2

MAX_MATCHES = 200
"""Matches at the same time whose rounds are kept."""
NO_ROUNDS = b"[]"

MatchKey = tuple[str, str | None, str | None]
"""Match id, match token and draw commitment: where a match is played again, one of the latter is another."""


class RoundMemory:
    """Keeps the rounds of the latest matches, and completes views with them."""

    def __init__(self) -> None:
        self._matches: dict[MatchKey, bytes] = {}
        """Rounds as JSON: every view gets its own, which a strategy may change."""

    def is_useful_in(self, invitation: v2.GameInvitation) -> bool:
        """Whether a match has rounds to keep."""
        return has_rounds(invitation.game_parameters or {})

    def complete_question(self, call: v2.GameMoveCall) -> v2.GameMoveCall:
        """Return a question with all rounds in its view, and keep them. Raises Refusal (E016) if some are missing."""
        request, since = call.move_request, call.context.rounds_since if call.context else None
        view = request.context
        shown = view.get("rounds") if isinstance(view, dict) else None
        key = (call.match_id, call.auth_token, call.context.draw_commitment if call.context else None)
        if not isinstance(shown, list):
            if since:
                raise _refuse_question(call, f"the view has no list of rounds that {since} could be left out of")
            return call
        if not since:
            self._keep_rounds(key, shown)
            return call
        known: list[Any] = orjson.loads(self._matches.get(key, NO_ROUNDS))
        if len(known) < since:
            raise _refuse_question(
                call, f"the first {since} rounds were left out, of which {len(known)} are known here"
            )
        rounds = known[:since] + shown
        if len(rounds) > len(known):  # else the question comes late, or again
            self._keep_rounds(key, rounds)
        whole = request.model_copy(update={"context": {**view, "rounds": rounds}})
        return call.model_copy(update={"move_request": whole})

    def forget_match(self, match_id: str) -> None:
        """Drop the rounds of a finished match."""
        for key in [key for key in self._matches if key[0] == match_id]:
            del self._matches[key]

    def _keep_rounds(self, key: MatchKey, rounds: list[Any]) -> None:
        """Keep the rounds of a match, which becomes the latest one; the oldest of too many is forgotten.

        More than a message can hold aren't kept: their whole view could not be sent.
        """
        self._matches.pop(key, None)
        try:
            text = orjson.dumps(rounds)
        except TypeError:  # a number that is too long for it
            return
        if len(text) <= MAX_BODY:
            self._matches[key] = text
        if len(self._matches) > MAX_MATCHES:
            del self._matches[next(iter(self._matches))]


def _refuse_question(call: v2.GameMoveCall, why: str) -> Refusal:
    expected = "the whole view, without 'context.rounds_since'"
    return Refusal(
        ErrorCode.SERVICE_UNAVAILABLE,
        f"{why}; send {expected}",
        field="context.rounds_since",
        expected=expected,
        match_id=call.match_id,
    )
