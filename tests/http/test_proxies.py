"""Servers behind proxies: whose address counts, and below which path they are."""

from typing import Any

import pytest
from starlette.types import Receive, Scope, Send

from agent_league.config.models import NetworkConfig
from agent_league.http.exposure import is_loopback_only
from agent_league.http.proxies import TrustedProxies, serve_behind_proxies

PROXIES = ("127.0.0.1", "10.0.0.0/24", "fd00::/64")


@pytest.mark.parametrize(
    ("peer", "forwarded", "caller"),
    [
        ("127.0.0.1", ["203.0.113.7"], "203.0.113.7"),
        ("127.0.0.1", ["198.51.100.1, 203.0.113.7"], "203.0.113.7"),  # the first is the caller's own claim
        ("127.0.0.1", ["203.0.113.7, 10.0.0.9"], "203.0.113.7"),
        ("127.0.0.1", ["203.0.113.7", "10.0.0.9, 10.0.0.8"], "203.0.113.7"),
        ("10.0.0.200", ["127.0.0.1, 203.0.113.7"], "203.0.113.7"),
        ("127.0.0.1", ["10.0.0.9, 127.0.0.1"], "10.0.0.9"),  # a proxy itself calls
        ("127.0.0.1", ["203.0.113.7:4711"], "203.0.113.7"),
        ("fd00::1", ["[2001:db8::1]:4711"], "2001:db8::1"),
        ("::ffff:127.0.0.1", ["::ffff:203.0.113.7"], "203.0.113.7"),
        ("127.0.0.1", [], "127.0.0.1"),
        ("127.0.0.1", [""], "127.0.0.1"),
        ("127.0.0.1", ["unknown"], "127.0.0.1"),
        ("127.0.0.1", ["203.0.113.7, unknown, 10.0.0.9"], "10.0.0.9"),
        ("203.0.113.66", ["127.0.0.1"], "203.0.113.66"),  # nobody's proxy
        ("10.0.1.1", ["127.0.0.1"], "10.0.1.1"),
    ],
)
def test_the_last_address_that_is_no_trusted_proxy_counts(peer: str, forwarded: list[str], caller: str) -> None:
    headers = [(b"x-forwarded-for", value.encode()) for value in forwarded]
    assert TrustedProxies(PROXIES).find_caller((peer, 1), headers)[0] == caller


@pytest.mark.parametrize(
    ("path", "served"),
    [
        ("/x/y/mcp", "/mcp"),
        ("/x/y", "/"),
        ("/x/y/", "/"),
        ("/mcp", "/mcp"),
        ("/x/yz", "/x/yz"),
        ("/X/y/mcp", "/X/y/mcp"),
    ],
)
async def test_the_base_path_is_taken_off_where_the_proxy_has_left_it(path: str, served: str) -> None:
    seen: list[Scope] = []

    async def app(scope: Scope, _receive: Receive, _send: Send) -> None:
        seen.append(scope)

    async def nothing(*_: Any) -> Any: ...

    wrapped = serve_behind_proxies(app, NetworkConfig(public_url="https://example.org/x/y"))
    headers = [(b"x-forwarded-for", b"203.0.113.7"), (b"x-forwarded-prefix", b"/evil"), (b"x-forwarded-host", b"evil")]
    await wrapped({"type": "http", "path": path, "client": ("127.0.0.1", 1), "headers": headers}, nothing, nothing)
    assert (seen[0]["path"], seen[0]["root_path"], seen[0]["client"]) == (served, "/x/y", ("127.0.0.1", 1))
    assert serve_behind_proxies(app, NetworkConfig()) is app


@pytest.mark.parametrize(
    ("network", "options", "is_so"),
    [
        ({}, {}, True),
        ({}, {"listens_on_loopback": False}, False),
        ({}, {"has_dial_out_seats": True}, False),
        ({"public_url": "http://localhost:8080"}, {}, False),
        ({"trusted_proxies": ("127.0.0.1",)}, {}, False),
        ({"allowed_hosts": ("localhost", "lab-7")}, {}, False),
        ({"allowed_hosts": ("*",)}, {}, False),
    ],
)
def test_what_brings_others_in_ends_the_closed_circle(
    network: dict[str, Any], options: dict[str, bool], is_so: bool
) -> None:
    assert is_loopback_only(NetworkConfig(**network), **options) is is_so


@pytest.mark.parametrize(
    "address",
    [
        *(
            "example.org",
            "ftp://example.org",
            "https://",
            "https://a b/",
            "https://user@example.org",
            "https://x:99999",
        ),
        *("https://example.org/?a=1", "https://example.org/#x", "https://example.org/a/../b", "https://example.org//a"),
        *("https://example.org/%2e", "https://example.org/mcp", "https://example.org/leagues", "https://x\\y"),
    ],
)
def test_a_public_url_is_the_address_of_a_front_page(address: str) -> None:
    with pytest.raises(ValueError, match="Input should"):
        NetworkConfig(public_url=address)
    with pytest.raises(ValueError, match="IP address or network"):
        NetworkConfig(trusted_proxies=("proxy.example.org",))


def test_host_origin_and_path_of_pages_come_from_the_public_url() -> None:
    network = NetworkConfig(public_url="https://example.org:8443/x/y/")
    assert (network.public_host, network.public_origin, network.public_path) == (
        "example.org",
        "https://example.org:8443",
        "/x/y",
    )
    assert NetworkConfig().public_path == ""
