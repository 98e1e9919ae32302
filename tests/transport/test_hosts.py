"""Hosts and addresses in the one form in which they are compared."""

import pytest

from agent_league.transport.hosts import is_loopback, plain_address, plain_host


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("localhost", "localhost"),
        ("LocalHost:8000", "localhost"),
        ("localhost.", "localhost"),
        ("localhost.:8000", "localhost"),
        (" localhost:\t", "localhost"),
        ("127.0.0.1:1", "127.0.0.1"),
        ("::1", "::1"),
        ("[::1]", "::1"),
        ("[::1]:8000", "::1"),
        ("[0:0:0:0:0:0:0:1]:8000", "::1"),
        ("2001:DB8::A", "2001:db8::a"),
        ("[::ffff:192.168.1.5]:80", "192.168.1.5"),
        ("Lab-7.Example.org:65535", "lab-7.example.org"),
        ("", ""),
    ],
)
def test_a_host_is_known_by_its_name_alone(text: str, host: str) -> None:
    assert plain_host(text) == host


@pytest.mark.parametrize(
    "text",
    [
        "localhost:evil",
        "localhost:80:80",
        "localhost:-1",
        "[::1",
        "::1]",
        "[::1]evil",
        "[::1]:evil",
        "[]",
        "evil@localhost",
        "localhost/evil",
        "localhost..",
        "localhost evil",
        "localhost\\",
        "evil.localhost",
        "localhost.evil",
        "127.0.0.1.evil",
        "0x7f.1",
        "2130706433",
        "localhost:\u0661",
        "12\u0667.0.0.1",
    ],
)
def test_what_only_looks_like_a_host_is_taken_for_no_other(text: str) -> None:
    assert plain_host(text) not in ("localhost", "::1", "127.0.0.1")


def test_an_address_has_one_form() -> None:
    assert plain_address("::ffff:10.0.0.1") == plain_address("10.0.0.1") == "10.0.0.1"
    assert plain_address("fe80:0::1") == "fe80::1"
    assert plain_address("name") == "name"


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("::ffff:127.0.0.1", True),
        ("10.0.0.1", False),
        ("0.0.0.0", False),
        ("localhost", False),
        ("", False),
    ],
)
def test_loopback_is_told_by_the_address(address: str, expected: bool) -> None:
    assert is_loopback(address) is expected
