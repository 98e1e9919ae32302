"""Messages that start and control a league and its matches; the seeds leave these three open."""

from typing import Any, ClassVar, Literal

from pydantic import model_validator

from agent_league.config.models import AttemptCount, DelaySeconds, Seconds
from agent_league.protocol.envelope import Message, MessagePart
from agent_league.protocol.v2.game import OwnStandings


class StartLeague(Message):
    """The organiser closes registration and starts; `auth_token` is the admin token."""

    TYPE: ClassVar = "START_LEAGUE"


LeagueAction = Literal[
    "OPEN_REGISTRATION", "CLOSE_REGISTRATION", "PAUSE", "RESUME", "SUSPEND_PLAYER", "REINSTATE_PLAYER"
]


class ManageLeague(Message):
    """The organiser opens or closes registration, pauses or goes on, or suspends a player; with the admin token."""

    TYPE: ClassVar = "MANAGE_LEAGUE"

    action: LeagueAction
    player_id: str | None = None
    """The player to suspend or reinstate."""


class MatchPlayer(MessagePart):
    """All that a referee must know of a player."""

    player_id: str
    display_name: str
    endpoint: str
    protocol: str = "league.v2"
    style: str = "seeds"
    """The player's call form, as far as its registration showed it."""
    token_sha256: str | None = None
    standings: OwnStandings = OwnStandings()
    state: str = "ACTIVE"
    failures_in_a_row: int = 0
    match_token: str | None = None
    """The token that authenticates the referee to this player alone."""
    move_method: Literal["make_move"] | None = None
    """`make_move`: it takes any game, and is asked in no game's own words."""


class MatchScoring(MessagePart):
    win_points: int = 3
    draw_points: int = 1
    loss_points: int = 0
    technical_loss_points: int = 0


class MatchLimits(MessagePart):
    """The league's limits for one match; a referee's own settings count for what isn't named."""

    join_sec: Seconds | None = None
    """Seconds to answer an invitation."""
    v1_join_sec: Seconds | None = None
    """The same for a player of `league.v1`; None: `join_sec`."""
    move_sec: Seconds | None = None
    attempts: AttemptCount | None = None
    """Attempts in all for one question."""
    base_delay_sec: DelaySeconds | None = None
    """Seconds before the second attempt."""


class StartMatch(Message):
    """The manager gives a match to a referee."""

    TYPE: ClassVar = "START_MATCH"

    league_id: str
    round_id: int
    match_id: str
    game_type: str
    game_parameters: dict[str, Any] | None = None
    """The league's parameters of the game, in addition to those of the referee's own registry."""
    player_A: MatchPlayer
    player_B: MatchPlayer
    player_A_id: str | None = None
    player_A_endpoint: str | None = None
    player_B_id: str | None = None
    player_B_endpoint: str | None = None
    match_token: str | None = None
    """The token that authenticates the referee to both players; our referees show each player its own instead."""
    scoring: MatchScoring = MatchScoring()
    limits: MatchLimits | None = None
    """None: the referee's own settings count."""
    league_uuid: str | None = None
    """The unique id of this league in `league.v1`."""

    @model_validator(mode="before")
    @classmethod
    def _fill_from_flat_fields(cls, data: Any) -> Any:
        """Build `player_A` and `player_B` from their flat id and endpoint fields if the objects are missing."""
        if not isinstance(data, dict):
            return data
        filled = dict(data)
        for side in ("player_A", "player_B"):
            player_id, endpoint = data.get(f"{side}_id"), data.get(f"{side}_endpoint")
            if side not in data and player_id and endpoint:
                filled[side] = {"player_id": player_id, "display_name": player_id, "endpoint": endpoint}
        return filled
