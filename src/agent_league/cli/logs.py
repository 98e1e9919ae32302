"""`league logs`: print the logs of all agents of a SHARED folder merged by time, with a match's conversation."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import orjson
import typer

from agent_league.cli.options import LookedAt, open_existing_home, say
from agent_league.cli.tables import console_out
from agent_league.errors import UserError
from agent_league.log import LEVELS, MESSAGE_EVENTS, RECEIVED, SENT, UNANSWERED
from agent_league.model.names import is_safe_name, printable, there_are

if TYPE_CHECKING:
    from agent_league.launch.log_merge import Trace

LOOK_SECONDS = 0.2
"""Interval at which `--follow` looks for new lines."""
COLOURS = ("cyan", "green", "magenta", "blue", "bright_cyan", "bright_green", "bright_magenta", "bright_blue")
SIGNS = {"sent": "→", "received": "←", "failed": "✗", SENT: "→", RECEIVED: "←", UNANSWERED: "✗"}
HEAD = ("timestamp", "component", "event_type", "level", "microsecond", "from_match")
ENVELOPE = (
    "protocol",
    "message_type",
    "sender",
    "timestamp",
    "conversation_id",
    "auth_token",
    "league_id",
    "round_id",
    "match_id",
    "game_type",
    "player_id",
    "arrival_timestamp",
    "deadline",
)
SPOKEN = ("match_id", "token", "direction", "player_id", "message", "attempt", "latency_ms")
LONGEST_VALUE = 60
WIDEST_AGENT = 12
WIDEST_EVENT = 28
ABOUT = ("agent_id", "player_id", "referee_id", "opponent_id", "sender")

Line = Mapping[str, Any]
Wanted = Callable[[Line], bool]


def logs(
    match: Annotated[str | None, typer.Option(help="Of this match alone, with what was said in it.")] = None,
    agent: Annotated[str | None, typer.Option(help="What this agent wrote, or others of it.", metavar="ID")] = None,
    event: Annotated[str | None, typer.Option(help="This event alone; * stands for anything.", metavar="NAME")] = None,
    level: Annotated[str, typer.Option(help="DEBUG, INFO, WARNING or ERROR, and above.")] = "DEBUG",
    messages: Annotated[
        bool, typer.Option("--messages", help="Also every message that was sent or received, by each who did.")
    ] = False,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with what is written from now on.")] = False,
    league_id: Annotated[str | None, typer.Option(help="Of this league alone.")] = None,
    home: LookedAt = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON lines and nothing else.")] = False,
) -> None:
    """Show the logs of the manager, the referees, the players and `league run` as one, in the order of time.

    Agents that run with another SHARED folder have their logs there.
    """
    from agent_league.launch.log_merge import Trace, conversation, last_beginning

    if level.upper() not in LEVELS:
        raise UserError(f"--level {level!r}: expected one of {', '.join(LEVELS)}")
    home, _ = open_existing_home(home)
    known = _known_leagues(home)
    _check_ids(match, league_id, known)
    said: list[Line] = []
    since = ""
    if match is not None:
        match = match.upper()
        league_id = league_id or _league_of(home, match)
        if league_id is not None:
            said, since = conversation(home, league_id, match), last_beginning(home, league_id)
    shown = messages or (event is not None and any(fnmatchcase(name, event.casefold()) for name in MESSAGE_EVENTS))
    trace = Trace(home, league_id, is_only_league=len(known) < 2, since=since, messages=shown)
    if not (components := trace.components()):
        raise UserError(f"No logs in {home / 'logs'} yet; agents that run with this folder write them.")
    wanted = _wanted(match, agent, event, LEVELS[level.upper()])
    show = _put_json if json else _printer(components, (*HEAD, "match_id") if match else HEAD)
    count = 0
    try:
        for line in filter(wanted, _all(trace, said, follow=follow)):
            show(line)
            count += 1
    except KeyboardInterrupt:
        if not follow:
            raise
    except BrokenPipeError:  # the reader, such as `head`, has closed the pipe
        sys.stderr.close()
        return
    if trace.broken:
        lines = "lines that could not be read were" if trace.broken > 1 else "line that could not be read was"
        say(f"{trace.broken} {lines} left out.")
    if not count:
        say(_nothing(match, league_id))


def _check_ids(match: str | None, league_id: str | None, known: Sequence[str]) -> None:
    """Raise UserError for what can't be an id, and for a league that isn't known."""
    for option, given in (("--match", match), ("--league-id", league_id)):
        if given is not None and not is_safe_name(given):
            raise UserError(f"{option} {given[:80]!r} can't be an id")
    if league_id is not None and league_id not in known:
        raise UserError(f"--league-id {league_id}: no such league in this folder {there_are(league_id, known)}")


def _known_leagues(home: Path) -> list[str]:
    """List the leagues that have a database, logs or match files in this folder."""
    from agent_league.launch.log_merge import logged_leagues
    from agent_league.launch.stored_leagues import leagues_in
    from agent_league.storage.paths import DataPaths

    played = {path.name for path in DataPaths(home).data.glob("matches/*/") if is_safe_name(path.name)}
    return sorted({*leagues_in(home), *logged_leagues(home), *played})


def _league_of(home: Path, match_id: str) -> str | None:
    """Choose the league that has this match, and print which one; None if no league is known here."""
    from agent_league.launch.stored_leagues import choose_league
    from agent_league.storage.paths import DataPaths

    files = DataPaths(home).data.glob(f"matches/*/{match_id}.json")
    found = sorted(path.parent.name for path in files) or _known_leagues(home)
    if not found:
        return None
    choice = choose_league(home, None, found)
    if choice.remark:
        say(choice.remark)
    return choice.league_id


def _nothing(match: str | None, league_id: str | None) -> str:
    if match is None:
        return "No line is like that."
    return f"No line of {match}{f' in {league_id}' if league_id else ''}; `league show schedule` lists the matches."


def _all(trace: "Trace", said: Iterable[Line], *, follow: bool) -> Iterator[Line]:
    yield from trace.lines(said, to_the_end=not follow)
    while follow:
        sys.stdout.flush()
        time.sleep(LOOK_SECONDS)
        yield from trace.lines(to_the_end=False)


def _wanted(match: str | None, agent: str | None, event: str | None, least: int) -> Wanted:
    """Make the predicate for `--match`, `--agent`, `--event` and `--level`."""
    who = agent.casefold() if agent else None
    pattern = event.casefold() if event else None

    def is_wanted(line: Line) -> bool:
        if LEVELS.get(str(line.get("level")), LEVELS["INFO"]) < least:
            return False
        if match is not None and match not in (line.get("match_id"), message_of(line).get("match_id")):
            return False
        if pattern is not None and not fnmatchcase(str(line.get("event_type")).casefold(), pattern):
            return False
        return who is None or who in _parties(line)

    return is_wanted


def _parties(line: Line) -> set[str]:
    """Return the ids of the agent that wrote a line and of those that it names, in lower case."""
    message = message_of(line)
    named = {
        str(about.get(name)).casefold().rpartition(":")[2]
        for about in (line, message)
        for name in ABOUT
        if about.get(name)
    }
    return named | {str(line.get("component")).casefold()}


def message_of(line: Line) -> Mapping[str, Any]:
    """Take the message out of the JSON-RPC frame of a sent or received line; empty for any other line."""
    frame = line.get("message") if line.get("event_type") in MESSAGE_EVENTS else None
    if not isinstance(frame, Mapping):
        return {}
    inner = next((frame[part] for part in ("params", "result", "error") if part in frame), frame)
    return inner if isinstance(inner, Mapping) else {}


def _put_json(line: Line) -> None:
    sys.stdout.write(orjson.dumps(line, option=orjson.OPT_NON_STR_KEYS).decode() + "\n")


def _printer(components: list[str], hidden: Sequence[str]) -> Callable[[Line], None]:
    """Make a function that prints lines in columns, agents in colours; on a terminal the day only when it changes."""
    from rich.table import Table
    from rich.text import Text

    console = console_out()
    width = min(max(map(len, components)), WIDEST_AGENT)
    colours: dict[str, str] = {name: COLOURS[index % len(COLOURS)] for index, name in enumerate(components)}
    day = ""

    def show(line: Line) -> None:
        nonlocal day
        today, _, at = str(line["timestamp"])[: len("2025-01-15T10:30:00")].partition("T")
        at = f"{at}.{_microsecond(line) // 1000:03}"
        if not console.is_terminal:
            at = f"{today} {at}"
        elif today != day:
            console.print(Text(printable(today), style="bold"))
            day = today
        who = str(line.get("component"))
        style = {"WARNING": "yellow", "WARN": "yellow", "ERROR": "bold red", "DEBUG": "dim"}.get(str(line.get("level")))
        head = Text.assemble((printable(at), "dim"), "  ", (printable(who).ljust(width), colours.get(who, "")), "  ")
        event, words = _told(line, hidden)
        head.append(event.ljust(WIDEST_EVENT), style or "")
        if not console.is_terminal:
            sys.stdout.write(f"{head.plain} {words}".rstrip() + "\n")
            return
        columns = Table.grid(padding=(0, 1))
        columns.add_column(no_wrap=True)
        columns.add_column(overflow="fold")
        columns.add_row(head, Text(words, "" if style else "dim"))
        console.print(columns)

    return show


def _microsecond(line: Line) -> int:
    from agent_league.launch.log_merge import key_of

    return key_of(line)[1]


def _told(line: Line, hidden: Sequence[str]) -> tuple[str, str]:
    """Format a line as its event and its details; messages are shortened."""
    event, level = str(line.get("event_type")), str(line.get("level"))
    details = {name: value for name, value in line.items() if name not in hidden}
    if line.get("from_match"):
        event, words = _spoken(event, details)
    elif event in MESSAGE_EVENTS:
        event, words = _carried(event, line)
    else:
        words = [f"{name}={_value(value)}" for name, value in details.items()]
        event = event if level in ("INFO", "DEBUG") else f"{level} {event}"
    return printable(event), printable(" ".join(words))


def _carried(event: str, line: Line) -> tuple[str, list[str]]:
    """Format a sent or received message: its type, the peer, the latency and its short fields."""
    frame, message, latency = line.get("message"), message_of(line), line.get("latency_ms")
    method = frame.get("method") if isinstance(frame, Mapping) else None
    kind = method or message.get("message_type") or ("answer" if message else "")
    words = [str(line.get("peer"))]
    words += [f"{latency:g} ms"] if isinstance(latency, int | float) else []
    words += [
        f"{name}={_value(line[name])}" for name in ("status", "error_code", "error", "bytes", "text") if name in line
    ]
    words += [f"{name}={_value(message[name])}" for name in ("match_id", "sender") if name in message]
    words += [f"{name}={_value(value)}" for name, value in _brief(message).items()]
    return f"{SIGNS[event]} {kind}"[:LONGEST_VALUE], words


def _spoken(event: str, details: Mapping[str, Any]) -> tuple[str, list[str]]:
    """Format an entry of a match file's transcript."""
    peer, message = details.get("player_id"), details.get("message")
    said = {name: value for name, value in details.items() if name not in SPOKEN} | _brief(message)
    kind = message.get("message_type") if isinstance(message, Mapping) else None
    attempt, latency = details.get("attempt"), details.get("latency_ms")
    words = [str(word) for word in (kind, said.pop("state", None)) if word]
    words += [f"attempt {attempt}"] if attempt not in (None, 1) else []
    words += [f"{latency:g} ms"] if isinstance(latency, int | float) else []
    words += [f"{name}={_value(value)}" for name, value in said.items()]
    sign = SIGNS.get(str(details.get("direction")), "·")
    return f"{sign} {peer} {event}" if peer else f"{sign} {event}", words


def _brief(message: Any) -> dict[str, Any]:
    """Return a message's fields without the envelope, nested values and long values."""
    if not isinstance(message, Mapping):
        return {} if message is None else {"message": message}
    said = {k: v for k, v in message.items() if k not in ENVELOPE and not isinstance(v, Mapping | list)}
    return {name: value for name, value in said.items() if value is not None and len(str(value)) < LONGEST_VALUE}


def _value(value: Any) -> str:
    """Format a value: a single word bare, anything else as JSON."""
    if isinstance(value, str) and value and not value.isspace() and " " not in value and '"' not in value:
        return printable(value)
    return printable(orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS).decode())
