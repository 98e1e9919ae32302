"""Hosts and addresses in the one form in which they are compared."""

import pytest

from agent_league.http.hosts import (
    are_all_loopback,
    choose_listen_host,
    find_outward_address,
    is_local_host,
    is_loopback,
    may_be_same_agent,
    means_other_machine,
    normalise_address,
    normalise_endpoint,
    normalise_host,
    own_endpoint,
)


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("http://localhost:8101/mcp", "http://127.0.0.1:8101/other", True),
        ("http://localhost:8101/mcp", "http://localhost:8102/mcp", False),
        ("http://h:8000/seats/S1/mcp", "http://h:8000/seats/S2/mcp", False),
        ("http://h:8000/seats/S1/mcp", "http://h:8000/mcp", False),
        ("http://h:8000/seats/S1/mcp", "http://h:8000/seats/S1/mcp/", True),
        ("https://h/~ann/mcp", "https://h:443/~bob/mcp", False),
    ],
)
def test_several_agents_of_one_host_are_told_apart_by_their_paths(one: str, other: str, is_same: bool) -> None:
    assert may_be_same_agent(one, other) is is_same


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
    assert normalise_host(text) == host


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
    assert normalise_host(text) not in ("localhost", "::1", "127.0.0.1")


def test_an_address_has_one_form() -> None:
    assert normalise_address("::ffff:10.0.0.1") == normalise_address("10.0.0.1") == "10.0.0.1"
    assert normalise_address("fe80:0::1") == "fe80::1"
    assert normalise_address("name") == "name"


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


@pytest.mark.parametrize(
    ("hosts", "expected"),
    [
        (["localhost", "127.0.0.1", "::1"], True),
        (["LOCALHOST.", "[::1]", "127.9.9.9", "::ffff:127.0.0.1"], True),
        (["localhost", "10.0.0.1"], False),
        (["localhost", "*"], False),
        (["localhost.evil"], False),
        (["0.0.0.0"], False),
    ],
)
def test_a_league_is_loopback_where_all_its_hosts_are(hosts: list[str], expected: bool) -> None:
    assert are_all_loopback(hosts) is expected


@pytest.mark.parametrize(
    "endpoint",
    [
        "http://localhost:8001/mcp",
        "http://LocalHost.:8001",
        "http://127.0.0.1:8001/mcp",
        "http://127.0.0.2:8001/other",
        "https://[::1]:8001/mcp?x=1",
        "http://[::ffff:127.0.0.1]:8001/",
        "mcp://localhost:8001/referee_001",
    ],
)
def test_this_machine_has_several_names_and_is_one_place(endpoint: str) -> None:
    assert normalise_endpoint(endpoint) == ("localhost", 8001)


@pytest.mark.parametrize(
    ("endpoint", "place"),
    [
        ("http://lab-7.example.org:8001/mcp", ("lab-7.example.org", 8001)),
        ("http://LAB-7.example.org./mcp", ("lab-7.example.org", 80)),
        ("https://10.0.0.1/mcp", ("10.0.0.1", 443)),
        ("http://localhost/mcp", ("localhost", 80)),
        ("http://localhost:80/mcp", ("localhost", 80)),
    ],
)
def test_another_place_is_known_by_host_and_port(endpoint: str, place: tuple[str, int]) -> None:
    assert normalise_endpoint(endpoint) == place


@pytest.mark.parametrize(
    "endpoint", ["", "nonsense", "http://", "http://localhost:port/mcp", "http://[::1", "http://x:99999"]
)
def test_what_leads_nowhere_is_no_place_of_ours(endpoint: str) -> None:
    assert normalise_endpoint(endpoint) != normalise_endpoint("http://localhost:8001/mcp")
    assert normalise_endpoint(endpoint) == normalise_endpoint(endpoint)


def test_hosts_that_mean_another_machine_wherever_they_are_used() -> None:
    local = ["localhost", "me.localhost", "127.0.0.1", "[::1]:80", "0.0.0.0", "::", "169.254.3.4", "fe80::1%eth0"]
    assert [host for host in local if not is_local_host(host)] == []
    assert [host for host in ("10.0.0.1", "192.168.1.2", "fd00::1", "example.org", "") if is_local_host(host)] == []


def test_an_agent_listens_where_it_reaches_its_manager() -> None:
    here, nowhere = "http://localhost:8000/mcp", "http://no-such-host.invalid/mcp"
    assert find_outward_address(here) is find_outward_address(nowhere) is None
    assert choose_listen_host(None, here) == choose_listen_host(None, nowhere) == "127.0.0.1"
    assert choose_listen_host("10.0.0.1", here) == "10.0.0.1"


def test_the_endpoint_is_the_public_url_or_where_the_agent_listens() -> None:
    manager = "http://localhost:8000/mcp"
    assert own_endpoint("127.0.0.1", 8101, "localhost", manager) == "http://localhost:8101/mcp"
    assert own_endpoint("0.0.0.0", 8101, "localhost", manager) == "http://localhost:8101/mcp"
    assert own_endpoint("0.0.0.0", 8101, "lab-7", manager) == "http://lab-7:8101/mcp"
    assert own_endpoint("10.0.0.1", 8101, "localhost", manager) == "http://10.0.0.1:8101/mcp"
    assert own_endpoint("fd00::1", 8101, "localhost", manager) == "http://[fd00::1]:8101/mcp"
    assert own_endpoint("127.0.0.1", 8101, "localhost", manager, "me.example") == "http://me.example/mcp"
    assert own_endpoint("127.0.0.1", 8101, "localhost", manager, "https://me.example/x") == "https://me.example/x"


def test_a_manager_elsewhere_that_calls_itself_localhost_is_not_here() -> None:
    assert means_other_machine("http://localhost:8000/mcp", "http://10.0.0.1:8000/mcp")
    assert not means_other_machine("http://localhost:8000/mcp", "http://127.0.0.1:8000/mcp")
    assert not means_other_machine("http://10.0.0.2:8000/mcp", "http://10.0.0.1:8000/mcp")
