"""Addresses as people type them, and as agents hand them out."""

import pytest

from agent_league.errors import UserError
from agent_league.http.hosts import own_endpoint, parse_manager_endpoint


@pytest.mark.parametrize(
    ("typed", "called"),
    [
        ("http://localhost:8000/mcp", "http://localhost:8000/mcp"),
        ("http://localhost:8000", "http://localhost:8000/mcp"),
        ("http://localhost:8000/", "http://localhost:8000/mcp"),
        ("localhost:8000", "http://localhost:8000/mcp"),
        ("https://league.example/other/path", "https://league.example/other/path"),
        ("[::1]:8000", "http://[::1]:8000/mcp"),
    ],
)
def test_the_managers_address_is_understood(typed: str, called: str) -> None:
    assert parse_manager_endpoint(typed) == called


@pytest.mark.parametrize(
    "typed", ["", "ftp://localhost:8000", "http://", "localhost:http", "localhost:99999", "a b:80", ":0"]
)
def test_what_is_no_address_is_refused_with_an_example(typed: str) -> None:
    with pytest.raises(UserError, match="expected one such as http://localhost:8000/mcp"):
        parse_manager_endpoint(typed)


@pytest.mark.parametrize(
    ("host", "endpoint"),
    [
        ("127.0.0.1", "http://localhost:8101/mcp"),
        ("localhost", "http://localhost:8101/mcp"),
        ("0.0.0.0", "http://localhost:8101/mcp"),
        ("::", "http://localhost:8101/mcp"),
        ("192.168.1.5", "http://192.168.1.5:8101/mcp"),
        ("::1", "http://[::1]:8101/mcp"),
    ],
)
def test_an_agent_hands_out_an_address_that_others_can_call(host: str, endpoint: str) -> None:
    assert own_endpoint(host, 8101, "localhost") == endpoint
