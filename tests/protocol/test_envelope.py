"""Who a sender is."""

import pytest

from agent_league.model.agents import Role
from agent_league.protocol.envelope import Sender


@pytest.mark.parametrize(
    ("text", "role", "agent_id"),
    [
        ("league_manager", Role.LEAGUE_MANAGER, "league_manager"),
        ("referee:REF01", Role.REFEREE, "REF01"),
        ("player:P01", Role.PLAYER, "P01"),
        ("player:P100", Role.PLAYER, "P100"),
        ("player:alpha", Role.PLAYER, "alpha"),
        ("player:Agent Ä:2", Role.PLAYER, "Agent Ä:2"),
    ],
)
def test_a_sender_is_read_and_written_again(text: str, role: Role, agent_id: str) -> None:
    sender = Sender.parse(text)
    assert sender == Sender(role, agent_id)
    assert str(sender) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "player",
        "player:",
        "referee:",
        "P01",
        "Player:P01",
        "league_manager:LM",
        "admin:root",
        ":P01",
        " player:P01",
    ],
)
def test_anything_else_is_no_sender(text: str) -> None:
    assert Sender.parse(text) is None
