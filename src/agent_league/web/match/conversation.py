"""The conversation of a match: what referee and players said to each other, in order, with times, tries and errors.

From a match file's transcript to plain data; whatever an entry is, it is told as far as it can be.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from agent_league.clock import parse_utc
from agent_league.errors import ErrorCode
from agent_league.model.results import MatchState

MOST_ENTRIES = 200
"""In a page; of more, the first and the last."""
LAST_ENTRIES = 50
LONGEST_JSON = 4000
ROOMY_JSON = 1500
"""From so many letters on, long lists in a message are told by their ends."""
ENDS = 4
GISTS = ("parity_choice", "move_data", "choice", "move", "value", "accept")
LONGEST_GIST = 40
ADDRESS = re.compile(r"\b(?:https?|mcp)://[^\s'\"\\]+")
"""Where an agent listens is the league's business alone."""
WIDTH = 88
NAMES = {str(code): code.name for code in ErrorCode}
STATES: Mapping[str, str] = {
    MatchState.WAITING_FOR_PLAYERS: "waiting for players",
    MatchState.COLLECTING_CHOICES: "collecting moves",
    MatchState.DRAWING_NUMBER: "drawing",
    MatchState.FINISHED: "finished",
}


@dataclass(frozen=True, slots=True)
class Entry:
    """A message there or back, a failure, a draw, or the state that the match went into."""

    kind: str
    """`sent`, `received`, `failed`, `drawn`, `state`, `gap`."""
    text: str
    """The message's name, what was drawn, the state."""
    gist: str = ""
    """What an answer comes down to."""
    side: int | None = None
    """The player's."""
    since: str = ""
    """How long after the beginning."""
    latency: str = ""
    attempt: int = 1
    code: str = ""
    code_name: str = ""
    why: str = ""
    notes: tuple[str, ...] = ()
    """What was put up with, and a token that was missing or wrong."""
    json: str = ""

    @property
    def is_to_player(self) -> bool:
        return self.kind == "sent"

    @property
    def is_bad(self) -> bool:
        """Whether it tells of something that went wrong."""
        return self.kind == "failed" or bool(self.code)


def conversation(content: Mapping[str, Any], most: int | None = MOST_ENTRIES) -> list[Entry]:
    """All that was said in a match; of more than `most` entries the first and the last, with a gap that says so."""
    players = _object(content.get("players"))
    sides = {str(players.get(seat)): side for side, seat in enumerate(("PLAYER_A", "PLAYER_B"))}
    lines = [entry for entry in _list(content.get("transcript")) if isinstance(entry, Mapping)]
    states = [state for state in _list(content.get("lifecycle")) if isinstance(state, Mapping)]
    begun = next((at for item in (*states[:1], *lines[:1]) if (at := _moment(item))), None)
    both = list(_with_states(lines, states))
    if most is None or len(both) <= most:
        return [_entry(item, sides, begun) for item in both]
    last = min(LAST_ENTRIES, most // 2)
    head, tail = both[: most - last], both[-last:]
    gap = Entry("gap", f"{len(both) - most} more lie between these")
    return [*(_entry(item, sides, begun) for item in head), gap, *(_entry(item, sides, begun) for item in tail)]


def pretty(value: Any, width: int = WIDTH) -> str:
    """JSON as people read it: what fits into a line stands in one."""
    return "\n".join(_pretty(value, "", width))


def _pretty(value: Any, indent: str, width: int) -> Iterator[str]:
    flat = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict | list) or not value or (indent and len(indent) + len(flat) <= width):
        yield flat
        return
    deeper = indent + "  "
    if isinstance(value, dict):
        opening, closing, inside = (
            "{",
            "}",
            [(f"{json.dumps(key, ensure_ascii=False)}: ", one) for key, one in value.items()],
        )
    else:
        opening, closing, inside = "[", "]", [("", one) for one in value]
    yield opening
    for number, (name, one) in enumerate(inside, 1):
        first, *rest = _pretty(one, deeper, width - len(name))
        lines = [f"{deeper}{name}{first}", *rest]
        lines[-1] += "," if number < len(inside) else ""
        yield from lines
    yield f"{indent}{closing}"


def _entry(item: Mapping[str, Any], sides: Mapping[str, int], begun: datetime | None) -> Entry:
    since = _since(_moment(item), begun)
    if "state" in item:
        state = str(item["state"])
        return Entry("state", STATES.get(state, state[:60]), since=since)
    direction, message = str(item.get("direction")), item.get("message")
    if direction == "drawn":
        return Entry("drawn", json.dumps(item.get("outcome"), ensure_ascii=False)[:120], since=since)
    code = str(item.get("error_code") or _object(message).get("error_code") or "")[:10]
    return Entry(
        kind=direction if direction in ("sent", "received") else "failed",
        text=_name(message) or ("no answer" if message is None else f"an answer to {item.get('method')}"),
        gist=_gist(message) if direction != "sent" else "",
        side=sides.get(str(item.get("player_id"))),
        since=since,
        latency=_milliseconds(item.get("latency_ms")),
        attempt=item["attempt"] if isinstance(item.get("attempt"), int) else 1,
        code=code,
        code_name=NAMES.get(code, ""),
        why=ADDRESS.sub("its address", str(item.get("error") or ""))[:300],
        notes=tuple(_notes(item)),
        json="" if message is None else _json(message),
    )


def _with_states(
    lines: Sequence[Mapping[str, Any]], states: Sequence[Mapping[str, Any]]
) -> Iterator[Mapping[str, Any]]:
    """The entries, and between them the states that the match went into."""
    rest = list(states)
    for line in lines:
        while rest and _is_before(rest[0], line):
            yield rest.pop(0)
        yield line
    yield from rest


def _is_before(state: Mapping[str, Any], line: Mapping[str, Any]) -> bool:
    """Whether a state was entered before something was said; within one millisecond, by what belongs to it."""
    entered, said = str(state.get("at")), str(line.get("at"))
    if entered != said:
        return entered < said
    method, direction = line.get("method"), line.get("direction")
    match state.get("state"):
        case MatchState.FINISHED:
            return method == "notify_match_result"
        case MatchState.DRAWING_NUMBER:
            return direction == "drawn"
        case MatchState.COLLECTING_CHOICES:
            return direction == "sent" and method not in ("handle_game_invitation", "notify_game_error")
        case _:
            return True


def _notes(item: Mapping[str, Any]) -> Iterable[str]:
    if item.get("token") in ("missing", "wrong"):
        yield f"token {item['token']}"
    yield from (str(note)[:200] for note in _list(item.get("tolerated"))[:10])


def _name(message: Any) -> str:
    name = _object(message).get("message_type")
    return name[:60] if isinstance(name, str) else ""


def _gist(message: Any) -> str:
    """The move, or whether it joins."""
    said = _object(message)
    said = {**_object(said.get("play")), **said}
    found = next((said[name] for name in GISTS if name in said), None)
    return "" if found is None else json.dumps(found, ensure_ascii=False)[:LONGEST_GIST]


def _json(message: Any) -> str:
    text = pretty(message)
    if len(text) > ROOMY_JSON:
        text = pretty(_by_ends(message))
    text = ADDRESS.sub("its address", text)
    left_out = len(text) - LONGEST_JSON
    return text if left_out <= 0 else f"{text[:LONGEST_JSON]}\n... {left_out} letters more"


def _by_ends(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _by_ends(one) for name, one in value.items()}
    if not isinstance(value, list):
        return value
    between = len(value) - 2 * ENDS
    ends = value if between <= 1 else [*value[:ENDS], f"... {between} more ...", *value[-ENDS:]]
    return [_by_ends(one) for one in ends]


def _moment(item: Mapping[str, Any]) -> datetime | None:
    return parse_utc(item["at"]) if isinstance(item.get("at"), str) else None


def _since(moment: datetime | None, begun: datetime | None) -> str:
    return "" if moment is None or begun is None else f"+{(moment - begun).total_seconds():.3f} s"


def _milliseconds(value: Any) -> str:
    if not isinstance(value, int | float):
        return ""
    return f"{value / 1000:.1f} s" if value >= 1000 else f"{value:.0f} ms" if value >= 10 else f"{value:.1f} ms"


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else []
