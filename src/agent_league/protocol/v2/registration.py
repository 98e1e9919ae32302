"""Registration of referees and players."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field, PrivateAttr, WithJsonSchema

from agent_league.model.agents import DEFAULT_PROTOCOL_PROFILE, ProtocolProfile
from agent_league.model.looks import COLOR_FORM
from agent_league.model.names import MAX_NAME_LENGTH, is_displayable
from agent_league.protocol.envelope import Items, Message, MessagePart
from agent_league.protocol.fields import URI, LinkPort, PlayerId, Reason, RefereeId, ShownName


def _check_showable(name: str) -> str:
    if not is_displayable(name):
        raise ValueError("expected a name that people can see: no control, formatting or invisible characters")
    return name


def _check_printable(word: str) -> str:
    if not word.isprintable():
        raise ValueError("expected a word without control, formatting or invisible characters")
    return word


def _tell_text(**more: str) -> WithJsonSchema:
    """The schema of a field that should be a text, and may be anything."""
    return WithJsonSchema({"anyOf": [{"type": "string", **more}, {"type": "null"}]})


DisplayName = Annotated[ShownName, Field(min_length=1, max_length=MAX_NAME_LENGTH), AfterValidator(_check_showable)]
ContactEndpoint = Annotated[
    str,
    Field(
        description="Where it is called: http://HOST:PORT/mcp.",
        examples=["http://localhost:8101/mcp"],
        json_schema_extra=URI,
    ),
]
PrintableWord = Annotated[str, Field(max_length=100), AfterValidator(_check_printable)]
AgentVersion = Annotated[PrintableWord, Field(description="A version number, such as 1.0.0.", examples=["1.0.0"])]
KnownGames = Annotated[
    Items[PrintableWord],
    Field(
        max_length=1000,
        description="The games it knows, such as even_odd; with * among them, any other one too.",
        examples=[["even_odd"]],
    ),
]


class AgentMeta(MessagePart):
    """What both kinds of applicants say of themselves."""

    display_name: DisplayName
    version: AgentVersion
    game_types: KnownGames
    contact_endpoint: ContactEndpoint
    protocol_version: str | None = Field(
        default=None, description="The protocol version it speaks: 2.0.0 or newer.", examples=["2.1.0"]
    )
    match_tokens: bool = Field(default=False, description="Whether it knows match tokens.")
    """Whether it knows match tokens and our other additions to the seeds; our own agents do."""
    match_keys: bool = Field(default=False, description="Whether it takes match tokens under a match key as well.")
    """Whether it also accepts match tokens signed with a match key; otherwise it gets Ed25519 tokens only."""
    link_port: LinkPort | None = None


class PlayerMeta(AgentMeta):
    color: Annotated[Any, _tell_text(pattern=f"^({COLOR_FORM})?$")] = Field(
        default=None, description="Its colour on pages: #rrggbb. A bad one is left out.", examples=["#c0392b"]
    )
    avatar: Annotated[Any, _tell_text()] = Field(
        default=None,
        description="Its sign on pages: one to three characters, such as an emoji. A bad one is left out.",
        examples=["🦊"],
    )


LOOK_FIELDS = ("color", "avatar")
"""Whatever stands in them, nobody is refused for it: `model.looks` says what is taken."""


class RefereeMeta(AgentMeta):
    display_name: DisplayName = Field(examples=["Referee Alpha"])
    contact_endpoint: ContactEndpoint = Field(examples=["http://localhost:8001/mcp"])
    max_concurrent_matches: Annotated[int, Field(ge=1, le=10_000)] = Field(
        default=1, description="How many matches it takes at once.", examples=[2]
    )


class RegisterRequest(Message):
    """What both kinds of applicants may say beside who they are."""

    application_key: Annotated[str, Field(min_length=16, max_length=200)] | None = Field(
        default=None,
        description="A secret of the applicant's own, by which it is known again without its token.",
        examples=["a-secret-of-my-own-making"],
    )
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
    NEVER_SENT: ClassVar = "auth_token league_id round_id match_id"

    player_meta: PlayerMeta = Field(description="What the player says of itself.")


class RefereeRegisterRequest(RegisterRequest):
    """A referee offers its service."""

    TYPE: ClassVar = "REFEREE_REGISTER_REQUEST"
    ALWAYS_SENT: ClassVar = "referee_meta.max_concurrent_matches"
    NEVER_SENT: ClassVar = "auth_token league_id round_id match_id"

    referee_meta: RefereeMeta = Field(description="What the referee says of itself.")


class RegisterResponse(Message):
    """What the manager answers both kinds; after a refusal id and token are null and `reason` says why."""

    auth_token: str | None = Field(
        default=None,
        description="The token to show from now on; a secret. Null where it was rejected.",
        examples=["tok-p01-…"],
    )
    status: Literal["ACCEPTED", "REJECTED"] = Field(
        description="Whether the application is accepted; `reason` says why not."
    )
    reason: Reason | None = None
    public_key: dict[str, str] | None = Field(
        default=None,
        description="The manager's public key as a JWK.",
        examples=[{"kty": "OKP", "crv": "Ed25519", "x": "…"}],
    )
    """The manager's public key as a JWK: it signs match tokens and the manager's own calls with the other half."""
    link_port: LinkPort | None = None
    """Only for an agent that named a port for links itself."""


class LeagueRegisterResponse(RegisterResponse):
    """The manager's answer to a player."""

    TYPE: ClassVar = "LEAGUE_REGISTER_RESPONSE"
    ALWAYS_SENT: ClassVar = "league_id player_id? auth_token? reason?"
    NEVER_SENT: ClassVar = "round_id match_id"

    player_id: PlayerId | None = None
    match_key: str | None = Field(
        default=None, description="What match tokens for this player are signed with; a secret."
    )
    """A secret shared by the manager and this player, given to one that asks for it (`match_keys`): the tokens that
    its referees show are signed with it, as JWTs of HS256."""


class RefereeRegisterResponse(RegisterResponse):
    """The manager's answer to a referee."""

    TYPE: ClassVar = "REFEREE_REGISTER_RESPONSE"
    ALWAYS_SENT: ClassVar = "league_id referee_id? auth_token? reason?"
    NEVER_SENT: ClassVar = "round_id match_id"

    auth_token: str | None = Field(
        default=None,
        description="The token to show from now on; a secret. Null where it was rejected.",
        examples=["tok-ref01-…"],
    )
    referee_id: RefereeId | None = None
