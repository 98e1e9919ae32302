"""The form of a referee's messages in each protocol: the model of each method, and the ids that it must carry.

For checking match files; messages are written in `messages_v2` and `messages_v1`.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from agent_league.clock import format_utc, parse_utc
from agent_league.protocol import checks, v1, v2
from agent_league.protocol.methods import METHODS
from agent_league.protocol.v1 import checks as v1_checks
from agent_league.protocol.v1.envelope import format_millis
from agent_league.protocol.v1.ids import derive_league_uuid
from agent_league.protocol.version import PROTOCOL_V1, PROTOCOL_V2
from agent_league.referee.match import SEAT_ROLES
from agent_league.referee.match_file import MatchFile
from agent_league.referee.messages_v1 import V1_SENDER, make_v1_conversation_id
from agent_league.referee.verify.comparing import is_same_json

REQUIRED_FIELDS = ("sender", "league_id", "round_id", "match_id")
"""Fields that every message of a referee has."""
COMMITMENT_MESSAGES = (v2.GameInvitation, v2.ChooseParityCall, v2.GameMoveCall)
"""Messages that carry the commitment to the seed."""


@dataclass(frozen=True, slots=True)
class MessageForm:
    """The form of a referee's messages in one protocol."""

    models: Mapping[str, Any]
    """Method -> its message."""
    check_envelope: Callable[[Mapping[str, Any], str], object]
    format_time: Callable[[datetime], str]
    conversation: Callable[[MatchFile], str]
    identity: Callable[[MatchFile, str | None], dict[str, Any]]
    """Values that a message to a player must have in these fields, if it has them."""

    def check(self, method: str, message: Mapping[str, Any]) -> None:
        """Raise Refusal if the message isn't a valid one of this method."""
        model = self.models[method]
        self.check_envelope(message, model.TYPE)
        checks.parse_fields(model, message)
        moment = parse_utc(message["timestamp"])
        if moment is None or self.format_time(moment) != message["timestamp"]:
            raise checks.wrong_type_refusal("timestamp", "written as in all our messages", message["timestamp"])

    def find_wrong_fields(
        self, file: MatchFile, player_id: str | None, message: Mapping[str, Any]
    ) -> Iterator[tuple[str, Any, Any]]:
        """Yield the wrong fields of a message and its context: name, value found, value expected."""
        context = message.get("context")
        for said in (dict.fromkeys(REQUIRED_FIELDS) | dict(message), context if isinstance(context, dict) else {}):
            for name, expected in self.identity(file, player_id).items():
                if name in said and not is_same_json(said[name], expected):
                    yield name, said[name], expected


def form_of(file: MatchFile, player_id: str | None) -> MessageForm:
    """Return the form of the messages to this player."""
    return FORMS.get(file.protocol_of(player_id), FORMS[PROTOCOL_V2])


def _identity_v2(file: MatchFile, player_id: str | None) -> dict[str, Any]:
    seat = file.player_ids.index(player_id) if player_id in file.player_ids else 0
    return {
        "sender": f"referee:{file.referee_id}",
        "league_id": file.league_id,
        "round_id": file.round_id,
        "match_id": file.match_id,
        "game_type": file.game_type,
        "game_parameters": file.game_parameters,
        "player_id": player_id,
        "affected_player": player_id,
        "role_in_match": SEAT_ROLES[seat],
        "opponent_id": file.player_ids[1 - seat],
    }


def _identity_v1(file: MatchFile, _: str | None) -> dict[str, Any]:
    """Return the envelope fields alone: all else is compared when the match is replayed."""
    return {
        "sender": V1_SENDER,
        "league_id": file.league_uuid or derive_league_uuid(file.league_id),
        "round_id": file.round_id,
        "match_id": file.match_id,
    }


def _check_v1_envelope(message: Mapping[str, Any], expected_type: str) -> None:
    v1_checks.check_v1_envelope(message)
    if message["message_type"] != expected_type:
        raise checks.wrong_type_refusal("message_type", repr(expected_type), message["message_type"])


FORMS: Mapping[str, MessageForm] = {
    PROTOCOL_V2: MessageForm(
        models={name: method.request for name, method in METHODS.items() if method.request},
        check_envelope=checks.check_envelope,
        format_time=format_utc,
        conversation=lambda file: file.effective_conversation_id,
        identity=_identity_v2,
    ),
    PROTOCOL_V1: MessageForm(
        models={
            "handle_game_invitation": v1.GameInvitation,
            v1.GameStart.TYPE: v1.GameStart,
            **dict.fromkeys(("choose_parity", "make_move"), v1.PlayRequest),
            **dict.fromkeys((v1.PlayValidation.TYPE, "notify_game_error"), v1.PlayValidation),
            "notify_match_result": v1.GameResult,
        },
        check_envelope=_check_v1_envelope,
        format_time=format_millis,
        conversation=lambda file: make_v1_conversation_id(
            file.league_uuid or file.league_id, file.effective_conversation_id
        ),
        identity=_identity_v1,
    ),
}
