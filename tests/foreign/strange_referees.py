"""Referees that speak to players in other forms than the seeds: each by itself, `STRANGE_REFEREES` names them all."""

from collections.abc import Mapping
from typing import Any

from tests.foreign.sample_referee import SampleReferee
from tests.foreign.web import Message

ENVELOPE = ("protocol", "message_type", "sender", "timestamp", "conversation_id")


class RetellingReferee(SampleReferee):
    """Tells each player the end of a match in words of its own."""

    name = "Retelling Referee"

    def call(self, endpoint: str, method: str, message: Message) -> Message:
        if method != "notify_match_result":
            return super().call(endpoint, method, message)
        answer = super().call(endpoint, method, self.retell(message, self.player_at(endpoint, message)))
        if answer.get("status") != "ok":
            self.faults.append(f"the result was answered with {answer}")
        return answer

    def player_at(self, endpoint: str, message: Message) -> str:
        """Who is told; the first player is the first to hear of it."""
        first, second = message["game_result"]["choices"]
        return str(second if self.heard.setdefault(message["match_id"], endpoint) != endpoint else first)

    def __init__(self, port: int, manager: str) -> None:
        super().__init__(port, manager)
        self.heard: dict[str, str] = {}

    def retell(self, message: Message, player_id: str) -> Message:
        return message


class FlatReferee(RetellingReferee):
    """Puts the result into GAME_OVER itself."""

    name = "Flat Referee"

    def retell(self, message: Message, player_id: str) -> Message:
        result = message["game_result"]
        return {**{name: value for name, value in message.items() if name != "game_result"}, **result}


class PersonalReferee(RetellingReferee):
    """Says WIN to the winner and LOSS to the loser, and nothing of who won."""

    name = "Personal Referee"

    def retell(self, message: Message, player_id: str) -> Message:
        result = {name: value for name, value in message["game_result"].items() if name != "winner_player_id"}
        winner = message["game_result"]["winner_player_id"]
        if winner is not None:
            result["status"] = "WIN" if winner == player_id else "LOSS"
        return {**message, "game_result": result}


class WinnerReferee(RetellingReferee):
    """Names the winner and nothing else."""

    name = "Winner Referee"

    def retell(self, message: Message, player_id: str) -> Message:
        return {**message, "game_result": {"winner": message["game_result"]["winner_player_id"]}}


class BriefReferee(RetellingReferee):
    """Leaves the envelope out of GAME_OVER, but for its token."""

    name = "Brief Referee"

    def retell(self, message: Message, player_id: str) -> Message:
        return {name: value for name, value in message.items() if name not in ENVELOPE}


class ChoiceReferee(SampleReferee):
    """Looks for `choice` alone, and asks again where it doesn't find it."""

    name = "Choice Referee"

    def call(self, endpoint: str, method: str, message: Message) -> Message:
        answer = super().call(endpoint, method, message)
        if method != "choose_parity":
            return answer
        for _ in range(2):
            if "choice" in answer:
                return {"parity_choice": answer["choice"]}
            answer = super().call(endpoint, method, message)
        return {"parity_choice": answer.get("choice")}


class SmallRoleReferee(SampleReferee):
    """Writes the roles in small letters."""

    name = "Small Role Referee"

    def message(self, message_type: str, match: Message, **fields: Any) -> Message:
        if "role_in_match" in fields:
            fields["role_in_match"] = fields["role_in_match"].lower()
        return super().message(message_type, match, **fields)


class NoRoleReferee(SampleReferee):
    """Writes roles that nobody else knows."""

    name = "No Role Referee"

    def message(self, message_type: str, match: Message, **fields: Any) -> Message:
        if "role_in_match" in fields:
            fields["role_in_match"] = "challenger"
        return super().message(message_type, match, **fields)


STRANGE_REFEREES: Mapping[str, type[SampleReferee]] = {
    kind.name: kind
    for kind in (
        FlatReferee,
        PersonalReferee,
        WinnerReferee,
        BriefReferee,
        ChoiceReferee,
        SmallRoleReferee,
        NoRoleReferee,
    )
}
