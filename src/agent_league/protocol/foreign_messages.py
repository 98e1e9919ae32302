"""Completes the messages of foreign managers and referees.

Pure: takes a message, returns it under our own field names with missing fields filled in, and the deviations. Filled-in
values come from `KnownFacts` or from other fields of the message. Doesn't check who sent the message.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from agent_league.protocol.checks import REQUIRED_FIELDS
from agent_league.protocol.version import PROTOCOL_V2
from agent_league.text import quote

MessageFields = dict[str, Any]
MANAGER = "league_manager"
GAME_OVER = "GAME_OVER"
UNKNOWN_PLAYER = "unknown"
PLAYER_ID_FIELDS = ("player_id", "id", "agent_id")
ADDRESS_FIELDS = (
    "endpoint",
    "contact_endpoint",
    "player_endpoint",
    "contactEndpoint",
    "mcp_endpoint",
    "url",
    "address",
)
"""Foreign names for a player's address."""
PLAYER_FIELDS: Mapping[str, tuple[str, ...]] = {
    "player_A": ("player_A", "player_a", "playerA", "player1", "player_1"),
    "player_B": ("player_B", "player_b", "playerB", "player2", "player_2"),
}
"""Foreign names for the two players of a match."""
ROLES = ("PLAYER_A", "PLAYER_B")
OUTCOME_OF_WORD: Mapping[str, str] = {
    **dict.fromkeys(("WIN", "WON", "VICTORY"), "WIN"),
    **dict.fromkeys(("LOSS", "LOSE", "LOST", "DEFEAT"), "LOSS"),
    **dict.fromkeys(("DRAW", "TIE"), "DRAW"),
    "TECHNICAL_LOSS": "TECHNICAL_LOSS",
}
WINNER_FIELDS = ("winner_player_id", "winner_id", "winner")
RESULT_FIELDS = (*WINNER_FIELDS, "status", "outcome", "drawn_number", "number_parity", "choices", "reason")
MATCH_LIST_FIELDS = ("matches", "assigned_matches", "assignments", "matches_assigned")
"""Foreign names for the list of a referee's matches."""
OVER_STATUSES = frozenset({"COMPLETED", "COMPLETE", "FINISHED", "DONE", "REPORTED", "PLAYED", "CANCELLED", "VOID"})
"""Foreign statuses of a match that will not be played any more."""
MAX_SEARCHED = 10_000
"""Objects in an answer that are searched for an address."""
ROUND_IN_ID = re.compile(r"R(\d{1,6})M\d+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class KnownFacts:
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


def complete_message(
    message_type: str, message: Mapping[str, Any], known: KnownFacts
) -> tuple[MessageFields, list[str]]:
    """Fill in what a message leaves out; returns the message and its deviations."""
    whole, noted = dict(message), list[str]()
    _complete_envelope(message_type, whole, known, noted)
    if finish := COMPLETION_OF_TYPE.get(message_type):
        finish(whole, known, noted)
    return whole, list(dict.fromkeys(noted))


def is_canonical_game_over(message: Mapping[str, Any]) -> bool:
    """Whether a GAME_OVER has our own statuses and a full envelope."""
    result = message.get("game_result")
    if not isinstance(result, dict) or result.get("status") not in ("WIN", "DRAW", "TECHNICAL_LOSS"):
        return False
    return all(message.get(name) for name in REQUIRED_FIELDS)


def parse_polled_matches(body: Any, candidates: Iterator[tuple[str, dict[str, Any]]]) -> list[MessageFields] | None:
    """Find the list of matches in the answer to a poll; None if there is none."""
    for found in (body, body.get("result") if isinstance(body, dict) else None):
        if isinstance(found, list):
            return [match for match in found if isinstance(match, dict)]
    for _, answer in candidates:
        for name in MATCH_LIST_FIELDS:
            if isinstance(answer.get(name), list):
                return [match for match in answer[name] if isinstance(match, dict)]
    return None


def is_match_over(match: Mapping[str, Any]) -> bool:
    """Whether a polled match will not be played any more."""
    return str(match.get("status", match.get("state"))).upper() in OVER_STATUSES


def find_player_addresses(answer: Any, player_id: str) -> Iterator[str]:
    """Find a player's addresses in an answer: `{"player_id": ID, "endpoint": X}` or `{ID: {"endpoint": X}}`."""
    waiting, seen = [answer], 0
    while waiting and seen < MAX_SEARCHED:
        seen += 1
        one = waiting.pop()
        if isinstance(one, dict):
            named = one.get(player_id)
            if isinstance(named, str):
                yield named
            for about in (one if _first_text(one, PLAYER_ID_FIELDS) == player_id else None, named):
                if isinstance(about, dict) and (address := _first_text(about, ADDRESS_FIELDS)):
                    yield address
            waiting.extend(one.values())
        elif isinstance(one, list):
            waiting.extend(one)


def _complete_envelope(message_type: str, message: MessageFields, known: KnownFacts, noted: list[str]) -> None:
    filled = {
        "protocol": PROTOCOL_V2,
        "message_type": message_type,
        "sender": known.sender,
        "timestamp": known.now,
        "conversation_id": f"conv-{message_type.lower().replace('_', '-')}",
    }
    for name in REQUIRED_FIELDS:
        if message.get(name) in (None, ""):
            message[name] = filled[name]
            noted.append(f"no '{name}'")
    sender, role = message["sender"], known.sender.partition(":")[0]
    if not isinstance(sender, str) or sender == known.sender:
        return
    if sender == role or (role == MANAGER and sender.startswith(f"{MANAGER}:")):
        message["sender"] = known.sender
        noted.append(f"'sender' {quote(sender)} for {known.sender!r}")


def _complete_start_match(message: MessageFields, known: KnownFacts, noted: list[str]) -> None:
    for side in PLAYER_FIELDS:
        player = _read_player(message, side, noted)
        if player is not None:
            message[side] = player
    match_id = message.get("match_id")
    found = ROUND_IN_ID.fullmatch(match_id) if isinstance(match_id, str) else None
    round_id = known.rounds.get(str(match_id)) or (int(found[1]) if found else known.round_id) or 1
    _fill_missing(message, noted, league_id=known.league_id or "league", round_id=round_id, game_type=known.game_type)


def _read_player(match: MessageFields, side: str, noted: list[str]) -> MessageFields | None:
    """Read one player of a match under our own names; `endpoint` is empty if it isn't given."""
    for name in PLAYER_FIELDS[side]:
        about = match.get(name)
        inner = about if isinstance(about, dict) else {}
        player_id = (
            _first_text(inner, PLAYER_ID_FIELDS) or _text_or_none(match.get(f"{name}_id")) or _text_or_none(about)
        )
        if player_id is None:
            continue
        flat = (_text_or_none(match.get(f"{name}_{address}")) for address in ADDRESS_FIELDS)
        endpoint = _first_text(inner, ADDRESS_FIELDS) or next(filter(None, flat), "")
        if name != side:
            noted.append(f"'{name}' for '{side}'")
        display_name = _text_or_none(inner.get("display_name")) or player_id
        return {**inner, "player_id": player_id, "display_name": display_name, "endpoint": endpoint}
    return None


def _complete_round(message: MessageFields, known: KnownFacts, noted: list[str]) -> None:
    _fill_missing(message, noted, round_id=known.round_id or 1)
    rows = message.get("matches")
    if not isinstance(rows, list):
        _fill_missing(message, noted, matches=[])
        return
    whole = [_read_announced_match(row, known, noted) for row in rows]
    message["matches"] = [row for row in whole if row is not None]
    if len(message["matches"]) < len(rows):
        noted.append("matches without id or players")


def _read_announced_match(row: Any, known: KnownFacts, noted: list[str]) -> MessageFields | None:
    if not isinstance(row, dict) or not _text_or_none(row.get("match_id")):
        return None
    match = dict(row)
    for side in PLAYER_FIELDS:
        player = _read_player(match, side, noted)
        if player is None:
            return None
        match[f"{side}_id"], match[f"{side}_endpoint"] = player["player_id"], player["endpoint"] or None
    if match.get("referee_endpoint") is None:
        ours = match.get("referee_id") == known.own_id and known.own_endpoint
        match["referee_endpoint"] = known.own_endpoint if ours else ""
        noted.append("no 'referee_endpoint'")
    _fill_missing(match, noted, game_type=known.game_type)
    return match


def _complete_standings(message: MessageFields, known: KnownFacts, noted: list[str]) -> None:
    _fill_missing(message, noted, round_id=known.round_id or 1)
    message["standings"] = _read_standings_rows(message.get("standings"), noted)


def _complete_round_completed(message: MessageFields, known: KnownFacts, noted: list[str]) -> None:
    _fill_missing(message, noted, round_id=known.round_id or 1)
    summary = message.get("summary")
    if not isinstance(summary, dict):
        message.pop("summary", None)
        return
    counts = {name: _whole_number(summary.get(name)) for name in ("wins", "draws", "technical_losses")}
    total = summary.get("total_matches")
    whole = {**summary, **counts, "total_matches": _whole_number(total) if total is not None else sum(counts.values())}
    if whole != summary:
        noted.append("a short 'summary'")
        message["summary"] = whole


def _complete_league_completed(message: MessageFields, known: KnownFacts, noted: list[str]) -> None:
    named = next((name for name in ("final_standings", "standings") if isinstance(message.get(name), list)), None)
    rows = _read_standings_rows(message.get(named) if named else [], noted)
    message["final_standings"] = rows
    champion = message.get("champion")
    about = champion if isinstance(champion, dict) else {}
    player_id = (
        _first_text(about, PLAYER_ID_FIELDS)
        or _text_or_none(champion)
        or (rows[0]["player_id"] if rows else UNKNOWN_PLAYER)
    )
    row = next((row for row in rows if row["player_id"] == player_id), {})
    display_name = _text_or_none(about.get("display_name")) or row.get("display_name", player_id)
    points = _whole_number(about.get("points", row.get("points", 0)))
    whole = {**about, "player_id": player_id, "display_name": display_name, "points": points}
    if whole != champion:
        noted.append("a short 'champion'")
        message["champion"] = whole
    _fill_missing(message, noted, total_rounds=known.round_id or 0, total_matches=0)


def _read_standings_rows(rows: Any, noted: list[str]) -> list[MessageFields]:
    """Complete the rows of a standings table; rows without a player are left out."""
    found = []
    given = rows if isinstance(rows, list) else []
    for place, row in enumerate(given, start=1):
        player_id = _first_text(row, PLAYER_ID_FIELDS) if isinstance(row, dict) else _text_or_none(row)
        if player_id is None:
            continue
        about = row if isinstance(row, dict) else {}
        counts = {name: _whole_number(about.get(name)) for name in ("wins", "draws", "losses", "points")}
        found.append(
            {
                **about,
                **counts,
                "player_id": player_id,
                "display_name": _text_or_none(about.get("display_name")) or player_id,
                "rank": _whole_number(about.get("rank", place)),
                "played": _whole_number(about.get("played", counts["wins"] + counts["draws"] + counts["losses"])),
            }
        )
    if found != rows:
        noted.append("rows of a table that are short")
    return found


def _complete_game_over(message: MessageFields, known: KnownFacts, noted: list[str]) -> None:
    result = message.get("game_result", message.get("result"))
    if not isinstance(result, dict):
        said = result
        result = {name: message[name] for name in RESULT_FIELDS if name in message}
        if isinstance(said, str):
            result.setdefault("status", said)
        noted.append("a flat result")
    whole = dict(result)
    status = OUTCOME_OF_WORD.get(str(result.get("status", result.get("outcome"))).upper())
    winner = next((_text_or_none(result[name]) for name in WINNER_FIELDS if name in result), None)
    winner = None if winner and winner.upper() in ("DRAW", "TIE", "NONE") else winner
    told_winner = any(name in result for name in WINNER_FIELDS)
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


def normalise_role(message: MessageFields, noted: list[str]) -> None:
    """Normalise the case of `role_in_match` in place; an unknown role becomes None, since play doesn't need it."""
    role = message.get("role_in_match")
    if role is None or role in ROLES:
        return
    plain = role.upper() if isinstance(role, str) else None
    message["role_in_match"] = plain if plain in ROLES else None
    noted.append("'role_in_match' in other words")


COMPLETION_OF_TYPE: Mapping[str, Callable[[MessageFields, KnownFacts, list[str]], None]] = {
    "START_MATCH": _complete_start_match,
    GAME_OVER: _complete_game_over,
    "ROUND_ANNOUNCEMENT": _complete_round,
    "LEAGUE_STANDINGS_UPDATE": _complete_standings,
    "ROUND_COMPLETED": _complete_round_completed,
    "LEAGUE_COMPLETED": _complete_league_completed,
}
"""The message types that are completed -> the function that completes them in place."""


def _fill_missing(message: MessageFields, noted: list[str], **values: Any) -> None:
    for name, value in values.items():
        if message.get(name) is None:
            message[name] = value
            noted.append(f"no '{name}'")


def _first_text(about: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    return next((text for name in names if (text := _text_or_none(about.get(name)))), None)


def _text_or_none(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _whole_number(value: Any) -> int:
    """A count of matches or points; 0 if the value is no whole number."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
