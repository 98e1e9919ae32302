"""News of a league for its webhooks: which events are news, and how JSON, Slack and Discord want them told.

Pure. What strangers wrote is made printable and loses tokens, keys and addresses before it is escaped for its target.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from agent_league.config.webhooks import WebhookEvent
from agent_league.model.agents import AgentState
from agent_league.model.event_words import describe_event
from agent_league.model.events import (
    AgentStateChanged,
    CommandCarriedOut,
    Event,
    LeagueCompleted,
    LeagueResumed,
    LeagueStarted,
    RefereeWaitChanged,
    RoundCompleted,
    StartDelayed,
    StoreChanged,
)
from agent_league.model.result_words import format_count
from agent_league.model.results import StandingsRow
from agent_league.text import (
    MAX_SENTENCE,
    escape_for_discord,
    escape_for_slack,
    redact_addresses,
    redact_keys,
    redact_tokens,
    shorten,
    to_printable,
)

SHOWN_ROWS = 5
"""Rows of the table in a message."""
LONGEST_DISCORD_TEXT = 2000
"""Discord refuses a message whose content is longer, in UTF-16 units."""
SUPPRESS_EMBEDS = 4
"""Discord's flag of a message whose links get no preview."""


@dataclass(frozen=True, slots=True)
class LeagueNews:
    """One piece of news, before it has the form of a target."""

    event: WebhookEvent
    sentence: str
    rows: Sequence[StandingsRow] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    subject: str = ""
    """Whom it is about: the same trouble of the same agent isn't told again and again."""


@dataclass(frozen=True, slots=True)
class NewsSource:
    """The league that the news are about."""

    league_id: str
    title: str
    page: str = ""
    """The address of its front page, if others can reach it."""


def find_news(event: Event, names: Mapping[str, str]) -> LeagueNews | None:  # noqa: PLR0911 - a table
    """Make the news of an event; None if it is none."""
    said = clean_sentence(str(describe_event(event, names)))
    match event:
        case LeagueStarted(players=players, rounds=rounds):
            return LeagueNews("start", said, details={"players": players, "rounds": rounds})
        case RoundCompleted(round_id, standings) if not event.is_last:
            return LeagueNews("round", said, standings[:SHOWN_ROWS], {"round_id": round_id})
        case LeagueCompleted(rounds=rounds, matches=matches, standings=standings):
            return LeagueNews("end", said, standings[:SHOWN_ROWS], {"rounds": rounds, "matches": matches})
        case CommandCarriedOut(entry) if event.is_correction:
            details = {"action": entry.action, "target": entry.target, "who": clean_sentence(entry.who)}
            return LeagueNews("correction", said, details=details)
        case AgentStateChanged(agent_id, AgentState.SUSPENDED):
            return LeagueNews("crash", said, details={"agent_id": agent_id}, subject=agent_id)
        case StoreChanged(is_there=False) | RefereeWaitChanged(is_waiting=True) | StartDelayed() | LeagueResumed():
            return LeagueNews("crash", said, subject=type(event).__name__)
        case _:
            return None


def clean_sentence(sentence: str) -> str:
    """Take tokens, keys and addresses out of a sentence, and make it printable."""
    return to_printable(redact_addresses(redact_keys(redact_tokens(sentence))), MAX_SENTENCE)


def write_json(source: NewsSource, news: LeagueNews, at: str) -> bytes:
    """Write news as JSON, in the form of Standard Webhooks."""
    rows = [{**row.to_json(), "display_name": clean_sentence(row.display_name)} for row in news.rows]
    data = {
        "league_id": source.league_id,
        "league": clean_sentence(source.title),
        "text": f"{news.sentence}.",
        "url": source.page or None,
        **news.details,
        **({"standings": rows} if rows else {}),
    }
    return orjson.dumps({"type": f"league.{news.event}", "timestamp": at, "data": data})


def write_slack(source: NewsSource, news: LeagueNews, _: str) -> bytes:
    """Write news as an incoming webhook of Slack wants them."""
    text = "\n".join(map(escape_for_slack, _list_lines(source, news)))
    link = f"\n{source.page}" if source.page else ""
    return orjson.dumps({"text": text + link, "mrkdwn": False, "unfurl_links": False, "unfurl_media": False})


def write_discord(source: NewsSource, news: LeagueNews, _: str) -> bytes:
    """Write news as a webhook of Discord wants them."""
    lines = [escape_for_discord(line) for line in _list_lines(source, news)]
    link = [f"<{source.page}>"] if source.page else []
    while len(lines) > 1 and _count_utf16("\n".join(lines + link)) > LONGEST_DISCORD_TEXT:
        lines.pop()
    told = {"content": "\n".join(lines + link), "allowed_mentions": {"parse": []}, "flags": SUPPRESS_EMBEDS}
    return orjson.dumps(told)


WRITERS = {"json": write_json, "slack": write_slack, "discord": write_discord}


def _count_utf16(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def _list_lines(source: NewsSource, news: LeagueNews) -> list[str]:
    rows = [
        f"{row.shared_rank}. {clean_sentence(row.display_name)}: {format_count(row.points, 'point')}"
        for row in news.rows
    ]
    return [f"{shorten(clean_sentence(source.title))}: {news.sentence}.", *rows]
