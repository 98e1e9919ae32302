"""Posts the news of a league to its webhooks, beside the league and never in its way.

Each webhook has a queue and a task of its own. A post that fails is tried again a few times, with growing waits; then
it is dropped, and the log says so. Queues are not kept: what a manager hasn't delivered when it ends is lost, and one
that comes back posts that it has. Addresses are called under the rules for agents: only allowed hosts, no redirects,
bounded in size and time. Neither an address nor a secret is ever logged, as both let others post.
"""

import asyncio
import os
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit

import orjson

from agent_league.clock import Clock, format_utc
from agent_league.config.models import LeagueConfig, SystemConfig
from agent_league.config.webhooks import WebhookConfig, check_webhook_url
from agent_league.errors import BadAnswer, CallFailed, UserError
from agent_league.http.carrier import Carrier
from agent_league.http.checked_resolver import CheckedResolver, find_forbidden_host
from agent_league.http.client import HttpCarrier
from agent_league.http.webhook_signature import (
    ID_HEADER,
    SIGNATURE_HEADER,
    TIMESTAMP_HEADER,
    decode_secret,
    sign_message,
)
from agent_league.league.agenda import StepKind
from agent_league.league.settings import ManagerSettings
from agent_league.league.state import LeagueState
from agent_league.league.visibility import ANY_AGENT, mask_event, mask_state
from agent_league.league.webhook_messages import (
    WRITERS,
    LeagueNews,
    NewsSource,
    clean_sentence,
    find_news,
)
from agent_league.log import JsonLogger
from agent_league.model.events import Event
from agent_league.text import MAX_PHRASE, shorten

POST_SECONDS = 10.0
RETRY_WAITS = (1.0, 5.0, 30.0, 120.0, 600.0)
"""Seconds before each further attempt."""
MAX_WAIT_ASKED = 600.0
"""Longest wait that an answer with status 429 may ask for."""
MAX_QUEUED = 100
"""News that wait for one webhook; the oldest give way."""
CLOSE_SECONDS = 5.0
"""How long a manager that ends waits for what is under way."""
REPEAT_SECONDS = 600.0
"""The same trouble of the same agent is told once in so long."""
MAX_SECRET_BYTES = 10_000
RETRIED_STATUSES = (408, 425, 429)


@dataclass(frozen=True, slots=True)
class Webhook:
    """A webhook whose address and secret are known."""

    name: str
    """Its place in the file and its host, for the log."""
    config: WebhookConfig
    url: str = field(repr=False)
    secret: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class QueuedPost:
    message_id: str
    news: LeagueNews
    at: str


def load_webhooks(
    league: LeagueConfig, system: SystemConfig, home: Path, environ: Mapping[str, str] | None = None
) -> list[Webhook]:
    """Read the addresses and secrets of all webhooks of a league; raises UserError, which names the setting."""
    found: list[Webhook] = []
    given = {"system.json": system.webhooks, f"leagues/{league.league_id}.json": league.webhooks}
    hosts = (*system.network.allowed_hosts, *system.network.webhook_hosts)
    for file, webhooks in given.items():
        for number, config in enumerate(webhooks):
            if any(config == known.config for known in found):
                continue  # --set names it for both files
            place = f"{file}: webhooks.{number}"
            url = config.url or _read_secret(place, "url", config.url_env, config.url_file, home, environ)
            secret = _read_secret(place, "secret", config.secret_env, config.secret_file, home, environ)
            found.append(_make_webhook(place, config, url or "", secret, hosts))
    return found


def _make_webhook(place: str, config: WebhookConfig, url: str, secret: str | None, hosts: Sequence[str]) -> Webhook:
    try:
        check_webhook_url(url)
        key = decode_secret(secret) if secret else None
    except ValueError as error:
        raise UserError(f"{place}: {str(error).replace('Input', 'it', 1)}") from None
    if host := find_forbidden_host(url, hosts):
        raise UserError(
            f"{place}: the host {host!r} is not allowed; system.json lists those that are, in network.webhook_hosts"
        )
    return Webhook(f"{place} ({urlsplit(url).hostname})", config, url, key)


def _read_secret(
    place: str, what: str, variable: str | None, file: str | None, home: Path, environ: Mapping[str, str] | None
) -> str | None:
    """Read an address or a secret from the environment or a file; None if the setting names neither."""
    if variable is not None:
        value = (os.environ if environ is None else environ).get(variable, "").strip()
        if not value:
            raise UserError(f"{place}.{what}_env: the environment variable {variable} is not set")
        return value
    if file is None:
        return None
    try:
        with (home / file).open(encoding="utf-8") as stream:
            value = stream.read(MAX_SECRET_BYTES).strip()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "not text in UTF-8"
        raise UserError(f"{place}.{what}_file: can't read {file}: {why}") from None
    if not value:
        raise UserError(f"{place}.{what}_file: {file} is empty")
    return value


class WebhookSender:
    """Posts the news of one league."""

    def __init__(
        self,
        webhooks: Sequence[Webhook],
        state: LeagueState,
        clock: Clock,
        log: JsonLogger,
        make_carrier: Callable[[], Carrier],
        page: str = "",
        retry_waits: Sequence[float] = RETRY_WAITS,
    ) -> None:
        title = state.config.display_name or state.league_id
        self._source = NewsSource(state.league_id, title, page)
        self._state = state
        self._clock = clock
        self._log = log
        self._make_carrier = make_carrier
        self._carrier: Carrier | None = None
        self._retry_waits = retry_waits
        self._told_at: dict[str, float] = {}
        self._count = 0
        self._queues = {webhook.name: deque[QueuedPost](maxlen=MAX_QUEUED) for webhook in webhooks}
        self._webhooks = {webhook.name: webhook for webhook in webhooks}
        self._workers: dict[str, asyncio.Task[None]] = {}

    def report_failure(self, sentence: str) -> None:
        """Post that the league has failed."""
        self._queue_news(LeagueNews("crash", clean_sentence(f"The league has failed: {sentence}")))

    def drop_posts(self) -> None:
        """Post nothing more, not even what waits: the league is another server's now."""
        self._queues = {name: deque(maxlen=MAX_QUEUED) for name in self._queues}
        self._webhooks = {}
        for worker in self._workers.values():
            worker.cancel()

    async def close(self) -> None:
        """Wait a moment for what is under way, then drop the rest; what is dropped is logged."""
        if running := [worker for worker in self._workers.values() if not worker.done()]:
            _, late = await asyncio.wait(running, timeout=CLOSE_SECONDS)
            for worker in late:
                worker.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        for name, queue in self._queues.items():
            if queue:
                self._log.warning("webhook_lost", webhook=name, posts=len(queue))
        if self._carrier:
            await self._carrier.close()

    def handle_event(self, event: Event) -> None:
        """Queue the news of an event, if it is any; names are hidden as they are from the league's members."""
        shown = mask_state(self._state, ANY_AGENT)
        names = {player_id: player.display_name for player_id, player in shown.roster.players().items()}
        if (news := find_news(mask_event(self._state, event, ANY_AGENT), names)) is not None and not self._is_repeated(
            news
        ):
            self._queue_news(self._add_next_round(news))

    def _add_next_round(self, news: LeagueNews) -> LeagueNews:
        """Add when the next round begins, if that is known."""
        if news.event not in ("start", "round"):
            return news
        steps = self._state.list_timed_steps(self._clock.now())
        coming = next((step for step in steps if step.kind is StepKind.ROUND), None)
        if coming is None:
            return news
        plan = self._state.times.plan
        when = f"round {coming.round_id} begins on {plan.format_moment(coming.at)} ({plan.zone_name})"
        details = {**news.details, "next_round_at": format_utc(coming.at)}
        return replace(news, sentence=f"{news.sentence}; {when}", details=details)

    def _is_repeated(self, news: LeagueNews) -> bool:
        """Whether this trouble of this agent was told a short time ago."""
        if not news.subject:
            return False
        now = asyncio.get_running_loop().time()
        told = self._told_at.get(news.subject, now - REPEAT_SECONDS)
        if now - told < REPEAT_SECONDS:
            return True
        self._told_at[news.subject] = now
        return False

    def _queue_news(self, news: LeagueNews) -> None:
        self._count += 1
        now = self._clock.now()
        message_id = f"{self._source.league_id}-{int(now.timestamp() * 1000)}-{self._count}"
        post = QueuedPost(message_id, news, format_utc(now))
        for name, webhook in self._webhooks.items():
            if news.event not in webhook.config.events:
                continue
            queue = self._queues[name]
            if len(queue) == MAX_QUEUED:
                self._log.warning("webhook_lost", webhook=name, posts=1, why="too many wait")
            queue.append(post)
            worker = self._workers.get(name)
            if worker is None or worker.done():
                self._workers[name] = asyncio.get_running_loop().create_task(self._post_queued(webhook))

    async def _post_queued(self, webhook: Webhook) -> None:
        queue = self._queues[webhook.name]
        while queue:
            post = queue[0]
            await self._post_with_retries(webhook, post)
            if queue and queue[0] is post:
                queue.popleft()

    async def _post_with_retries(self, webhook: Webhook, post: QueuedPost) -> None:
        for attempt, wait in enumerate((*self._retry_waits, None), start=1):
            problem, asked_wait = await self._post_once(webhook, post)
            if not problem:
                return
            is_last = asked_wait is None or wait is None
            self._log.warning(
                "webhook_failed",
                webhook=webhook.name,
                news=post.news.event,
                attempt=attempt,
                why=problem,
                gives_up=is_last,
            )
            if asked_wait is None or wait is None:
                return
            await asyncio.sleep(max(wait, asked_wait))

    async def _post_once(self, webhook: Webhook, post: QueuedPost) -> tuple[str, float | None]:
        """Post; return what went wrong (empty: nothing), and how long to wait before the next try (None: no other)."""
        body = WRITERS[webhook.config.kind](self._source, post.news, post.at)
        self._carrier = self._carrier or self._make_carrier()
        try:
            status, answer = await self._carrier.exchange(
                webhook.url, body, POST_SECONDS, headers=self._build_headers(webhook, post, body)
            )
        except (CallFailed, BadAnswer) as error:
            return shorten(error.message.replace(webhook.url, "its address"), MAX_PHRASE), 0.0
        if 200 <= status < 300:
            return "", 0.0
        if 300 <= status < 400:
            return f"status {status}: redirects are not followed", None
        if status >= 500 or status in RETRIED_STATUSES:
            return f"status {status}", _parse_asked_wait(answer) if status == 429 else 0.0
        return f"status {status}", None

    def _build_headers(self, webhook: Webhook, post: QueuedPost, body: bytes) -> dict[str, str]:
        if webhook.config.kind != "json":
            return {}
        timestamp = int(self._clock.now().timestamp())
        headers = {ID_HEADER: post.message_id, TIMESTAMP_HEADER: str(timestamp)}
        if webhook.secret is not None:
            headers[SIGNATURE_HEADER] = sign_message(webhook.secret, post.message_id, timestamp, body)
        return headers


def _parse_asked_wait(answer: bytes) -> float:
    """The seconds that Discord's answer with status 429 asks to wait; 0 if it names none."""
    try:
        asked = orjson.loads(answer).get("retry_after")
    except (orjson.JSONDecodeError, AttributeError):
        return 0.0
    return min(float(asked), MAX_WAIT_ASKED) if isinstance(asked, int | float) and asked > 0 else 0.0


def make_webhook_sender(
    settings: ManagerSettings, state: LeagueState, clock: Clock, log: JsonLogger
) -> WebhookSender | None:
    """Make the sender of a league's webhooks; None if it has none. Raises UserError."""
    system = settings.system
    webhooks = load_webhooks(settings.league, system, settings.home)
    if not webhooks:
        return None
    hosts = (*system.network.allowed_hosts, *system.network.webhook_hosts)
    page = (settings.endpoint or "").removesuffix("mcp") if system.network.public_url else ""
    return WebhookSender(webhooks, state, clock, log, lambda: HttpCarrier(CheckedResolver(hosts)), page)
