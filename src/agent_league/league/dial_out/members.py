"""Whose seats they are: which member is called at a seat, and which tokens its callers may show."""

from collections.abc import Callable

from agent_league.clock import Clock
from agent_league.config.models import TimeoutConfig
from agent_league.errors import Refusal
from agent_league.http.call_limits import TokenCheck
from agent_league.league.dial_out.seats import DialOutSeat
from agent_league.league.match_tokens import TokenIssuer
from agent_league.league.roster import Member
from agent_league.league.state import LeagueState
from agent_league.model.agents import Role
from agent_league.protocol.dial_out import SEAT_PATTERN, is_seat_address
from agent_league.protocol.tokens import TokenVerifier

REPLACED_DEVIATION = "dials out: a second connection has taken its seat from the first"


class SeatMembers:
    """The players and referees of one league that dial out."""

    def __init__(self, state: LeagueState, token_issuer: TokenIssuer, clock: Clock, timeouts: TimeoutConfig) -> None:
        self.call_seconds = float(max(timeouts.model_dump().values()))
        """The longest that any call to a player may take; its caller may give up earlier."""
        self._state = state
        self.token_issuer = token_issuer
        self._clock = clock
        self._members: dict[str, Member] = {}
        """By seat id, as last found."""
        self._verifiers: dict[str, TokenVerifier] = {}
        """By member id."""
        self.on_exposed: Callable[[], None] = lambda: None
        """Called when the first seat is opened in a league that was loopback-only until then."""
        if any(is_seat_address(member.agent.endpoint) for member in state.roster):
            state.roster.note_dial_out_seats()

    def find_member(self, seat_id: str) -> Member | None:
        """The member that is called at a seat."""
        known = self._members.get(seat_id)
        if known is None or not _is_at_seat(known, seat_id):
            known = next((member for member in self._state.roster if _is_at_seat(member, seat_id)), None)
            if known is None:
                self._members.pop(seat_id, None)
            else:
                self._members[seat_id] = known
        return known

    def find_token_check(self, seat_id: str) -> TokenCheck | None:
        """Return the check of the tokens that a seat's callers show; None for a seat that no member is called at."""
        member = self.find_member(seat_id)
        if member is None:
            return None
        agent_id = member.agent_id
        if agent_id not in self._verifiers:
            self._verifiers[agent_id] = self.token_issuer.make_verifier(agent_id)
        verifier = self._verifiers[agent_id]
        may_call = self._is_own_player if member.role is Role.REFEREE else self._is_own_referee

        def is_good(token: str) -> bool:
            try:
                verifier.check_caller_token(token, agent_id=agent_id, now=self._clock.now())
            except Refusal:
                return may_call(token, agent_id)
            return True

        return is_good

    def note_opened(self, seat: DialOutSeat) -> None:
        """Note that a seat was opened; its player is called at its present address: a restart may have changed it."""
        if self._state.roster.note_dial_out_seats():
            self.on_exposed()
        member = self.find_member(seat.seat_id)
        if member is not None and member.agent.endpoint != seat.address:
            self._state.move_agent(member.agent_id, seat.address)

    def note_replaced(self, seat_id: str) -> None:
        """Note that a second connection has taken a seat."""
        if member := self.find_member(seat_id):
            self._state.note_deviations(member.agent_id, (REPLACED_DEVIATION,))

    def _is_own_referee(self, token: str, player_id: str) -> bool:
        """Whether a token is that of a guest referee that may show its own, and has a match of this player."""
        referee = self._state.roster.find_token_owner(token, self._clock.now())
        if (
            referee is None
            or referee.role is not Role.REFEREE
            or self._state.roster.referee_token_hash(referee.agent_id) is None
        ):
            return False
        return self._have_match(referee.agent_id, player_id)

    def _is_own_player(self, token: str, referee_id: str) -> bool:
        """Whether a token is that of a player of one of this referee's matches, who sends an answer by itself."""
        player = self._state.roster.find_token_owner(token, self._clock.now())
        return player is not None and player.role is Role.PLAYER and self._have_match(referee_id, player.agent_id)

    def _have_match(self, referee_id: str, player_id: str) -> bool:
        """Whether a referee has an unfinished match of a player."""
        return any(
            player_id in self._state.get_pairing(match_id).players
            for match_id, given_to in self._state.assigned_referees.items()
            if given_to == referee_id and match_id not in self._state.results
        )


def _is_at_seat(member: Member, seat_id: str) -> bool:
    found = SEAT_PATTERN.search(member.agent.endpoint)
    return found is not None and found[1] == seat_id
