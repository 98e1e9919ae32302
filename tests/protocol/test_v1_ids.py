"""The ids and addresses of `league.v1`."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_league.protocol.v1.ids import (
    derive_conversation_uuid,
    derive_league_uuid,
    format_v1_endpoint,
    from_v1_player_id,
    make_league_uuid,
    parse_v1_endpoint,
    to_v1_player_id,
)


@pytest.mark.parametrize(
    ("ours", "theirs"), [("P01", "player_001"), ("P99", "player_099"), ("P100", "player_100"), ("P1234", "player_1234")]
)
def test_a_player_has_one_id_inside_and_one_in_v1(ours: str, theirs: str) -> None:
    assert to_v1_player_id(ours) == theirs
    assert from_v1_player_id(theirs) == ours


@given(st.integers(1, 9999))
def test_every_id_comes_back_as_itself(number: int) -> None:
    assert from_v1_player_id(to_v1_player_id(f"P{number:02}")) == f"P{number:02}"


@pytest.mark.parametrize("name", ["alpha", "REF01", "P1", "candidate", "P" + "9" * 5000])
def test_a_name_of_another_form_gets_the_prefix(name: str) -> None:
    assert to_v1_player_id(name) == f"player_{name}"
    assert to_v1_player_id(f"player_{name}") == f"player_{name}"


@pytest.mark.parametrize(
    "name", ["player_alpha", "player_01", "player_0001", "P01", "player_" + "9" * 5000, "player_\u0660\u0660\u0661"]
)
def test_an_id_that_isnt_the_v1_form_of_one_of_ours_stays_as_it_is(name: str) -> None:
    assert from_v1_player_id(name) == name


def test_league_and_conversation_ids_are_uuids_that_follow_from_ours() -> None:
    made = {
        derive_league_uuid("one"),
        derive_league_uuid("two"),
        derive_conversation_uuid("one"),
        derive_conversation_uuid("two"),
    }
    assert len(made) == 4
    assert all(str(UUID(text)) == text and UUID(text).version == 5 for text in made)
    assert derive_league_uuid("one") == derive_league_uuid("one") == "e086a439-4e5a-57bb-a4db-1533c9bc4ad6"


def test_every_instance_of_a_league_has_a_uuid_of_its_own_that_it_keeps() -> None:
    made = {make_league_uuid("one", secret) for secret in ("a", "b")} | {make_league_uuid("two", "a")}
    assert len(made) == 3
    assert all(UUID(one).version == 4 for one in made)
    assert make_league_uuid("one", "a") in made
    assert make_league_uuid(str(UUID(int=7)), "a") == str(UUID(int=7)), "a UUID stays itself"


@pytest.mark.parametrize("made", [derive_league_uuid, derive_conversation_uuid])
def test_a_uuid_stays_itself(made: object) -> None:
    text = "AA0e8400-e29b-41d4-a716-446655440005"
    assert made(text) == text  # type: ignore[operator]


@pytest.mark.parametrize(
    ("address", "called"),
    [
        ("mcp://localhost:5000/player_alpha", "http://localhost:5000/mcp"),
        ("mcp://192.168.1.100:8080/player_001", "http://192.168.1.100:8080/mcp"),
        ("mcp://agent-server.local:9000/my_agent", "http://agent-server.local:9000/mcp"),
        ("mcp://[::1]:9000/me", "http://[::1]:9000/mcp"),
        ("mcp://localhost:5000", "http://localhost:5000/mcp"),
        ("http://localhost:5000/other", "http://localhost:5000/other"),
    ],
)
def test_an_address_of_the_seed_is_called_at_its_mcp_path(address: str, called: str) -> None:
    assert parse_v1_endpoint(address) == called


@pytest.mark.parametrize(
    "address", ["mcp://player-alpha", "mcp://localhost/player_001", "mcp://:5000/x", "mcp://h:99999/x", "mcp://[::1/x"]
)
def test_an_address_without_host_and_port_can_t_be_called_and_the_error_says_so(address: str) -> None:
    with pytest.raises(ValueError, match="can't be called: expected mcp://host:port/name") as caught:
        parse_v1_endpoint(address)
    assert repr(address) in str(caught.value)


def test_an_address_of_ours_is_written_as_the_seed_does_and_read_back() -> None:
    written = format_v1_endpoint("http://localhost:8101/mcp", "player_alpha")
    assert written == "mcp://localhost:8101/player_alpha"
    assert parse_v1_endpoint(written) == "http://localhost:8101/mcp"
