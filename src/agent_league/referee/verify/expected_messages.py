"""The messages that a match's players must have been sent, written again from its file, with their timeouts.

Envelopes are checked in `forms`; timestamps can't be known.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Literal, TypeGuard

from agent_league.agent.peer_client import PeerCall
from agent_league.clock import SystemClock, parse_utc
from agent_league.protocol import v2
from agent_league.protocol.v1.checks import V1_REQUIRED_FIELDS as V1_ENVELOPE
from agent_league.protocol.v2.match import MatchPlayer
from agent_league.protocol.version import PROTOCOL_V1
from agent_league.referee.match import Match
from agent_league.referee.match_file import MatchFile
from agent_league.referee.messages import PLAIN_WIRE, MatchContext, PlayerMessages
from agent_league.referee.messages_v1 import PlayerMessagesV1
from agent_league.referee.messages_v2 import PlayerMessagesV2
from agent_league.referee.verify.comparing import list_differences

LONGEST_LIMIT_SECONDS = 1_000_000
ROUNDING_SECONDS = 1.5
"""In `league.v2` timestamps are cut to the second."""
SLACK_SECONDS = 0.1
"""If a timeout is stated in seconds, only the clocks may differ."""


def build_messages(file: MatchFile, match: Match) -> dict[str, PlayerMessages]:
    """Build the writers of the referee's messages, by player."""
    a, b = (_player(file, player_id) for player_id in file.player_ids)
    order = v2.StartMatch.write(
        sender="league_manager",
        timestamp="",
        conversation_id=file.effective_conversation_id,
        league_id=file.league_id,
        league_uuid=file.league_uuid,
        round_id=max(file.round_id, 0),
        match_id=file.match_id,
        game_type=file.game_type,
        player_A=a,
        player_B=b,
    )
    setting = MatchContext(order, match, file.referee_id, SystemClock(), file.draw.commitment)
    return {
        player.player_id: (PlayerMessagesV1 if file.protocol_of(player.player_id) == PROTOCOL_V1 else PlayerMessagesV2)(
            setting, player
        )
        for player in (a, b)
    }


def _player(file: MatchFile, player_id: str) -> MatchPlayer:
    plainly = file.move_methods.get(player_id) == PLAIN_WIRE.method
    method: Literal["make_move"] | None = "make_move" if plainly else None
    return MatchPlayer(player_id=player_id, display_name=player_id, endpoint="", move_method=method)


def departures(call: PeerCall, message: Any) -> Iterator[str]:
    """Yield how a message to a player of `league.v1` differs from the expected one, without its envelope."""
    found = message if isinstance(message, dict) else {}
    expected = {name: value for name, value in call.message.items() if name not in V1_ENVELOPE}
    return list_differences(expected, {name: value for name, value in found.items() if name not in V1_ENVELOPE})


def stated_limit(message: Any) -> float:
    """Return the timeout that a message of `league.v1` states; 0 if it states none."""
    info, state = (_inside(message, name) for name in ("game_info", "game_state"))
    stated = [
        info.get("timeout_seconds"),
        state.get("timeout_seconds"),
        _inside(state, "rules").get("timeout_per_move"),
    ]
    return next((float(value) for value in stated if _is_limit(value)), 0)


def shortest_wait(message: Any) -> float:
    """Return the seconds before which an answer to this request can't be late."""
    said = message if isinstance(message, dict) else {}
    begin, end = (parse_utc(str(said.get(name))) for name in ("timestamp", "deadline"))
    if begin and end:
        return (end - begin).total_seconds() - ROUNDING_SECONDS
    return stated_limit(message) - SLACK_SECONDS


def is_time_given(message: Any, seconds: float | None) -> bool:
    """Whether the deadline of a `league.v2` request is so many seconds after its timestamp."""
    said = message if isinstance(message, dict) else {}
    begin, end = (parse_utc(str(said.get(name))) for name in ("timestamp", "deadline"))
    if begin is None or end is None or seconds is None:
        return False
    return abs((end - begin).total_seconds() - seconds) < ROUNDING_SECONDS


def _inside(message: Any, name: str) -> Mapping[str, Any]:
    found = message.get(name) if isinstance(message, dict) else None
    return found if isinstance(found, dict) else {}


def _is_limit(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < LONGEST_LIMIT_SECONDS
