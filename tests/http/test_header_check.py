"""Who may come in, by the headers of a request alone."""

from typing import Any

import pytest

from agent_league.http.carrier import RequestRejected
from agent_league.http.header_check import MAX_REMEMBERED_VALUES, HeaderCheck

LAB = HeaderCheck(("lab-7", "192.168.1.5", "[2001:db8::7]"))
Headers = list[tuple[bytes, bytes]]


def scope(*headers: tuple[bytes, bytes], server: str | None = "10.0.0.1") -> dict[str, Any]:
    return {"type": "http", "headers": list(headers), "server": (server, 8000) if server else None}


def host(name: str) -> tuple[bytes, bytes]:
    return b"host", name.encode("latin-1")


def admit(check: HeaderCheck, asked: dict[str, Any]) -> None:
    check.check_post(check.check_request(asked))


def status(check: HeaderCheck, asked: dict[str, Any]) -> int | None:
    """With which status a request is turned away."""
    try:
        admit(check, asked)
    except RequestRejected as error:
        return error.status
    return None


@pytest.mark.parametrize(
    "name", ["lab-7", "LAB-7:8000", "lab-7.", "192.168.1.5:1", "[2001:DB8:0::7]:8000", "10.0.0.1:8000"]
)
def test_an_allowed_host_or_the_address_it_came_in_on_is_admitted(name: str) -> None:
    for _ in range(2):
        assert status(LAB, scope(host(name))) is None


@pytest.mark.parametrize(
    "name", ["evil.example", "localhost", "lab-7.evil.example", "10.0.0.2", "0.0.0.0", "", "[", "\xe9"]
)
def test_another_host_is_misdirected(name: str) -> None:
    for _ in range(2):
        assert status(LAB, scope(host(name))) == 421


def test_no_host_at_all_is_misdirected() -> None:
    assert status(LAB, scope()) == 421
    assert status(LAB, scope(server=None)) == 421


@pytest.mark.parametrize("server", ["127.0.0.1", "127.0.0.9", "::1", "::ffff:127.0.0.1"])
def test_localhost_is_the_name_of_every_loopback_address(server: str) -> None:
    assert status(LAB, scope(host("localhost:8000"), server=server)) is None
    assert status(LAB, scope(host("evil.example"), server=server)) == 421


def test_a_star_admits_every_host_and_another_every_page() -> None:
    page = (host("evil.example"), (b"origin", b"null"))
    assert status(HeaderCheck(["*"]), scope()) is None
    assert status(HeaderCheck(["*"]), scope(*page)) == 403
    assert status(HeaderCheck(["*"], ["*"]), scope(*page)) is None


@pytest.mark.parametrize(
    ("name", "origin"),
    [
        ("lab-7", "http://lab-7"),
        ("LAB-7:80", "http://lab-7"),
        ("lab-7", "https://LAB-7:443"),
        ("lab-7:8000", "http://lab-7.:8000"),
        ("[2001:db8::7]:8000", "http://[2001:DB8:0::7]:8000"),
        ("10.0.0.1:8000", "http://10.0.0.1:8000"),
    ],
)
def test_a_page_of_our_own_is_admitted(name: str, origin: str) -> None:
    assert status(LAB, scope(host(name), (b"origin", origin.encode()))) is None


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "null",
        "",
        "lab-7",
        "http://lab-7.evil.example",
        "http://evil@lab-7",
        "file://",
        "://",
        "http://lab-7:3000",
        "http://localhost:8000",
        "http://192.168.1.5:8000",
        "http://lab-7:8000/path",
        "http://lab-7:99999",
        "http://[lab-7:8000",
    ],
)
def test_another_page_is_forbidden(origin: str) -> None:
    assert status(LAB, scope(host("lab-7:8000"), (b"origin", origin.encode()))) == 403


def test_a_page_that_the_settings_name_is_admitted_and_its_neighbour_is_not() -> None:
    check = HeaderCheck(("lab-7",), ("http://localhost:3000", "https://School.example"))
    for origin, expected in [
        ("http://localhost:3000", None),
        ("https://school.example", None),
        ("http://localhost:3001", 403),
        ("https://localhost:3000", 403),
        ("http://school.example", 403),
    ]:
        assert status(check, scope(host("lab-7"), (b"origin", origin.encode()))) == expected, origin


@pytest.mark.parametrize(
    "content_type",
    ["application/json", "application/json; charset=utf-8", "Application/JSON;charset=UTF-8", "application/json ;x"],
)
def test_json_is_admitted_however_it_is_written(content_type: str) -> None:
    for _ in range(2):
        assert status(LAB, scope(host("lab-7"), (b"content-type", content_type.encode()))) is None


def test_a_simple_program_may_leave_the_content_type_out() -> None:
    assert status(LAB, scope(host("lab-7"))) is None


@pytest.mark.parametrize(
    "content_type",
    [
        "text/plain",
        "text/plain;charset=UTF-8",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=application/json",
        "application/jsonx",
        "text/plain; application/json",
        "",
    ],
)
def test_what_a_page_may_send_unasked_is_no_json(content_type: str) -> None:
    assert status(LAB, scope(host("lab-7"), (b"content-type", content_type.encode()))) == 415


@pytest.mark.parametrize("name", ["host", "origin", "content-type", "content-length", "authorization"])
def test_a_header_that_decides_comes_once(name: str) -> None:
    twice = [(name.encode(), b"lab-7")] * 2
    assert status(LAB, scope(*twice, *([] if name == "host" else [host("lab-7")]))) == 400


def test_another_header_may_come_twice() -> None:
    assert status(LAB, scope((b"accept", b"a"), (b"accept", b"b"), host("lab-7"))) is None


@pytest.mark.parametrize(
    ("headers", "words"),
    [
        ([host("evil.example")], ["Host", "'evil.example'", "network.allowed_hosts", "system.json"]),
        ([], ["Host", "nothing", "network.allowed_hosts"]),
        (
            [host("lab-7"), (b"origin", b"http://evil.example")],
            ["Origin", "'http://evil.example'", "network.allowed_origins"],
        ),
        ([host("lab-7"), (b"content-type", b"text/plain")], ["Content-Type", "'text/plain'", "application/json"]),
        ([host("lab-7"), host("lab-7")], ["Host", "2 times", "once"]),
    ],
)
def test_the_sentence_says_what_came_what_was_expected_and_what_to_change(headers: Headers, words: list[str]) -> None:
    with pytest.raises(RequestRejected) as turned_away:
        admit(LAB, scope(*headers))
    assert [word for word in words if word not in turned_away.value.sentence] == []


def test_a_sentence_is_short_and_harmless_whatever_came() -> None:
    with pytest.raises(RequestRejected) as turned_away:
        admit(LAB, scope(host("\x1b[2J\xff<script>" + "x" * 10_000)))
    sentence = turned_away.value.sentence
    assert len(sentence) < 400
    assert sentence.isascii()
    assert sentence.isprintable()


def test_a_sentence_names_no_host_of_ours() -> None:
    """A page that came in under a name of its own may read the answer."""
    with pytest.raises(RequestRejected) as turned_away:
        admit(LAB, scope(host("evil.example")))
    assert "lab-7" not in turned_away.value.sentence


def test_made_up_ports_fill_no_memory() -> None:
    check = HeaderCheck(("lab-7",))
    for port in range(2 * MAX_REMEMBERED_VALUES):
        assert status(check, scope(host(f"lab-7:{port}"), (b"content-type", b"application/json;%d" % port))) is None
    assert len(check._good_hosts) <= MAX_REMEMBERED_VALUES
    assert len(check._good_types) <= MAX_REMEMBERED_VALUES


def test_made_up_ports_keep_nobody_else_from_being_known() -> None:
    check = HeaderCheck(("lab-7",))
    for port in range(MAX_REMEMBERED_VALUES):
        admit(check, scope(host(f"lab-7:{port}"), (b"content-type", b"application/json; x=%d" % port)))
    name, kind = host("lab-7:8000"), (b"content-type", b"application/json; charset=utf-8")
    admit(check, scope(name, kind))
    assert name[1] in check._good_hosts
    assert kind[1] in check._good_types
