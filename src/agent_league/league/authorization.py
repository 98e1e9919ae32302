"""Authorization of calls to the manager: who may call which method, by token and sender."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from agent_league.agent.dialects import UNNAMED_REFEREE
from agent_league.errors import ErrorCode, Refusal
from agent_league.league.match_tokens import hash_token, hashes_match
from agent_league.league.roster import Member
from agent_league.league.state import LeagueState
from agent_league.league.visibility import ORGANISER, VISITOR, Viewer
from agent_league.model.agents import Role
from agent_league.protocol.checks import Envelope
from agent_league.protocol.envelope import ANONYMOUS, Sender
from agent_league.protocol.methods import Caller, Method
from agent_league.text import shorten

EXPECTED_FORMAT = "tok-{agent_id}-{hash}"
UNKNOWN_TOKEN = "unknown or expired; register again for a new one"  # noqa: S105 - a sentence
OPEN_CALLERS = frozenset({Caller.ANYBODY, Caller.APPLICANT})
CALLERS_BY_ROLE = {
    Role.LEAGUE_MANAGER: frozenset({Caller.ADMIN}),
    Role.REFEREE: frozenset({Caller.AGENT, Caller.REFEREE}),
    Role.PLAYER: frozenset({Caller.AGENT}),
}
"""The kinds of caller that a token's owner may act as, beside those open to all."""


class ManagerAuthorizer:
    """Checks the callers of the manager's methods against the roster."""

    def __init__(
        self, state: LeagueState, admin_token_sha256: str, *, tokens_enabled: bool, strict: bool = False
    ) -> None:
        self._state = state
        self._admin_token_sha256 = admin_token_sha256
        self._tokens_enabled = tokens_enabled
        self._strict = strict

    def authorize_call(
        self, method: Method, envelope: Envelope | None, params: Mapping[str, Any], bearer: str | None, now: datetime
    ) -> Sender | None:
        """Return the sender; raises a Refusal unless it may call the method. The token is in the message or the header.

        An agent that still uses the id it asked for is identified by its token.
        """
        if envelope is None:
            return self._check_referee_token(params, bearer, now) if method.caller is Caller.REFEREE else None
        token = bearer if envelope.auth_token is None else envelope.auth_token
        sender = envelope.sender
        if method.caller is Caller.ADMIN:
            self._check_admin(token)
        elif method.caller in (Caller.AGENT, Caller.REFEREE):
            sender = self._check_token(sender, token, now)
            self._check_sender(method, sender)
        named = envelope.league_id
        if named not in (None, self._state.league_id) and str(named).lower() != self._state.league_uuid.lower():
            raise Refusal(
                ErrorCode.LEAGUE_NOT_FOUND,
                f"this is league {self._state.league_id!r}",
                league_id=shorten(named),
            )
        return sender

    def find_token_sender(self, bearer: str | None, now: datetime) -> str | None:
        """Return the sender that owns a token; the admin token belongs to the manager."""
        if bearer is None:
            return None
        if hashes_match(hash_token(bearer), self._admin_token_sha256):
            return str(Role.LEAGUE_MANAGER)
        owner = self._state.roster.find_token_owner(bearer, now)
        return str(Sender(owner.role, owner.agent_id)) if owner else None

    def identify_viewer(
        self, envelope: Envelope | None, params: Mapping[str, Any], bearer: str | None, now: datetime
    ) -> Viewer:
        """Tell by the token of a call who looks at the league."""
        given = params.get("auth_token") if envelope is None else envelope.auth_token
        who = self.find_token_sender(given if isinstance(given, str) and given else bearer, now)
        sender = Sender.parse(who) if who else None
        if sender is None:
            return VISITOR
        return Viewer(sender.agent_id, is_member=True) if sender.role is Role.PLAYER else ORGANISER

    def allowed_callers(self, bearer: str | None, now: datetime) -> frozenset[Caller] | None:
        """Return the kinds of caller a token allows; None without a token or if tokens are disabled."""
        if bearer is None or not self._tokens_enabled:
            return None
        caller = self.find_token_sender(bearer, now)
        sender = Sender.parse(caller) if caller else None
        return OPEN_CALLERS | (CALLERS_BY_ROLE[sender.role] if sender else frozenset())

    def _check_referee_token(self, params: Mapping[str, Any], bearer: str | None, now: datetime) -> Sender:
        """Identify the referee by the token of a call without an envelope; raises a Refusal."""
        given = params.get("auth_token")
        token = given if isinstance(given, str) and given else bearer
        if token is None:
            raise missing_token_refusal("the auth_token from your registration")
        owner = self._state.roster.find_token_owner(token, now)
        if owner is None:
            raise invalid_token_refusal(UNKNOWN_TOKEN)
        sender = Sender(owner.role, owner.agent_id)
        if owner.role is not Role.REFEREE:
            raise unregistered_refusal(sender, needs_referee=True)
        return sender

    def _check_admin(self, token: str | None) -> None:
        if token is None:
            raise missing_token_refusal("the admin token")
        if not hashes_match(hash_token(token), self._admin_token_sha256):
            raise invalid_token_refusal("this is not the admin token of this league")

    def _check_token(self, sender: Sender, token: str | None, now: datetime) -> Sender:
        """Return the token's owner, which must be the sender; raises a Refusal."""
        owner = None if token is None else self._state.roster.find_token_owner(token, now)
        own = Sender(owner.role, owner.agent_id) if owner else sender
        if owner and (own == sender or self._is_alias(owner, sender)):
            return own
        if not self._tokens_enabled:
            return sender
        if self._is_unknown_id(sender):
            raise unregistered_refusal(sender)
        if token is None:
            raise missing_token_refusal("the auth_token from your registration")
        if owner is None:
            raise invalid_token_refusal(UNKNOWN_TOKEN)
        raise invalid_token_refusal(f"this token does not belong to {sender}")

    def _is_unknown_id(self, sender: Sender) -> bool:
        """Whether the sender claims an id that is not registered."""
        claims_id = sender.role is not Role.LEAGUE_MANAGER and sender.agent_id != ANONYMOUS
        return claims_id and self._state.roster.get(sender.agent_id) is None

    def _is_alias(self, owner: Member, sender: Sender) -> bool:
        """Whether the sender names the token's owner by the id it asked for, or by its display name."""
        if sender.role is not owner.role:
            return False
        if owner.role is Role.REFEREE and sender.agent_id == UNNAMED_REFEREE:
            return self._state.roster.get(UNNAMED_REFEREE) is None
        if self._strict:
            return False
        if sender.agent_id == owner.alias:
            return True  # even if another agent has that id: the token identifies the sender
        return sender.agent_id == owner.agent.display_name and self._state.roster.get(sender.agent_id) is None

    def _check_sender(self, method: Method, sender: Sender) -> None:
        member = self._state.roster.get(sender.agent_id)
        known = member is not None and member.role is sender.role
        if not known or (method.caller is Caller.REFEREE and sender.role is not Role.REFEREE):
            raise unregistered_refusal(sender, needs_referee=method.caller is Caller.REFEREE)


def unregistered_refusal(sender: Sender, *, needs_referee: bool = False) -> Refusal:
    """The refusal of an unregistered sender: E013 for a referee, else E005."""
    agent_id = shorten(sender.agent_id)
    if sender.role is Role.REFEREE or needs_referee:
        sentence = f"{shorten(sender)} is not a registered referee; register first"
        return Refusal(ErrorCode.REFEREE_NOT_REGISTERED, sentence, referee_id=agent_id)
    sentence = f"{shorten(sender)} is not registered; register first"
    return Refusal(ErrorCode.PLAYER_NOT_REGISTERED, sentence, player_id=agent_id)


def missing_token_refusal(what: str) -> Refusal:
    """The refusal of a call without its token (E011)."""
    return Refusal(ErrorCode.AUTH_TOKEN_MISSING, f"'auth_token' must hold {what}", expected_format=EXPECTED_FORMAT)


def invalid_token_refusal(why: str) -> Refusal:
    """The refusal of an unknown token, or of one that belongs to another sender (E012)."""
    return Refusal(ErrorCode.AUTH_TOKEN_INVALID, why, expected_format=EXPECTED_FORMAT)
