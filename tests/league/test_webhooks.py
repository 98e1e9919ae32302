"""Webhooks: news reach real servers that fail, redirect, hang or ask to wait, and the league never waits for them."""

import asyncio
import base64
import hashlib
import hmac
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from agent_league.config import ConfigLoader
from agent_league.config.models import SchedulingConfig
from agent_league.config.webhooks import WebhookConfig
from agent_league.errors import ConfigError, UserError
from agent_league.http.checked_resolver import CheckedResolver
from agent_league.http.client import HttpCarrier
from agent_league.league.news_outbox import NewsOutbox
from agent_league.league.webhook_addresses import Webhook, load_webhooks
from agent_league.league.webhook_messages import (
    LeagueNews,
    NewsSource,
    find_news,
    write_discord,
    write_json,
    write_slack,
)
from agent_league.league.webhooks import WebhookSender, parse_retry_after
from agent_league.model.agents import AgentState
from agent_league.model.events import AgentStateChanged, LeagueCompleted, LeagueStarted, RoundCompleted
from agent_league.model.results import StandingsRow
from agent_league.storage.base import NewsRow, RemovedRow, StoredRow
from tests.conftest import BOUND
from tests.http.wire import raw_server
from tests.league.conftest import OfficeMaker
from tests.league.office import LEAGUE_ID, Office
from tests.web.seasons import season_of

OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
LOCAL = ("127.0.0.1",)


def answer(status: str, body: str = "", headers: str = "") -> str:
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{headers}\r\n{body}"


@dataclass
class HookServer:
    """A server that answers posts one by one with what it was told; the last answer again and again. None: it hangs."""

    answers: list[str | None]
    url: str = ""
    posts: list[tuple[dict[str, str], Any]] = field(default_factory=list)
    news: asyncio.Event = field(default_factory=asyncio.Event)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := (await reader.readuntil(b"\r\n\r\n")).decode():
            lines = [line.partition(": ") for line in head.splitlines()[1:] if line]
            headers = {name.lower(): value for name, _, value in lines}
            body = await reader.readexactly(int(headers["content-length"]))
            self.posts.append((headers, body))
            self.news.set()
            told = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
            if told is None:
                await asyncio.Event().wait()
            else:
                writer.write(told.encode())

    async def wait_for_posts(self, count: int) -> list[Any]:
        """The first bodies that came, as JSON."""
        async with asyncio.timeout(BOUND):
            while len(self.posts) < count:
                self.news.clear()
                await self.news.wait()
        return [json.loads(body) for _, body in self.posts]


@asynccontextmanager
async def hook_server(*answers: str | None) -> AsyncIterator[HookServer]:
    hook = HookServer(list(answers) or [OK])
    async with raw_server(hook.serve) as url:
        hook.url = url.replace("/mcp", "/hook/secret-path")
        yield hook


def make_sender(here: Office, *hooks: HookServer, allowed: tuple[str, ...] = LOCAL, **config: Any) -> WebhookSender:
    webhooks = [
        Webhook(f"webhooks.{number}", WebhookConfig(url=hook.url, **config), hook.url, b"key")
        for number, hook in enumerate(hooks)
    ]
    waits = (0.001, 0.001, 0.001)
    make: Callable[[], HttpCarrier] = lambda: HttpCarrier(CheckedResolver(allowed))  # noqa: E731
    sender = WebhookSender(webhooks, here.manager.state, here.clock, here.manager.log, make, retry_waits=waits)
    here.manager.add_watcher(sender.handle_event)
    return sender


def log_of(here: Office) -> str:
    return (here.home / "logs" / "league" / LEAGUE_ID / "league.log.jsonl").read_text()


async def test_a_league_tells_of_its_start_rounds_and_end(office: OfficeMaker) -> None:
    here = office()
    async with hook_server() as hook:
        sender = make_sender(here, hook)
        await here.play(4)
        told = await hook.wait_for_posts(4)
        await sender.close()
    assert [one["type"] for one in told] == ["league.start", "league.round", "league.round", "league.end"]
    assert told[0]["data"]["league_id"] == LEAGUE_ID
    assert "is the champion" in told[-1]["data"]["text"] or "share the first place" in told[-1]["data"]["text"]
    assert len(told[-1]["data"]["standings"]) == 4


async def test_names_that_a_league_hides_are_in_no_post(office: OfficeMaker) -> None:
    here = office({"visibility": "pseudonyms"})
    async with hook_server() as hook:
        sender = make_sender(here, hook)
        players = await here.play(4)
        await hook.wait_for_posts(4)
        await sender.close()
    assert not [player.name for player in players if any(player.name.encode() in body for _, body in hook.posts)]


async def test_json_is_signed_as_standard_webhooks_are(office: OfficeMaker) -> None:
    here = office()
    async with hook_server() as hook:
        sender = make_sender(here, hook)
        sender.report_failure("the disk is full")
        await hook.wait_for_posts(1)
        await sender.close()
    headers, body = hook.posts[0]
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    expected = base64.b64encode(hmac.new(b"key", signed, hashlib.sha256).digest()).decode()
    assert headers["webhook-signature"] == f"v1,{expected}"
    assert json.loads(body)["data"]["text"] == "The league has failed: the disk is full."


@pytest.mark.parametrize(
    "first",
    [
        answer("500 No"),
        answer("503 Busy"),
        answer("429 Slow", '{"retry_after": 0.001}'),
        "no HTTP\r\n\r\n",
    ],
)
async def test_a_post_that_fails_is_tried_again(office: OfficeMaker, first: str) -> None:
    here = office()
    async with hook_server(first, OK) as hook:
        sender = make_sender(here, hook)
        sender.report_failure("once")
        told = await hook.wait_for_posts(2)
        await sender.close()
    assert told[0] == told[1]
    assert hook.posts[0][0]["webhook-id"] == hook.posts[1][0]["webhook-id"]


@pytest.mark.parametrize(
    ("refusal", "posts"),
    [
        (answer("302 Found", headers="Location: http://127.0.0.1:1/\r\n"), 1),
        (answer("404 Gone"), 1),
        (answer("500 No"), 4),
        (answer("429 Slow"), 4),
    ],
)
async def test_a_post_is_given_up_and_the_next_one_goes_on(office: OfficeMaker, refusal: str, posts: int) -> None:
    here = office()
    async with hook_server(*([refusal] * posts), OK) as hook:
        sender = make_sender(here, hook)
        sender.report_failure("first")
        sender.report_failure("second")
        told = await hook.wait_for_posts(posts + 1)
        await sender.close()
    assert [one["data"]["text"][-7:] for one in told] == [" first."] * posts + ["second."]
    failed = [line for line in log_of(here).splitlines() if '"webhook_failed"' in line]
    assert len(failed) == posts
    assert '"gives_up":true' in failed[-1].replace(" ", "")
    assert "secret-path" not in log_of(here)


async def test_a_webhook_that_hangs_holds_up_neither_the_league_nor_another_webhook(
    office: OfficeMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent_league.league.webhooks.CLOSE_SECONDS", 0.01)
    here = office()
    async with hook_server(None) as stuck, hook_server() as hook:
        sender = make_sender(here, stuck, hook)
        await here.play(4)
        await hook.wait_for_posts(4)
        await sender.close()
    assert len(stuck.posts) == 1
    assert '"webhook_kept"' in log_of(here)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("120", 120.0),
        (" 7 ", 7.0),
        ("86400", 600.0),
        ("9" * 400, 600.0),
        ("Wed, 15 Jan 2025 10:30:30 GMT", 30.0),
        ("Wed, 15 Jan 2025 10:29:00 GMT", 0.0),
        ("Thu, 16 Jan 2025 10:29:00 GMT", 600.0),
        ("-5", 0.0),
        ("\u0661", 0.0),
        ("soon", 0.0),
        (None, 0.0),
    ],
)
def test_a_server_may_ask_to_be_left_alone_for_a_while(header: str | None, seconds: float) -> None:
    assert parse_retry_after(header, datetime(2025, 1, 15, 10, 30, tzinfo=UTC)) == seconds


async def test_the_header_retry_after_is_read_and_bounded(office: OfficeMaker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent_league.league.webhooks.MAX_WAIT_ASKED", 0.05)
    here = office()
    busy = [answer("429 Slow", headers="Retry-After: 3600\r\n"), answer("503 Busy", headers="Retry-After: 3600\r\n")]
    async with hook_server(*busy, OK) as hook:
        sender = make_sender(here, hook)
        begun = asyncio.get_running_loop().time()
        sender.report_failure("once")
        await hook.wait_for_posts(3)
        assert asyncio.get_running_loop().time() - begun >= 0.1, "it waited twice as long as it may be told to"
        await sender.close()


async def test_what_was_not_delivered_is_delivered_by_the_next_manager(
    office: OfficeMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent_league.league.webhooks.CLOSE_SECONDS", 0.01)
    rows = dict[int, StoredRow]()
    here = office()
    here.manager.state.outbox = NewsOutbox(lambda row: keep_row(rows, row))
    async with hook_server(None) as stuck, hook_server() as hook:
        sender = make_sender(here, stuck, hook)
        sender.report_failure("first")
        sender.report_failure("second")
        await stuck.wait_for_posts(1)
        await hook.wait_for_posts(2)
        await sender.close()
    assert '"webhook_kept"' in log_of(here)
    assert [row.post["webhook"] for row in rows.values() if isinstance(row, NewsRow)] == ["webhooks.0"] * 2
    here.manager.state.outbox = outbox = NewsOutbox(lambda row: keep_row(rows, row))
    outbox.restore_rows([row for row in rows.values() if isinstance(row, NewsRow)])
    async with hook_server() as back:
        sender = make_sender(here, back)
        sender.start()
        told = await back.wait_for_posts(2)
        sender.report_failure("third")
        told = await back.wait_for_posts(3)
        await sender.close()
    assert [one["data"]["text"].split()[-1] for one in told] == ["first.", "second.", "third."]
    assert back.posts[0][0]["webhook-id"] == stuck.posts[0][0]["webhook-id"]
    assert rows == {}


def keep_row(rows: dict[int, StoredRow], row: StoredRow) -> None:
    """Keep a row as a store does."""
    if isinstance(row, RemovedRow):
        del rows[int(row.key)]
    elif isinstance(row, NewsRow):
        rows[row.number] = row


async def test_of_too_many_posts_the_oldest_are_dropped_and_no_row_of_them_stays(
    office: OfficeMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent_league.league.webhooks.MAX_QUEUED", 3)
    monkeypatch.setattr("agent_league.league.webhooks.CLOSE_SECONDS", 0.01)
    here = office()
    async with hook_server(None) as stuck:
        sender = make_sender(here, stuck)
        for number in range(5):
            sender.report_failure(str(number))
        kept = [json.loads(post.body)["data"]["text"][-2:] for post in here.manager.state.outbox.list_posts()]
        await sender.close()
    assert kept == ["2.", "3.", "4."]


async def test_an_end_that_was_told_is_not_told_again_after_a_restart(office: OfficeMaker) -> None:
    here = office()
    async with hook_server() as hook:
        sender = make_sender(here, hook)
        await here.play(4)
        await hook.wait_for_posts(4)
        here.manager.state.emit_resumed()
        here.manager.state.emit_league_completed()  # as after a correction
        told = await hook.wait_for_posts(5)
        await sender.close()
    assert [one["type"] for one in told[3:]] == ["league.end", "league.end"]


async def test_a_host_that_is_not_allowed_is_never_called(office: OfficeMaker) -> None:
    here = office()
    async with hook_server() as hook:
        sender = make_sender(here, hook, allowed=("chat.example.org",))
        sender.report_failure("x")
        await asyncio.wait(sender._workers.values())
        await sender.close()
        assert hook.posts == []
    assert "its host is not allowed" in log_of(here)


@pytest.mark.parametrize(
    ("allowed", "name", "address", "is_called"),
    [
        (("chat.example.org",), "chat.example.org", "10.0.0.7", True),
        (("chat.example.org",), "chat.example.org", "127.0.0.1", False),
        (("chat.example.org",), "chat.example.org", "169.254.169.254", False),
        (("*",), "chat.example.org", "93.184.216.34", True),
        (("*",), "chat.example.org", "10.0.0.7", False),
        (("*",), "chat.example.org", "::1", False),
        (("*",), "chat.example.org", "::ffff:10.0.0.7", False),
        (("localhost",), "localhost", "127.0.0.1", True),
        (("127.0.0.1",), "chat.example.org", "93.184.216.34", False),
    ],
)
async def test_a_name_is_called_only_where_all_its_addresses_may_be(
    allowed: tuple[str, ...], name: str, address: str, is_called: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def look_up(*_: Any, **__: Any) -> list[Any]:
        return [(2, 1, 6, "", (address, 0))]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", look_up)
    resolver = CheckedResolver(allowed)
    if is_called:
        assert (await resolver.look_up(name))[0][-1] == (address, 0)
    else:
        with pytest.raises(ValueError, match=r"not allowed|may not be called"):
            await resolver.look_up(name)


async def test_the_same_trouble_of_an_agent_is_told_once_in_a_while(office: OfficeMaker) -> None:
    here = office()
    async with hook_server() as hook:
        sender = make_sender(here, hook)
        for player in ("P01", "P01", "P02"):
            sender.handle_event(AgentStateChanged(player, AgentState.SUSPENDED, "5 failures in a row"))
        sender.report_failure("over")
        told = await hook.wait_for_posts(3)
        await sender.close()
    assert [one["data"].get("agent_id") for one in told] == ["P01", "P02", None]


def row(name: str) -> StandingsRow:
    return StandingsRow(1, "P01", name, 1, 1, 0, 0, 3, 1)


EVIL = "<!channel> <@U123> [x](http://evil.example/a) @everyone *b* tok-p01-abcdefghijklmnop\u202e"


def test_strangers_text_is_safe_for_every_target() -> None:
    news = find_news(RoundCompleted(3, (row(EVIL),)), {})
    assert news is not None
    source = NewsSource("spring", "Spring <1>")
    slack, discord = json.loads(write_slack(source, news, "")), json.loads(write_discord(source, news, ""))
    assert "<" not in slack["text"]
    assert ">" not in slack["text"]
    assert slack["text"].startswith("Spring &lt;1&gt;: Round 3 is complete; ")
    assert (slack["mrkdwn"], slack["unfurl_links"]) == (False, False)
    assert "@everyone" not in discord["content"]
    assert "\\[x\\]" in discord["content"]
    assert discord["allowed_mentions"] == {"parse": []}
    for body in (write_json(source, news, ""), write_slack(source, news, ""), write_discord(source, news, "")):
        assert b"evil.example" not in body
        assert b"tok-p01" not in body
        assert "\u202e" not in body.decode()


@pytest.mark.parametrize("character", ["*", "@", "\U0001f98a", "<", "a"])
def test_discord_gets_no_longer_message_than_it_takes(character: str) -> None:
    """However much is escaped: rows give way, never the sentence."""
    rows = tuple(row(character * 100) for _ in range(5))
    said = LeagueNews("end", character * 500, rows)
    for page in ("", "https://league.example.org/" + "x" * 200):
        content = json.loads(write_discord(NewsSource("spring", character * 300, page), said, ""))["content"]
        assert len(content.encode("utf-16-le")) // 2 <= 2000
        assert content.replace("\\", "").replace("\u200b", "").count(character) >= 500
        assert page in content


def test_shared_ranks_and_single_points_are_told_as_they_are() -> None:
    drawn = StandingsRow(1, "P01", "Ann", 1, 0, 1, 0, 1, 1)
    news = find_news(RoundCompleted(1, (drawn,)), {})
    assert news is not None
    slack = json.loads(write_slack(NewsSource("spring", "Spring"), news, ""))
    discord = json.loads(write_discord(NewsSource("spring", "Spring"), news, ""))
    assert slack["text"].splitlines()[1] == "1. Ann: 1 point"
    assert discord["content"].splitlines()[1] == "1\\. Ann\\: 1 point", "no list, whose numbers Discord counts"


def test_what_is_news() -> None:
    assert find_news(AgentStateChanged("P01", AgentState.ACTIVE, "came back"), {}) is None
    assert find_news(RoundCompleted(3, (), is_last=True), {}) is None  # the end follows
    told = [find_news(event, {}) for event in (LeagueStarted("x", 4, 1, 3, 6), LeagueCompleted("x", 3, 6, (row("A"),)))]
    assert [one.event for one in told if isinstance(one, LeagueNews)] == ["start", "end"]


@pytest.mark.parametrize(
    ("scheduling", "sentence"),
    [
        (SchedulingConfig(format="swiss", rounds=5), "8 players, 5 rounds, 4 matches paired so far"),
        (SchedulingConfig(), "8 players, 7 rounds, 28 matches"),
    ],
)
def test_the_news_of_a_start_tell_which_matches_they_count(scheduling: SchedulingConfig, sentence: str) -> None:
    season, told = season_of(8, started=False, scheduling=scheduling), list[str]()
    season.add_listener(lambda event: told.extend(one.sentence for one in (find_news(event, {}),) if one))
    season.start_league()
    season.emit_resumed()
    begins, goes_on = told
    assert begins == f"The league starts: {sentence}"
    assert goes_on == f"The league goes on after 0 of {sentence.rpartition(', ')[2]}"


def load(home: Path, webhook: dict[str, Any], environ: dict[str, str] | None = None, **system: Any) -> list[Webhook]:
    loader = ConfigLoader(home, {"webhooks": [webhook], **system})
    return load_webhooks(loader.load_league(), loader.load_system(), home, environ or {})


def test_an_address_comes_from_the_file_the_environment_or_a_file_of_its_own(home: Path) -> None:
    url = "https://hooks.slack.com/services/T0/B0/secret"
    (home / "hook.txt").write_text(f"{url}\n")
    (home / "key.txt").write_text("whsec_a2V5\n")
    found = [
        *load(home, {"url": url}),
        *load(home, {"url_env": "HOOK", "kind": "slack"}, {"HOOK": url}),
        *load(home, {"url_file": "hook.txt", "secret_file": "key.txt"}),
    ]
    assert [webhook.url for webhook in found] == [url] * 3
    assert found[-1].secret == b"key"
    assert "T0" not in repr(found)


@pytest.mark.parametrize(
    ("webhook", "problem"),
    [
        ({}, "exactly one of url, url_env and url_file"),
        ({"url": "http://a.b/c", "url_env": "HOOK"}, "exactly one of url, url_env and url_file"),
        ({"url": "ftp://a.b/c"}, "an address such as"),
        ({"url": "https://user:pass@discord.com/x"}, "without a password"),
        ({"url_env": "NOT SET"}, "the name of an environment variable"),
        ({"url_env": "HOOK"}, "webhooks.0.url_env: the environment variable HOOK is not set"),
        ({"url_file": "none.txt"}, "webhooks.0.url_file: can't read none.txt: No such file"),
        ({"url": "https://evil.example/x"}, "the host 'evil.example' is not allowed"),
        ({"url": "https://discord.com/x", "kind": "discord", "secret_env": "KEY"}, "only with kind json"),
        ({"url": "https://discord.com/x", "kind": "teams"}, "'json', 'slack' or 'discord'"),
        ({"url": "https://discord.com/x", "events": ["boom"]}, "'start', 'round'"),
        ({"url": "https://discord.com/x", "secret_env": "KEY"}, "no base64"),
    ],
)
def test_a_webhook_that_cannot_work_is_refused_with_a_sentence(
    home: Path, webhook: dict[str, Any], problem: str
) -> None:
    with pytest.raises((ConfigError, UserError), match=problem.replace(".", r"\.")):
        load(home, webhook, {"KEY": "whsec_!"})
