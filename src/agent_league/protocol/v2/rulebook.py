"""Models of the questions about games and the protocol that every agent answers, and of the answers."""

from typing import Any

from agent_league.model.agents import Role
from agent_league.protocol.envelope import ExactPart, MessagePart


class RulesQuestion(MessagePart):
    game_type: str | None = None


class ProtocolQuestion(MessagePart):
    message_type: str | None = None
    schemas: bool = False


class RulesAnswer(ExactPart):
    game_type: str
    title: str
    how_to_play: str
    parameters: dict[str, Any]
    method: str
    question: str
    answer: str
    illegal_move: str


class DescribedMethod(ExactPart):
    name: str
    served_by: list[Role]
    request: str | None
    reply: str | None
    caller: str


class ProtocolAnswer(ExactPart):
    protocol: str
    version: str
    minimum_version: str
    methods: list[DescribedMethod]
    message_types: list[str]
    schemas: dict[str, dict[str, Any]]
