"""`league logs`: print the logs of all agents of a SHARED folder merged by time, with a match's conversation."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import orjson
import typer

from agent_league.cli.options import ExistingHomeOption, open_existing_home
from agent_league.cli.terminal import make_stdout_console, print_remark
from agent_league.errors import UserError
from agent_league.log import LEVEL_NUMBERS, MESSAGE_EVENTS, MESSAGE_RECEIVED, MESSAGE_SENT, MESSAGE_UNANSWERED
from agent_league.model.names import is_safe_name, list_known_names
from agent_league.text import quote, shorten, to_printable

if TYPE_CHECKING:
    from agent_league.launch.log_merge import MergedLog

POLL_SECONDS = 0.2
"""Interval at which `--follow` looks for new lines."""
AGENT_COLOURS = ("cyan", "green", "magenta", "blue", "bright_cyan", "bright_green", "bright_magenta", "bright_blue")
DIRECTION_SIGNS = {
    "sent": "→",
    "received": "←",
    "failed": "✗",
    MESSAGE_SENT: "→",
    MESSAGE_RECEIVED: "←",
    MESSAGE_UNANSWERED: "✗",
}
HEAD_FIELDS = ("timestamp", "component", "event_type", "level", "microsecond", "from_match")
ENVELOPE_FIELDS = (
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
TRANSCRIPT_FIELDS = ("match_id", "token", "direction", "player_id", "message", "attempt", "latency_ms")
MAX_VALUE_LENGTH = 60
MAX_AGENT_WIDTH = 12
EVENT_WIDTH = 28
AGENT_FIELDS = ("agent_id", "player_id", "referee_id", "opponent_id", "sender")

TraceLine = Mapping[str, Any]
LineFilter = Callable[[TraceLine], bool]


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
    home: ExistingHomeOption = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON lines and nothing else.")] = False,
) -> None:
    """Show the logs of the manager, the referees, the players and `league run` as one, in the order of time.

    Agents that run with another SHARED folder have their logs there.
    """
    from agent_league.launch.log_merge import MergedLog, find_last_start, read_match_conversation

    if level.upper() not in LEVEL_NUMBERS:
        raise UserError(f"--level {level!r}: expected one of {', '.join(LEVEL_NUMBERS)}")
    home, _ = open_existing_home(home)
    known = _known_leagues(home)
    _check_ids(match, league_id, known)
    said: list[TraceLine] = []
    since = ""
    if match is not None:
        match = match.upper()
        league_id = league_id or _find_match_league(home, match)
        if league_id is not None:
            said, since = read_match_conversation(home, league_id, match), find_last_start(home, league_id)
    shown = messages or (event is not None and any(fnmatchcase(name, event.casefold()) for name in MESSAGE_EVENTS))
    trace = MergedLog(home, league_id, is_only_league=len(known) < 2, since=since, with_messages=shown)
    if not (components := trace.list_components()):
        raise UserError(f"No logs in {home / 'logs'} yet; agents that run with this folder write them.")
    wanted = _make_filter(match, agent, event, LEVEL_NUMBERS[level.upper()])
    show = _print_json if json else _make_printer(components, (*HEAD_FIELDS, "match_id") if match else HEAD_FIELDS)
    count = 0
    try:
        for line in filter(wanted, _read_lines(trace, said, follow=follow)):
            show(line)
            count += 1
    except KeyboardInterrupt:
        if not follow:
            raise
    except BrokenPipeError:  # the reader, such as `head`, has closed the pipe
        sys.stderr.close()
        return
    if trace.broken_lines:
        lines = "lines that could not be read were" if trace.broken_lines > 1 else "line that could not be read was"
        print_remark(f"{trace.broken_lines} {lines} left out.")
    if not count:
        print_remark(_no_lines_sentence(match, league_id))


def _check_ids(match: str | None, league_id: str | None, known: Sequence[str]) -> None:
    """Raise UserError for what can't be an id, and for a league that isn't known."""
    for option, given in (("--match", match), ("--league-id", league_id)):
        if given is not None and not is_safe_name(given):
            raise UserError(f"{option} {quote(given)} can't be an id")
    if league_id is not None and league_id not in known:
        raise UserError(f"--league-id {league_id}: no such league in this folder {list_known_names(league_id, known)}")


def _known_leagues(home: Path) -> list[str]:
    """List the leagues that have a database, logs or match files in this folder."""
    from agent_league.launch.log_merge import find_logged_leagues
    from agent_league.launch.stored_leagues import list_leagues
    from agent_league.storage.paths import DataPaths

    played = {path.name for path in DataPaths(home).data_folder.glob("matches/*/") if is_safe_name(path.name)}
    return sorted({*list_leagues(home), *find_logged_leagues(home), *played})


def _find_match_league(home: Path, match_id: str) -> str | None:
    """Choose the league that has this match, and print which one; None if no league is known here."""
    from agent_league.launch.stored_leagues import choose_league
    from agent_league.storage.match_segments import list_match_paths
    from agent_league.storage.paths import DataPaths

    paths = list_match_paths(DataPaths(home).data_folder / "matches")
    found = [path.parent.name for path in paths if path.stem == match_id] or _known_leagues(home)
    if not found:
        return None
    choice = choose_league(home, None, found)
    if choice.remark:
        print_remark(choice.remark)
    return choice.league_id


def _no_lines_sentence(match: str | None, league_id: str | None) -> str:
    if match is None:
        return "No line is like that."
    return f"No line of {match}{f' in {league_id}' if league_id else ''}; `league show schedule` lists the matches."


def _read_lines(trace: "MergedLog", said: Iterable[TraceLine], *, follow: bool) -> Iterator[TraceLine]:
    yield from trace.iter_lines(said, to_the_end=not follow)
    while follow:
        sys.stdout.flush()
        time.sleep(POLL_SECONDS)
        yield from trace.iter_lines(to_the_end=False)


def _make_filter(match: str | None, agent: str | None, event: str | None, least: int) -> LineFilter:
    """Make the predicate for `--match`, `--agent`, `--event` and `--level`."""
    who = agent.casefold() if agent else None
    pattern = event.casefold() if event else None

    def is_wanted(line: TraceLine) -> bool:
        if LEVEL_NUMBERS.get(str(line.get("level")), LEVEL_NUMBERS["INFO"]) < least:
            return False
        if match is not None and match not in (line.get("match_id"), extract_message(line).get("match_id")):
            return False
        if pattern is not None and not fnmatchcase(str(line.get("event_type")).casefold(), pattern):
            return False
        return who is None or who in _named_agents(line)

    return is_wanted


def _named_agents(line: TraceLine) -> set[str]:
    """Return the ids of the agent that wrote a line and of those that it names, in lower case."""
    message = extract_message(line)
    named = {
        str(about.get(name)).casefold().rpartition(":")[2]
        for about in (line, message)
        for name in AGENT_FIELDS
        if about.get(name)
    }
    return named | {str(line.get("component")).casefold()}


def extract_message(line: TraceLine) -> Mapping[str, Any]:
    """Take the message out of the JSON-RPC frame of a sent or received line; empty for any other line."""
    frame = line.get("message") if line.get("event_type") in MESSAGE_EVENTS else None
    if not isinstance(frame, Mapping):
        return {}
    inner = next((frame[part] for part in ("params", "result", "error") if part in frame), frame)
    return inner if isinstance(inner, Mapping) else {}


def _print_json(line: TraceLine) -> None:
    sys.stdout.write(orjson.dumps(line, option=orjson.OPT_NON_STR_KEYS).decode() + "\n")


def _make_printer(components: list[str], hidden: Sequence[str]) -> Callable[[TraceLine], None]:
    """Make a function that prints lines in columns, agents in colours; on a terminal the day only when it changes."""
    from rich.table import Table
    from rich.text import Text

    console = make_stdout_console()
    width = min(max(map(len, components)), MAX_AGENT_WIDTH)
    colours: dict[str, str] = {name: AGENT_COLOURS[index % len(AGENT_COLOURS)] for index, name in enumerate(components)}
    day = ""

    def show(line: TraceLine) -> None:
        nonlocal day
        today, _, at = str(line["timestamp"])[: len("2025-01-15T10:30:00")].partition("T")
        at = f"{at}.{_line_microsecond(line) // 1000:03}"
        if not console.is_terminal:
            at = f"{today} {at}"
        elif today != day:
            console.print(Text(to_printable(today), style="bold"))
            day = today
        who = str(line.get("component"))
        style = {"WARNING": "yellow", "WARN": "yellow", "ERROR": "bold red", "DEBUG": "dim"}.get(str(line.get("level")))
        head = Text.assemble(
            (to_printable(at), "dim"), "  ", (to_printable(who).ljust(width), colours.get(who, "")), "  "
        )
        event, words = _describe_line(line, hidden)
        head.append(event.ljust(EVENT_WIDTH), style or "")
        if not console.is_terminal:
            sys.stdout.write(f"{head.plain} {words}".rstrip() + "\n")
            return
        columns = Table.grid(padding=(0, 1))
        columns.add_column(no_wrap=True)
        columns.add_column(overflow="fold")
        columns.add_row(head, Text(words, "" if style else "dim"))
        console.print(columns)

    return show


def _line_microsecond(line: TraceLine) -> int:
    from agent_league.launch.log_merge import time_key

    return time_key(line)[1]


def _describe_line(line: TraceLine, hidden: Sequence[str]) -> tuple[str, str]:
    """Format a line as its event and its details; messages are shortened."""
    event, level = str(line.get("event_type")), str(line.get("level"))
    details = {name: value for name, value in line.items() if name not in hidden}
    if line.get("from_match"):
        event, words = _describe_transcript_entry(event, details)
    elif event in MESSAGE_EVENTS:
        event, words = _describe_message(event, line)
    else:
        words = [f"{name}={_format_value(value)}" for name, value in details.items()]
        event = event if level in ("INFO", "DEBUG") else f"{level} {event}"
    return to_printable(event), to_printable(" ".join(words))


def _describe_message(event: str, line: TraceLine) -> tuple[str, list[str]]:
    """Format a sent or received message: its type, the peer, the latency and its short fields."""
    frame, message, latency = line.get("message"), extract_message(line), line.get("latency_ms")
    method = frame.get("method") if isinstance(frame, Mapping) else None
    kind = method or message.get("message_type") or ("answer" if message else "")
    words = [str(line.get("peer"))]
    words += [f"{latency:g} ms"] if isinstance(latency, int | float) else []
    words += [
        f"{name}={_format_value(line[name])}"
        for name in ("status", "error_code", "error", "bytes", "text")
        if name in line
    ]
    words += [f"{name}={_format_value(message[name])}" for name in ("match_id", "sender") if name in message]
    words += [f"{name}={_format_value(value)}" for name, value in _short_fields(message).items()]
    return shorten(f"{DIRECTION_SIGNS[event]} {kind}", MAX_VALUE_LENGTH), words


def _describe_transcript_entry(event: str, details: Mapping[str, Any]) -> tuple[str, list[str]]:
    """Format an entry of a match file's transcript."""
    peer, message = details.get("player_id"), details.get("message")
    said = {name: value for name, value in details.items() if name not in TRANSCRIPT_FIELDS} | _short_fields(message)
    kind = message.get("message_type") if isinstance(message, Mapping) else None
    attempt, latency = details.get("attempt"), details.get("latency_ms")
    words = [str(word) for word in (kind, said.pop("state", None)) if word]
    words += [f"attempt {attempt}"] if attempt not in (None, 1) else []
    words += [f"{latency:g} ms"] if isinstance(latency, int | float) else []
    words += [f"{name}={_format_value(value)}" for name, value in said.items()]
    sign = DIRECTION_SIGNS.get(str(details.get("direction")), "·")
    return f"{sign} {peer} {event}" if peer else f"{sign} {event}", words


def _short_fields(message: Any) -> dict[str, Any]:
    """Return a message's fields without the envelope, nested values and long values."""
    if not isinstance(message, Mapping):
        return {} if message is None else {"message": message}
    said = {k: v for k, v in message.items() if k not in ENVELOPE_FIELDS and not isinstance(v, Mapping | list)}
    return {name: value for name, value in said.items() if value is not None and len(str(value)) < MAX_VALUE_LENGTH}


def _format_value(value: Any) -> str:
    """Format a value: a single word bare, anything else as JSON."""
    if isinstance(value, str) and value and not value.isspace() and " " not in value and '"' not in value:
        return to_printable(value)
    return to_printable(orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS).decode())
