"""Completes the messages of foreign managers and referees.

Pure: takes a message, returns it under our own field names with missing fields filled in, and the deviations. Filled-in
values come from `KnownFacts` or from other fields of the message. Doesn't check who sent the message.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from agent_league.protocol.checks import REQUIRED
from agent_league.protocol.version import PROTOCOL_V2

Fields = dict[str, Any]
MANAGER = "league_manager"
GAME_OVER = "GAME_OVER"
UNKNOWN = "unknown"
IDS = ("player_id", "id", "agent_id")
ADDRESSES = ("endpoint", "contact_endpoint", "player_endpoint", "contactEndpoint", "mcp_endpoint", "url", "address")
"""Foreign names for a player's address."""
SIDES: Mapping[str, tuple[str, ...]] = {
    "player_A": ("player_A", "player_a", "playerA", "player1", "player_1"),
    "player_B": ("player_B", "player_b", "playerB", "player2", "player_2"),
}
"""Foreign names for the two players of a match."""
ROLES = ("PLAYER_A", "PLAYER_B")
OUTCOMES: Mapping[str, str] = {
    **dict.fromkeys(("WIN", "WON", "VICTORY"), "WIN"),
    **dict.fromkeys(("LOSS", "LOSE", "LOST", "DEFEAT"), "LOSS"),
    **dict.fromkeys(("DRAW", "TIE"), "DRAW"),
    "TECHNICAL_LOSS": "TECHNICAL_LOSS",
}
WINNERS = ("winner_player_id", "winner_id", "winner")
RESULT_FIELDS = (*WINNERS, "status", "outcome", "drawn_number", "number_parity", "choices", "reason")
LISTS = ("matches", "assigned_matches", "assignments", "matches_assigned")
"""Foreign names for the list of a referee's matches."""
OVER = frozenset({"COMPLETED", "COMPLETE", "FINISHED", "DONE", "REPORTED", "PLAYED", "CANCELLED", "VOID"})
"""Foreign statuses of a match that will not be played any more."""
MOST_SEARCHED = 10_000
"""Objects in an answer that are searched for an address."""
ROUND_IN_ID = re.compile(r"R(\d{1,6})M\d+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Known:
    """What the receiving agent knows itself, to fill in what a message leaves out."""

    now: str
    sender: str
    """The expected sender of the message: the manager, or the referee that invited us to the match."""
    own_id: str
    league_id: str | None = None
    round_id: int | None = None
    """The round that was announced last."""
    game_type: str = "even_odd"
    own_endpoint: str | None = None
    opponent_id: str | None = None
    rounds: Mapping[str, int] = field(default_factory=dict)
    """The round of each match that was announced."""


def complete(message_type: str, message: Mapping[str, Any], known: Known) -> tuple[Fields, list[str]]:
    """Fill in what a message leaves out; returns the message and its deviations."""
    whole, noted = dict(message), list[str]()
    _complete_envelope(message_type, whole, known, noted)
    if finish := COMPLETED.get(message_type):
        finish(whole, known, noted)
    return whole, list(dict.fromkeys(noted))


def is_plain_result(message: Mapping[str, Any]) -> bool:
    """Whether a GAME_OVER has our own statuses and a full envelope."""
    result = message.get("game_result")
    if not isinstance(result, dict) or result.get("status") not in ("WIN", "DRAW", "TECHNICAL_LOSS"):
        return False
    return all(message.get(name) for name in REQUIRED)


def read_matches(body: Any, candidates: Iterator[tuple[str, dict[str, Any]]]) -> list[Fields] | None:
    """Find the list of matches in the answer to a poll; None if there is none."""
    for found in (body, body.get("result") if isinstance(body, dict) else None):
        if isinstance(found, list):
            return [match for match in found if isinstance(match, dict)]
    for _, answer in candidates:
        for name in LISTS:
            if isinstance(answer.get(name), list):
                return [match for match in answer[name] if isinstance(match, dict)]
    return None


def is_over(match: Mapping[str, Any]) -> bool:
    """Whether a polled match will not be played any more."""
    return str(match.get("status", match.get("state"))).upper() in OVER


def find_addresses(answer: Any, player_id: str) -> Iterator[str]:
    """Find a player's addresses in an answer: `{"player_id": ID, "endpoint": X}` or `{ID: {"endpoint": X}}`."""
    waiting, seen = [answer], 0
    while waiting and seen < MOST_SEARCHED:
        seen += 1
        one = waiting.pop()
        if isinstance(one, dict):
            named = one.get(player_id)
            if isinstance(named, str):
                yield named
            for about in (one if _first(one, IDS) == player_id else None, named):
                if isinstance(about, dict) and (address := _first(about, ADDRESSES)):
                    yield address
            waiting.extend(one.values())
        elif isinstance(one, list):
            waiting.extend(one)


def _complete_envelope(message_type: str, message: Fields, known: Known, noted: list[str]) -> None:
    filled = {
        "protocol": PROTOCOL_V2,
        "message_type": message_type,
        "sender": known.sender,
        "timestamp": known.now,
        "conversation_id": f"conv-{message_type.lower().replace('_', '-')}",
    }
    for name in REQUIRED:
        if message.get(name) in (None, ""):
            message[name] = filled[name]
            noted.append(f"no '{name}'")
    sender, role = message["sender"], known.sender.partition(":")[0]
    if not isinstance(sender, str) or sender == known.sender:
        return
    if sender == role or (role == MANAGER and sender.startswith(f"{MANAGER}:")):
        message["sender"] = known.sender
        noted.append(f"'sender' {sender[:40]!r} for {known.sender!r}")


def _complete_start(message: Fields, known: Known, noted: list[str]) -> None:
    for side in SIDES:
        player = _read_player(message, side, noted)
        if player is not None:
            message[side] = player
    match_id = message.get("match_id")
    found = ROUND_IN_ID.fullmatch(match_id) if isinstance(match_id, str) else None
    round_id = known.rounds.get(str(match_id)) or (int(found[1]) if found else known.round_id) or 1
    _fill(message, noted, league_id=known.league_id or "league", round_id=round_id, game_type=known.game_type)


def _read_player(match: Fields, side: str, noted: list[str]) -> Fields | None:
    """Read one player of a match under our own names; `endpoint` is empty if it isn't given."""
    for name in SIDES[side]:
        about = match.get(name)
        inner = about if isinstance(about, dict) else {}
        player_id = _first(inner, IDS) or _text(match.get(f"{name}_id")) or _text(about)
        if player_id is None:
            continue
        flat = (_text(match.get(f"{name}_{address}")) for address in ADDRESSES)
        endpoint = _first(inner, ADDRESSES) or next(filter(None, flat), "")
        if name != side:
            noted.append(f"'{name}' for '{side}'")
        display_name = _text(inner.get("display_name")) or player_id
        return {**inner, "player_id": player_id, "display_name": display_name, "endpoint": endpoint}
    return None


def _complete_round(message: Fields, known: Known, noted: list[str]) -> None:
    _fill(message, noted, round_id=known.round_id or 1)
    rows = message.get("matches")
    if not isinstance(rows, list):
        _fill(message, noted, matches=[])
        return
    whole = [_read_announced(row, known, noted) for row in rows]
    message["matches"] = [row for row in whole if row is not None]
    if len(message["matches"]) < len(rows):
        noted.append("matches without id or players")


def _read_announced(row: Any, known: Known, noted: list[str]) -> Fields | None:
    if not isinstance(row, dict) or not _text(row.get("match_id")):
        return None
    match = dict(row)
    for side in SIDES:
        player = _read_player(match, side, noted)
        if player is None:
            return None
        match[f"{side}_id"], match[f"{side}_endpoint"] = player["player_id"], player["endpoint"] or None
    if match.get("referee_endpoint") is None:
        ours = match.get("referee_id") == known.own_id and known.own_endpoint
        match["referee_endpoint"] = known.own_endpoint if ours else ""
        noted.append("no 'referee_endpoint'")
    _fill(match, noted, game_type=known.game_type)
    return match


def _complete_standings(message: Fields, known: Known, noted: list[str]) -> None:
    _fill(message, noted, round_id=known.round_id or 1)
    message["standings"] = _read_rows(message.get("standings"), noted)


def _complete_round_completed(message: Fields, known: Known, noted: list[str]) -> None:
    _fill(message, noted, round_id=known.round_id or 1)
    summary = message.get("summary")
    if not isinstance(summary, dict):
        message.pop("summary", None)
        return
    counts = {name: _whole(summary.get(name)) for name in ("wins", "draws", "technical_losses")}
    total = summary.get("total_matches")
    whole = {**summary, **counts, "total_matches": _whole(total) if total is not None else sum(counts.values())}
    if whole != summary:
        noted.append("a short 'summary'")
        message["summary"] = whole


def _complete_league_completed(message: Fields, known: Known, noted: list[str]) -> None:
    named = next((name for name in ("final_standings", "standings") if isinstance(message.get(name), list)), None)
    rows = _read_rows(message.get(named) if named else [], noted)
    message["final_standings"] = rows
    champion = message.get("champion")
    about = champion if isinstance(champion, dict) else {}
    player_id = _first(about, IDS) or _text(champion) or (rows[0]["player_id"] if rows else UNKNOWN)
    row = next((row for row in rows if row["player_id"] == player_id), {})
    display_name = _text(about.get("display_name")) or row.get("display_name", player_id)
    points = _whole(about.get("points", row.get("points", 0)))
    whole = {**about, "player_id": player_id, "display_name": display_name, "points": points}
    if whole != champion:
        noted.append("a short 'champion'")
        message["champion"] = whole
    _fill(message, noted, total_rounds=known.round_id or 0, total_matches=0)


def _read_rows(rows: Any, noted: list[str]) -> list[Fields]:
    """Complete the rows of a standings table; rows without a player are left out."""
    found = []
    given = rows if isinstance(rows, list) else []
    for place, row in enumerate(given, start=1):
        player_id = _first(row, IDS) if isinstance(row, dict) else _text(row)
        if player_id is None:
            continue
        about = row if isinstance(row, dict) else {}
        counts = {name: _whole(about.get(name)) for name in ("wins", "draws", "losses", "points")}
        found.append(
            {
                **about,
                **counts,
                "player_id": player_id,
                "display_name": _text(about.get("display_name")) or player_id,
                "rank": _whole(about.get("rank", place)),
                "played": _whole(about.get("played", counts["wins"] + counts["draws"] + counts["losses"])),
            }
        )
    if found != rows:
        noted.append("rows of a table that are short")
    return found


def _complete_game_over(message: Fields, known: Known, noted: list[str]) -> None:
    result = message.get("game_result", message.get("result"))
    if not isinstance(result, dict):
        said = result
        result = {name: message[name] for name in RESULT_FIELDS if name in message}
        if isinstance(said, str):
            result.setdefault("status", said)
        noted.append("a flat result")
    whole = dict(result)
    status = OUTCOMES.get(str(result.get("status", result.get("outcome"))).upper())
    winner = next((_text(result[name]) for name in WINNERS if name in result), None)
    winner = None if winner and winner.upper() in ("DRAW", "TIE", "NONE") else winner
    told_winner = any(name in result for name in WINNERS)
    if status == "LOSS":  # the receiver's own result, as WIN is for the winner
        status, winner = "WIN", winner or known.opponent_id
    elif status == "WIN" and not told_winner:
        winner = known.own_id
    elif status is None and told_winner:
        status = "WIN" if winner else "DRAW"
    if status is not None:
        whole["status"] = status
    whole["winner_player_id"] = winner
    for name, kind in (("choices", dict), ("reason", str)):
        if not isinstance(whole.get(name), kind | None):
            del whole[name]
    if whole != {"winner_player_id": None, **result}:
        noted.append("a result in other words")
    message["game_result"] = whole


def read_role(message: Fields, noted: list[str]) -> None:
    """Normalise the case of `role_in_match` in place; an unknown role becomes None, since play doesn't need it."""
    role = message.get("role_in_match")
    if role is None or role in ROLES:
        return
    plain = role.upper() if isinstance(role, str) else None
    message["role_in_match"] = plain if plain in ROLES else None
    noted.append("'role_in_match' in other words")


COMPLETED: Mapping[str, Callable[[Fields, Known, list[str]], None]] = {
    "START_MATCH": _complete_start,
    GAME_OVER: _complete_game_over,
    "ROUND_ANNOUNCEMENT": _complete_round,
    "LEAGUE_STANDINGS_UPDATE": _complete_standings,
    "ROUND_COMPLETED": _complete_round_completed,
    "LEAGUE_COMPLETED": _complete_league_completed,
}
"""The message types that are completed -> the function that completes them in place."""


def _fill(message: Fields, noted: list[str], **values: Any) -> None:
    for name, value in values.items():
        if message.get(name) is None:
            message[name] = value
            noted.append(f"no '{name}'")


def _first(about: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    return next((text for name in names if (text := _text(about.get(name)))), None)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _whole(value: Any) -> int:
    """A count of matches or points; 0 if the value is no whole number."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
