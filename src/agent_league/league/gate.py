"""The gate of the manager: who may call what, by token and sender, in the order of the protocol."""

from datetime import datetime

from agent_league.errors import ErrorCode, Refusal
from agent_league.league.season import Season
from agent_league.league.tokens import same_hash, token_hash
from agent_league.model.agents import Role
from agent_league.protocol.checks import Envelope
from agent_league.protocol.methods import Caller, Method

EXPECTED_FORMAT = "tok-{agent_id}-{hash}"


class Gate:
    """Checks a caller against the roster."""

    def __init__(self, season: Season, admin_token_sha256: str, *, tokens_enabled: bool) -> None:
        self._season = season
        self._admin_token_sha256 = admin_token_sha256
        self._tokens_enabled = tokens_enabled

    def check(self, method: Method, envelope: Envelope | None, bearer: str | None, now: datetime) -> None:
        """Raises a Refusal unless the caller may call the method; its token stands in the message or beside it."""
        if envelope is None:
            return
        token = bearer if envelope.auth_token is None else envelope.auth_token
        if method.caller is Caller.ADMIN:
            self._check_admin(token)
        elif method.caller in (Caller.AGENT, Caller.REFEREE):
            self._check_token(envelope, token, now)
            self._check_sender(method, envelope)
        if envelope.league_id not in (None, self._season.league_id):
            raise Refusal(
                ErrorCode.LEAGUE_NOT_FOUND,
                f"this is league {self._season.league_id!r}",
                league_id=envelope.league_id[:80],
            )

    def _check_admin(self, token: str | None) -> None:
        if token is None:
            raise _missing("the admin token")
        if not same_hash(token_hash(token), self._admin_token_sha256):
            raise _invalid("this is not the admin token of this league")

    def _check_token(self, envelope: Envelope, token: str | None, now: datetime) -> None:
        if not self._tokens_enabled:
            return
        if token is None:
            raise _missing("the auth_token from your registration")
        owner = self._season.roster.owner_of(token, now)
        if owner is None:
            raise _invalid("unknown or expired; register again for a new one")
        if (owner.role, owner.agent_id) != (envelope.sender.role, envelope.sender.agent_id):
            raise _invalid(f"this token does not belong to {envelope.sender}")

    def _check_sender(self, method: Method, envelope: Envelope) -> None:
        sender = envelope.sender
        member = self._season.roster.get(sender.agent_id)
        known = member is not None and member.role is sender.role
        if sender.role is Role.REFEREE or method.caller is Caller.REFEREE:
            if not known or sender.role is not Role.REFEREE:
                raise Refusal(
                    ErrorCode.REFEREE_NOT_REGISTERED,
                    f"{str(sender)[:80]} is not a registered referee",
                    referee_id=sender.agent_id[:80],
                )
        elif not known:
            raise Refusal(
                ErrorCode.PLAYER_NOT_REGISTERED,
                f"{str(sender)[:80]} is not registered",
                player_id=sender.agent_id[:80],
            )


def _missing(what: str) -> Refusal:
    return Refusal(ErrorCode.AUTH_TOKEN_MISSING, f"'auth_token' must hold {what}", expected_format=EXPECTED_FORMAT)


def _invalid(why: str) -> Refusal:
    return Refusal(ErrorCode.AUTH_TOKEN_INVALID, why, expected_format=EXPECTED_FORMAT)
