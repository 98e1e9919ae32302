"""Registration of referees and players."""

from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field, PrivateAttr

from agent_league.model.agents import DEFAULT_PROTOCOL_PROFILE, ProtocolProfile
from agent_league.model.names import MAX_NAME_LENGTH, is_displayable
from agent_league.protocol.envelope import Items, Message, MessagePart


def _check_showable(name: str) -> str:
    if not is_displayable(name):
        raise ValueError("expected a name that people can see: no control, formatting or invisible characters")
    return name


def _check_printable(word: str) -> str:
    if not word.isprintable():
        raise ValueError("expected a word without control, formatting or invisible characters")
    return word


DisplayName = Annotated[str, Field(min_length=1, max_length=MAX_NAME_LENGTH), AfterValidator(_check_showable)]
PrintableWord = Annotated[str, Field(max_length=100), AfterValidator(_check_printable)]


class PlayerMeta(MessagePart):
    display_name: DisplayName
    version: PrintableWord
    game_types: Annotated[Items[PrintableWord], Field(max_length=1000)]
    contact_endpoint: str
    protocol_version: str | None = None
    match_tokens: bool = False
    """Whether it knows match tokens and our other additions to the seeds; our own agents do."""
    match_keys: bool = False
    """Whether it also accepts match tokens signed with a match key; otherwise it gets Ed25519 tokens only."""


class RefereeMeta(PlayerMeta):
    max_concurrent_matches: Annotated[int, Field(ge=1, le=10_000)] = 1


class RegisterRequest(Message):
    """What both kinds of applicants may say beside who they are."""

    application_key: Annotated[str, Field(min_length=16, max_length=200)] | None = None
    """A secret made by the applicant, which identifies it when it registers again without its token."""
    _how: ProtocolProfile = PrivateAttr(default=DEFAULT_PROTOCOL_PROFILE)

    @property
    def how(self) -> ProtocolProfile:
        """The protocol, call form and deviations of the request; never sent."""
        return self._how

    @how.setter
    def how(self, how: ProtocolProfile) -> None:
        self._how = how


class LeagueRegisterRequest(RegisterRequest):
    """A player asks to take part."""

    TYPE: ClassVar = "LEAGUE_REGISTER_REQUEST"

    player_meta: PlayerMeta


class RefereeRegisterRequest(RegisterRequest):
    """A referee offers its service."""

    TYPE: ClassVar = "REFEREE_REGISTER_REQUEST"

    referee_meta: RefereeMeta


class RegisterResponse(Message):
    """What the manager answers both kinds; after a refusal id and token are null and `reason` says why."""

    status: Literal["ACCEPTED", "REJECTED"]
    reason: str | None = None
    public_key: dict[str, str] | None = None
    """The manager's public key as a JWK: it signs match tokens and the manager's own calls with the other half."""


class LeagueRegisterResponse(RegisterResponse):
    """The manager's answer to a player."""

    TYPE: ClassVar = "LEAGUE_REGISTER_RESPONSE"

    player_id: str | None = None
    match_key: str | None = None
    """A secret shared by the manager and this player, given to one that asks for it (`match_keys`): the tokens that
    its referees show are signed with it, as JWTs of HS256."""


class RefereeRegisterResponse(RegisterResponse):
    """The manager's answer to a referee."""

    TYPE: ClassVar = "REFEREE_REGISTER_RESPONSE"

    referee_id: str | None = None
