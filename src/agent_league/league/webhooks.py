"""Posts the news of a league to its webhooks, beside the league and never in its way.

Each webhook has a queue and a task of its own. A post that fails is tried again a few times, with growing waits; then
it is dropped, and the log says so. Posts are stored with what they tell of until they are delivered (`news_outbox.py`).
Addresses are called under the rules for agents: only allowed hosts, no redirects, bounded in size and time. Neither an
address nor a secret is ever logged, as both let others post.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import orjson

from agent_league.clock import Clock, format_utc
from agent_league.errors import BadAnswer, CallFailed, Refusal
from agent_league.http.carrier import Carrier, find_answer_header
from agent_league.http.checked_resolver import CheckedResolver
from agent_league.http.client import HttpCarrier
from agent_league.http.webhook_signature import ID_HEADER, SIGNATURE_HEADER, TIMESTAMP_HEADER, sign_message
from agent_league.league.agenda import StepKind
from agent_league.league.news_outbox import NewsPost
from agent_league.league.settings import ManagerSettings
from agent_league.league.state import LeaguePhase, LeagueState
from agent_league.league.visibility import ANY_AGENT, mask_event, mask_state
from agent_league.league.webhook_addresses import Webhook, load_webhooks
from agent_league.league.webhook_messages import (
    WRITERS,
    LeagueNews,
    NewsSource,
    clean_sentence,
    find_news,
)
from agent_league.log import JsonLogger
from agent_league.model.events import Event, LeagueCompleted, LeagueResumed
from agent_league.text import MAX_PHRASE, shorten

POST_SECONDS = 10.0
RETRY_WAITS = (1.0, 5.0, 30.0, 120.0, 600.0)
"""Seconds before each further attempt."""
MAX_WAIT_ASKED = 600.0
"""Longest wait that an answer may ask for."""
MAX_QUEUED = 100
"""News that wait for one webhook; the oldest give way."""
CLOSE_SECONDS = 5.0
"""How long a manager that ends waits for what is under way."""
REPEAT_SECONDS = 600.0
"""The same trouble of the same agent is told once in so long."""
COMMIT_SECONDS = 5.0
"""How long a post waits until it is stored; a store that is away is news itself."""
RETRIED_STATUSES = (408, 425, 429)


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
        wait_for_commit: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        title = state.config.display_name or state.league_id
        self._source = NewsSource(state.league_id, title, page)
        self._state = state
        self._clock = clock
        self._log = log
        self._make_carrier = make_carrier
        self._carrier: Carrier | None = None
        self._retry_waits = retry_waits
        self._wait_for_commit = wait_for_commit
        self._told_at: dict[str, float] = {}
        self._count = 0
        self._tells_end = True
        self._queues: dict[str, deque[NewsPost]] = {webhook.name: deque() for webhook in webhooks}
        self._webhooks = {webhook.name: webhook for webhook in webhooks}
        self._workers: dict[str, asyncio.Task[None]] = {}

    def start(self) -> None:
        """Go on with the posts that an earlier manager of this season hasn't delivered."""
        for post in self._state.outbox.list_posts():
            if post.webhook in self._queues:
                self._queues[post.webhook].append(post)
            else:  # the league file names it no more
                self._state.outbox.remove_post(post)
        for name, queue in self._queues.items():
            if queue:
                self._log.info("webhook_resumed", webhook=name, posts=len(queue))
                self._ensure_worker(name)

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
        """Wait a moment for what is under way; the rest is kept for the next manager of this season."""
        if running := [worker for worker in self._workers.values() if not worker.done()]:
            _, late = await asyncio.wait(running, timeout=CLOSE_SECONDS)
            for worker in late:
                worker.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        for name, queue in self._queues.items():
            if queue:
                self._log.warning("webhook_kept", webhook=name, posts=len(queue))
        if self._carrier:
            await self._carrier.close()

    def handle_event(self, event: Event) -> None:
        """Queue the news of an event, if it is any; names are hidden as they are from the league's members."""
        if self._repeats_end(event):
            return
        shown = mask_state(self._state, ANY_AGENT)
        names = {player_id: player.display_name for player_id, player in shown.roster.players().items()}
        if (news := find_news(mask_event(self._state, event, ANY_AGENT), names)) is not None and not self._is_repeated(
            news
        ):
            self._queue_news(self._add_next_round(news))

    def _repeats_end(self, event: Event) -> bool:
        """Whether an event only repeats, after a restart, the end of a league: that was told, or waits in the store."""
        if isinstance(event, LeagueResumed) and self._state.phase is LeaguePhase.COMPLETED:
            self._tells_end = False
            return True
        is_repeated, self._tells_end = not self._tells_end and isinstance(event, LeagueCompleted), True
        return is_repeated

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
        for name, webhook in self._webhooks.items():
            if news.event not in webhook.config.events:
                continue
            queue = self._queues[name]
            if len(queue) >= MAX_QUEUED:
                self._log.warning("webhook_lost", webhook=name, posts=1, why="too many wait")
                self._state.outbox.remove_post(queue.popleft())
            body = WRITERS[webhook.config.kind](self._source, news, format_utc(now))
            queue.append(self._state.outbox.add_post(name, message_id, news.event, body.decode()))
            self._ensure_worker(name)

    def _ensure_worker(self, name: str) -> None:
        worker = self._workers.get(name)
        if worker is None or worker.done():
            self._workers[name] = asyncio.get_running_loop().create_task(self._post_queued(self._webhooks[name]))

    async def _post_queued(self, webhook: Webhook) -> None:
        queue = self._queues[webhook.name]
        while queue:
            post = queue[0]
            if self._wait_for_commit:
                with suppress(TimeoutError, Refusal):
                    async with asyncio.timeout(COMMIT_SECONDS):
                        await self._wait_for_commit()
            await self._post_with_retries(webhook, post)
            if queue and queue[0] is post:
                self._state.outbox.remove_post(queue.popleft())

    async def _post_with_retries(self, webhook: Webhook, post: NewsPost) -> None:
        for attempt, wait in enumerate((*self._retry_waits, None), start=1):
            problem, asked_wait = await self._post_once(webhook, post)
            if not problem:
                return
            is_last = asked_wait is None or wait is None
            self._log.warning(
                "webhook_failed",
                webhook=webhook.name,
                news=post.event,
                attempt=attempt,
                why=problem,
                gives_up=is_last,
            )
            if asked_wait is None or wait is None:
                return
            await asyncio.sleep(max(wait, asked_wait))

    async def _post_once(self, webhook: Webhook, post: NewsPost) -> tuple[str, float | None]:
        """Post; return what went wrong (empty: nothing), and how long to wait before the next try (None: no other)."""
        body = post.body.encode()
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
            header = find_answer_header(self._carrier, webhook.url, "Retry-After")
            return f"status {status}", max(_parse_body_wait(answer), parse_retry_after(header, self._clock.now()))
        return f"status {status}", None

    def _build_headers(self, webhook: Webhook, post: NewsPost, body: bytes) -> dict[str, str]:
        if webhook.config.kind != "json":
            return {}
        timestamp = int(self._clock.now().timestamp())
        headers = {ID_HEADER: post.message_id, TIMESTAMP_HEADER: str(timestamp)}
        if webhook.secret is not None:
            headers[SIGNATURE_HEADER] = sign_message(webhook.secret, post.message_id, timestamp, body)
        return headers


def _parse_body_wait(answer: bytes) -> float:
    """The seconds that the body of an answer asks to wait, as Discord's do; 0 if it names none."""
    try:
        asked = orjson.loads(answer).get("retry_after")
    except (orjson.JSONDecodeError, AttributeError):
        return 0.0
    return min(float(asked), MAX_WAIT_ASKED) if isinstance(asked, int | float) and asked > 0 else 0.0


def parse_retry_after(header: str | None, now: datetime) -> float:
    """The seconds that a header `Retry-After` asks to wait, as a number or as a date; 0 if it asks for none."""
    text = (header or "").strip()
    try:
        if text.isascii() and text.isdecimal():
            asked = float(text[:10])
        else:
            until = parsedate_to_datetime(text)
            asked = ((until if until.tzinfo else until.replace(tzinfo=UTC)) - now).total_seconds()
    except (ValueError, OverflowError):
        return 0.0
    return min(max(asked, 0.0), MAX_WAIT_ASKED)


def make_webhook_sender(
    settings: ManagerSettings,
    state: LeagueState,
    clock: Clock,
    log: JsonLogger,
    wait_for_commit: Callable[[], Awaitable[None]],
) -> WebhookSender | None:
    """Make the sender of a league's webhooks; None if it has none. Raises UserError."""
    system = settings.system
    webhooks = load_webhooks(settings.league, system, settings.home)
    if not webhooks:
        return None
    hosts = (*system.network.allowed_hosts, *system.network.webhook_hosts)
    page = (settings.endpoint or "").removesuffix("mcp") if system.network.public_url else ""
    return WebhookSender(
        webhooks,
        state,
        clock,
        log,
        lambda: HttpCarrier(CheckedResolver(hosts)),
        page,
        wait_for_commit=wait_for_commit,
    )
