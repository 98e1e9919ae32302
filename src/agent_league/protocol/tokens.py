"""Signed tokens: the manager signs them for a match or for its own calls, agents verify them.

Both are JWTs, signed with Ed25519; a match token for a single player that shares a match key with the manager is
signed with that key (HMAC), at a fraction of the cost. The time is an argument, so that an agent can correct for a
wrong clock. Refusals never quote a token.
"""

import base64
import hashlib
import hmac
import itertools
import re
import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any, Literal, Self

import jwt
import orjson
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from jwt.algorithms import OKPAlgorithm
from pydantic import Field, ValidationError

from agent_league.clock import format_utc
from agent_league.errors import ErrorCode, Refusal
from agent_league.model.agents import Role
from agent_league.protocol.envelope import MessagePart
from agent_league.text import quote

EDDSA, HMAC = "EdDSA", "HS256"
SIGNATURES = jwt.PyJWS(algorithms=[EDDSA, HMAC])
CURVE = "Ed25519"
LEEWAY_SECONDS = 30
KEYED_HEADER = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9."
"""The start of every token that is signed with a match key: PyJWT's header for HMAC, and the dot behind it."""
MAX_TOKEN_LENGTH = 4096
MAX_KEPT_TOKENS = 64
"""Verified tokens that a verifier remembers; a player is in few matches at once."""
JWT_PATTERN = re.compile(r"[\w-]+\.[\w-]+\.[\w-]+", re.ASCII)

TokenUse = Literal["match", "manager"]


class TokenClaims(MessagePart):
    """What a token says; `use` keeps the two kinds apart."""

    use: TokenUse
    iss: str
    sub: str
    aud: list[str]
    exp: int
    ref: str | None = None
    players: list[str] = Field(default_factory=list)
    at: str | None = None
    """In a manager's token: the address where it listens."""
    since: float | None = None
    """In a manager's token: since when it runs the league; of two managers the later one counts."""


class TokenExpired(Refusal):
    """A valid token that has expired, by the time it was checked with."""

    def __init__(self, why: str) -> None:
        super().__init__(ErrorCode.AUTH_TOKEN_INVALID, f"'auth_token' is not valid: {why}")


class SigningKey:
    """The manager's private key."""

    def __init__(self, key: Ed25519PrivateKey) -> None:
        self._key = key
        self._secret = key.private_bytes_raw()
        self._prefix = secrets.token_urlsafe(12)
        self._numbers = itertools.count(1)
        self.private_jwk: str = OKPAlgorithm.to_jwk(key)
        self.public_jwk: dict[str, str] = OKPAlgorithm.to_jwk(key.public_key(), as_dict=True)

    @classmethod
    def generate(cls) -> Self:
        return cls(Ed25519PrivateKey.generate())

    @classmethod
    def load(cls, saved: str) -> Self:
        """Load a key from its `private_jwk`; raises ValueError if it is none."""
        try:
            found = orjson.loads(saved)
        except ValueError:
            found = None  # the error must not quote the text: it may be most of a key
        key = _parse_jwk(found, ("kty", "crv", "x", "d"))
        if not isinstance(key, Ed25519PrivateKey):
            raise ValueError(f"the saved signing key is not a private {CURVE} key as JSON")
        return cls(key)

    def derive_match_key(self, agent_id: str) -> str:
        """Derive the secret that this agent shares with the manager; always the same for one agent."""
        return _encode_part(hmac.digest(self._secret, f"match key of {agent_id}".encode(), "sha256"))

    def sign_match_token(
        self,
        *,
        league_id: str,
        match_id: str,
        referee_id: str,
        players: tuple[str, str],
        audience: Sequence[str],
        now: datetime,
        lifetime: float,
        match_key: str | None = None,
    ) -> str:
        """Sign a token that the match's referee shows to the players in `audience`; with `match_key`, by HMAC."""
        more = {"ref": referee_id, "players": list(players)}
        return self._sign_claims("match", league_id, match_id, audience, now, lifetime, more, match_key)

    def sign_manager_token(
        self,
        *,
        league_id: str,
        audience: str,
        now: datetime,
        lifetime: float,
        at: str | None = None,
        since: datetime | None = None,
    ) -> str:
        """Sign a token that the manager shows to one agent, with its address (`at`) and since when it runs."""
        more = {"at": at, "since": since.timestamp()} if at and since else {}
        return self._sign_claims("manager", league_id, Role.LEAGUE_MANAGER, [audience], now, lifetime, more)

    def _sign_claims(
        self,
        use: TokenUse,
        league_id: str,
        subject: str,
        audience: Sequence[str],
        now: datetime,
        lifetime: float,
        more: Mapping[str, Any],
        key: str | None = None,
    ) -> str:
        at = now.timestamp()
        claims = {
            "use": use,
            "iss": league_id,
            "sub": str(subject),
            "aud": list(audience),
            **more,
            "iat": int(at),
            "exp": int(at + lifetime),
            "jti": f"{self._prefix}{next(self._numbers)}",
        }
        payload = orjson.dumps(claims)
        if not key:
            return SIGNATURES.encode(payload, self._key, EDDSA)
        signed = KEYED_HEADER + _encode_part(payload)
        return f"{signed}.{_compute_keyed_signature(signed, key)}"


class TokenVerifier:
    """Verifies tokens by a manager's public key or an agent's match key; remembers the last MAX_KEPT_TOKENS."""

    def __init__(self, public_key: Mapping[str, Any], league_id: str, match_key: str | None = None) -> None:
        key = _parse_jwk(public_key, ("kty", "crv", "x"))
        if not isinstance(key, Ed25519PublicKey):
            raise ValueError(f"'public_key' must be a public {CURVE} key as a JWK: kty OKP, crv {CURVE}, x")
        self._key = key
        self._league_id = league_id
        self._match_key = match_key or None  # with an empty one anybody could sign
        self._verified_claims: dict[str, TokenClaims] = {}

    def check_match_token(
        self, token: str, *, match_id: str, referee_id: str | None, player_id: str, now: datetime
    ) -> float:
        """Raise a Refusal (E012) unless the token is this referee's for this match and player; returns its expiry.

        With `referee_id` None, any referee may show it (foreign referees use names of their own).
        """
        claims = self._check_claims(token, "match", player_id, now)
        if claims.sub != match_id:
            raise _token_refusal(f"it is for match {claims.sub!r}, not {quote(match_id)}")
        if referee_id is not None and claims.ref != referee_id:
            raise _token_refusal(f"it was given to {claims.ref!r}, not to {quote(referee_id)}")
        if player_id not in claims.players:
            raise _token_refusal(f"{player_id!r} is not one of its players")
        return claims.exp + LEEWAY_SECONDS

    def check_manager_token(self, token: str, *, agent_id: str, now: datetime) -> float:
        """Raise a Refusal (E012) unless it is the manager's own token for this agent; returns its expiry."""
        claims = self._check_claims(token, "manager", agent_id, now)
        if claims.sub != Role.LEAGUE_MANAGER:
            raise _token_refusal(f"it is for {claims.sub!r}, not for the {Role.LEAGUE_MANAGER}")
        return claims.exp + LEEWAY_SECONDS

    def check_caller_token(self, token: str, *, agent_id: str, now: datetime) -> None:
        """Raise a Refusal (E012) unless the token lets its bearer call this agent, be it a referee or the manager."""
        claims = self._verified_claims.get(token) or self._verify_token(token)
        self._check_claims(token, claims.use, agent_id, now)

    def find_manager_address(self, token: str) -> tuple[str, float] | None:
        """The manager's address and since when it runs, from a token that was verified before."""
        claims = self._verified_claims.get(token)
        if claims is None or claims.use != "manager" or claims.at is None or claims.since is None:
            return None
        return claims.at, claims.since

    def find_token_sender(self, token: str, *, agent_id: str) -> str | None:
        """The sender that a token was signed for, even if it has expired; None if it isn't valid for this agent."""
        try:
            claims = self._verified_claims.get(token) or self._verify_token(token)
        except Refusal:
            return None
        if claims.iss != self._league_id or agent_id not in claims.aud:
            return None
        return str(Role.LEAGUE_MANAGER) if claims.use == "manager" else f"{Role.REFEREE}:{claims.ref}"

    def _check_claims(self, token: str, use: TokenUse, agent_id: str, now: datetime) -> TokenClaims:
        claims = self._verified_claims.get(token) or self._verify_token(token)
        if claims.use != use:
            raise _token_refusal(f"it is a {claims.use} token, and this call needs a {use} token")
        if claims.iss != self._league_id:
            raise _token_refusal(f"it is of league {claims.iss!r}, not {self._league_id!r}")
        if agent_id not in claims.aud:
            raise _token_refusal(f"it is not meant for {agent_id!r}")
        if now.timestamp() > claims.exp + LEEWAY_SECONDS:
            raise TokenExpired(f"it has expired (it is {format_utc(now)} here)")
        return claims

    def _verify_token(self, token: str) -> TokenClaims:
        """Verify a token's signature and return its claims; raises Refusal."""
        if len(token) > MAX_TOKEN_LENGTH or not JWT_PATTERN.fullmatch(token):
            raise _token_refusal("it is not a signed token of the manager's (three parts with dots between)")
        try:
            payload, is_keyed = self._verify_signature(token)
            claims = TokenClaims.model_validate_json(payload)
        except ValidationError as error:
            wrong = ".".join(str(part) for part in error.errors()[0]["loc"])
            raise _token_refusal(f"its claim {wrong!r} is missing or wrong") from None
        except (jwt.PyJWTError, ValueError):  # ValueError: what isn't base64
            raise _token_refusal("this league's manager didn't sign it") from None
        if claims.use != "match" and is_keyed:
            raise _token_refusal("a match key signs match tokens and no others")
        if len(self._verified_claims) >= MAX_KEPT_TOKENS:
            del self._verified_claims[next(iter(self._verified_claims))]
        self._verified_claims[token] = claims
        return claims

    def _verify_signature(self, token: str) -> tuple[bytes, bool]:
        """Return the payload and whether a match key signed it; each key has one algorithm. Raises PyJWTError.

        A keyed token exactly as the manager writes it needs two lines; PyJWT, at ten times the cost, judges all others.
        """
        if self._match_key is not None:
            signed, _, signature = token.rpartition(".")
            if signed.startswith(KEYED_HEADER) and hmac.compare_digest(
                signature, _compute_keyed_signature(signed, self._match_key)
            ):
                return base64.urlsafe_b64decode(signed[len(KEYED_HEADER) :] + "=="), True
            with suppress(jwt.InvalidAlgorithmError):
                return SIGNATURES.decode(token, self._match_key, [HMAC]), True
        return SIGNATURES.decode(token, self._key, [EDDSA]), False


def _encode_part(part: bytes) -> str:
    """Encode a part of a token: base64 for addresses, without padding."""
    return base64.urlsafe_b64encode(part).rstrip(b"=").decode()


def _compute_keyed_signature(signed: str, match_key: str) -> str:
    """Compute the third part of a token from the first two."""
    return _encode_part(hmac.digest(match_key.encode(), signed.encode(), "sha256"))


def _parse_jwk(jwk: Any, fields: Sequence[str]) -> Any:
    """Parse the key in a JWK, of any curve; None if it is invalid."""
    if not isinstance(jwk, Mapping) or not all(isinstance(jwk.get(field), str) for field in fields):
        return None
    try:
        return OKPAlgorithm.from_jwk({field: jwk[field] for field in fields})
    except (jwt.InvalidKeyError, ValueError):
        return None


def _token_refusal(why: str) -> Refusal:
    return Refusal(ErrorCode.AUTH_TOKEN_INVALID, f"'auth_token' is not valid: {why}", field="auth_token")


def matches_token_hash(token: str, token_sha256: str | None) -> bool:
    """Whether a token has this SHA-256 hash; compares in constant time."""
    presented = hashlib.sha256(token.encode(errors="replace")).hexdigest()
    return token_sha256 is not None and hmac.compare_digest(presented, token_sha256)
