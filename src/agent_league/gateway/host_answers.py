"""What an MCP host is told: events, turns, games and moves in our own words, others' text shortened and kept apart.

Every legal move can be played: by its value, as it was shown, or by its place in the referee's list: `#1`, `#2`, ...
"""

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from agent_league.games.base import describe_range, is_long_range
from agent_league.games.view import render_own_view
from agent_league.gateway.tool_forms import (
    LATEST_GAMES,
    HostEvent,
    HostGame,
    HostHistoryAnswer,
    HostNewsAnswer,
    HostStandingsAnswer,
    HostTableRow,
    OpenTurn,
    UntrustedText,
)
from agent_league.model.results import StandingsRow
from agent_league.players.events import (
    GameErrorReported,
    InvitationAnswered,
    LeagueJoined,
    LeagueOver,
    MatchOver,
    RoundAnnounced,
    StandingsChanged,
)
from agent_league.players.human import ExternalTurn, FallbackPlayed, HumanSeat, NumberedEvent, PlayerStopped, TurnOpened
from agent_league.players.moves import find_equal_moves
from agent_league.players.observation import GameRecord, Move
from agent_league.text import shorten_json, to_printable

MAX_MOVE_LENGTH = 200
MAX_LIST_LENGTH = 4000
FIRST_MOVES = 10
MAX_PAST_LENGTH = 500
_PLACE_PATTERN = re.compile(r"#([1-9][0-9]{0,8})(?:: .*)?", re.ASCII | re.DOTALL)


def format_legal_moves(moves: Sequence[Move]) -> list[Any]:
    """Return the first legal moves, only FIRST_MOVES of a long range; a long move is shown with its place."""
    first = moves[:FIRST_MOVES] if is_long_range(moves) else moves
    return _limit_length(MAX_LIST_LENGTH, (_format_move(place, move) for place, move in enumerate(first, start=1)))


def format_past_moves(moves: Sequence[Move]) -> list[Any]:
    """Return the first moves of a game, then how many more there are."""
    shown = _limit_length(MAX_PAST_LENGTH, map(shorten_for_host, moves))
    return shown if len(shown) == len(moves) else [*shown, f"... {len(moves) - len(shown)} more"]


def parse_move(said: Any, legal: Sequence[Move]) -> Move:
    """Return the legal move that a host's answer means; the answer itself if it means none."""
    place = _PLACE_PATTERN.fullmatch(said) if isinstance(said, str) and not find_equal_moves(said, legal) else None
    if place is None or int(place[1]) > len(legal):
        return said
    move = legal[int(place[1]) - 1]
    return move if said in (f"#{place[1]}", _format_move(int(place[1]), move)) else said


def shorten_for_host(data: Any, longest: int = MAX_MOVE_LENGTH) -> Any:
    """Return data as it is if short, else the beginning of its text."""
    return data if _is_short(data, longest) else shorten_json(_to_text(data), longest=longest)


def _format_move(place: int, move: Move) -> Any:
    return move if _is_short(move, MAX_MOVE_LENGTH) else f"#{place}: {shorten_for_host(move)}"


def _is_short(data: Any, longest: int) -> bool:
    """Whether data may be shown as it is: short, and without lone surrogates."""
    return len(json.dumps(data)) <= longest and bool(shorten_json(data, longest=longest) == data)


def _to_text(data: Any) -> str:
    return data if isinstance(data, str) else json.dumps(data)


def _limit_length(letters: int, shown: Iterable[Any]) -> list[Any]:
    kept = []
    for one in shown:
        letters -= len(json.dumps(one))
        if letters < 0:
            break
        kept.append(one)
    return kept


MAX_EVENTS_PER_ANSWER = 30
MAX_TURNS = 5
FIRST_ROWS = 10
MAX_ROWS = 100
MAX_VIEW_LENGTH = 4000
LEAGUE_OVER_STEP = "Nothing: the league is over. get_standings and get_history tell how it went."


def describe_news(seat: HumanSeat, events: Sequence[NumberedEvent], after: int) -> HostNewsAnswer:
    """Make the answer to a host that has waited: MAX_EVENTS_PER_ANSWER events, the rest when it asks again."""
    now = events[:MAX_EVENTS_PER_ANSWER]
    # Without events it isn't the latest number: something may have happened since the wait ended.
    told_up_to = now[-1].number if now else min(after, seat.mailbox.last_number)
    has_more = told_up_to < seat.mailbox.last_number
    turns = sorted(seat.mailbox.open_turns, key=lambda turn: turn.closes_at)
    return HostNewsAnswer(
        events=[describe_event(seat, event) for event in now],
        open_turns=[describe_open_turn(seat, turn) for turn in turns[:MAX_TURNS]],
        after=told_up_to,
        missed=max(0, now[0].number - after - 1) if now else 0,
        league_over=seat.is_over and not has_more,
        next=_describe_next_step(seat, turns, has_more=has_more),
    )


def describe_event(seat: HumanSeat, event: NumberedEvent) -> HostEvent:
    """Describe an event in our own words; others' text goes under `untrusted`."""
    match event.payload:
        case LeagueJoined(league_id):
            fields: dict[str, Any] = {"kind": "registered", "text": "You have a place in the league."}
            fields["untrusted"] = quote_untrusted(league_id=league_id)
        case RoundAnnounced(round_id, match_id, opponent_id):
            text = f"Round {round_id} begins" + (": you have a match." if match_id else "; you have no match in it.")
            fields = {"kind": "round", "text": text, "round_id": round_id}
            fields["untrusted"] = quote_opponent(seat, match_id, opponent_id)
        case InvitationAnswered(match_id, game_type, opponent_id, accepted):
            text = "You were invited to a match and come." if accepted else "You declined a match of another game."
            fields = {"kind": "invited", "text": text}
            fields["untrusted"] = quote_opponent(seat, match_id, opponent_id, game_type=game_type)
        case TurnOpened(turn):
            fields = {"kind": "your_turn", "text": f"It is your turn: {turn.turn_id}.", **_turn_fields(seat, turn)}
        case FallbackPlayed(turn, move):
            text = f"No move came in time for {turn.turn_id}: the fallback strategy played for you."
            fields = {
                "kind": "fallback",
                "text": text,
                "my_moves": format_past_moves([move]),
                **_turn_fields(seat, turn),
            }
        case MatchOver(game):
            fields = {"kind": "result", "text": f"A match is over: {_outcome_text(game)}.", **_game_fields(seat, game)}
        case GameErrorReported(match_id, code, message, consequence):
            fields = {"kind": "trouble", "text": "The referee tells of an error in a match."}
            fields["untrusted"] = quote_untrusted(
                match_id=match_id, reason="; ".join(filter(None, (code, message, consequence)))
            )
        case StandingsChanged(round_id, rows):
            shown = make_table_rows(seat, rows, FIRST_ROWS)
            cut_off = f": {len(shown)} of its {len(rows)} rows" if len(shown) < len(rows) else ""
            text = f"The table after round {round_id}{cut_off}."
            fields = {"kind": "standings", "text": text, "round_id": round_id, "standings": shown}
        case LeagueOver(champion_ids, rank, points):
            place = f" You are number {rank} with {points} points." if rank is not None else ""
            first = (
                "The champion stands" if len(champion_ids) <= 1 else "The champions, who share the first place, stand"
            )
            fields = {"kind": "league_over", "text": f"The league is over.{place} {first} under untrusted."}
            names = [seat.names.get(player_id, player_id) for player_id in champion_ids]
            fields["untrusted"] = quote_untrusted(
                player_id=", ".join(champion_ids) or None, display_name=", ".join(names) or None
            )
        case PlayerStopped(why):
            fields = {"kind": "stopped", "text": "Your player has stopped; join_league starts it again."}
            fields["untrusted"] = quote_untrusted(reason=why)
    return HostEvent(number=event.number, **fields)


def describe_open_turn(seat: HumanSeat, turn: ExternalTurn) -> OpenTurn:
    seen = turn.observation
    shown, view = format_legal_moves(seen.legal_moves), shorten_for_host(seen.view, MAX_VIEW_LENGTH)
    left_off = len(seen.legal_moves) - len(shown)
    about = quote_opponent(seat, seen.match_id, seen.opponent_id, game_type=seen.game_type, view=view)
    if picture := render_own_view(seen.game_type, seen.view, seen.seat):
        about.picture = picture.split("\n")
    return OpenTurn(
        turn_id=turn.turn_id,
        seconds_left=round(seat.mailbox.seconds_left(turn), 1),
        legal_moves=shown,
        **({"more_legal_moves": left_off} if left_off else {}),
        **({"legal_range": describe_range(seen.legal_moves)} if is_long_range(seen.legal_moves) else {}),
        round_id=seen.round_id,
        untrusted=about,
    )


def describe_standings(seat: HumanSeat, rows: Sequence[StandingsRow]) -> HostStandingsAnswer:
    return HostStandingsAnswer(players=len(rows), standings=make_table_rows(seat, rows, MAX_ROWS))


def make_table_rows(seat: HumanSeat, rows: Sequence[StandingsRow], most: int) -> list[HostTableRow]:
    """Make the first rows of the standings, and the player's own."""
    own = seat.own_id
    shown = [*rows[:most], *(row for row in rows[most:] if row.player_id == own)]
    return [
        HostTableRow(
            rank=row.shared_rank,
            is_you=row.player_id == own,
            played=row.played,
            wins=row.wins,
            draws=row.draws,
            losses=row.losses,
            points=row.points,
            untrusted=quote_untrusted(player_id=row.player_id, display_name=row.display_name),
        )
        for row in shown[: most + 1]
    ]


def describe_history(seat: HumanSeat) -> HostHistoryAnswer:
    outcomes = [game.outcome for game in seat.games]
    return HostHistoryAnswer(
        played=len(outcomes) - outcomes.count("VOID"),
        wins=outcomes.count("WIN"),
        draws=outcomes.count("DRAW"),
        losses=outcomes.count("LOSS") + outcomes.count("TECHNICAL_LOSS"),
        technical_losses=outcomes.count("TECHNICAL_LOSS"),
        games=[HostGame(**_game_fields(seat, game)) for game in seat.games[-LATEST_GAMES:]],
    )


def quote_opponent(seat: HumanSeat, match_id: str | None, opponent_id: str | None, **more: Any) -> UntrustedText:
    return quote_untrusted(
        match_id=match_id, opponent_id=opponent_id, opponent_name=seat.names.get(opponent_id or ""), **more
    )


def quote_untrusted(**fields: Any) -> UntrustedText:
    """Shorten others' text and mark it as untrusted; fields that are None are left out."""
    said = {name: value for name, value in fields.items() if value is not None}
    return UntrustedText(
        **{name: _short_text(value) if isinstance(value, str) else value for name, value in said.items()}
    )


def list_open_turns(seat: HumanSeat) -> list[dict[str, Any]]:
    """List open turns as JSON data, each with its match and opponent under `untrusted`."""
    return [
        {**told, "untrusted": told["untrusted"].model_dump(mode="json", exclude_unset=True)}
        for told in (_turn_fields(seat, turn) for turn in seat.mailbox.open_turns[:MAX_TURNS])
    ]


def _turn_fields(seat: HumanSeat, turn: ExternalTurn) -> dict[str, Any]:
    seen = turn.observation
    about = quote_opponent(seat, seen.match_id, seen.opponent_id)
    return {"turn_id": turn.turn_id, "round_id": seen.round_id, "untrusted": about}


def _game_fields(seat: HumanSeat, game: GameRecord) -> dict[str, Any]:
    about = quote_opponent(
        seat,
        game.match_id,
        game.opponent_id,
        game_type=game.game_type,
        reason=" ".join(str(game.details[name]) for name in ("reason", "problem") if game.details.get(name)) or None,
        opponent_moves=format_past_moves(game.opponent_moves),
    )
    moves = format_past_moves(game.my_moves)
    return {"outcome": _outcome_text(game), "round_id": game.round_id, "my_moves": moves, "untrusted": about}


def _outcome_text(game: GameRecord) -> str:
    return _short_text(game.outcome)


def _short_text(text: str) -> str:
    return str(shorten_json(to_printable(text)))


def _describe_next_step(seat: HumanSeat, turns: Sequence[ExternalTurn], *, has_more: bool) -> str:
    if not seat.player:
        return "Call join_league: you have no place yet."
    if turns:
        named = " and ".join(turn.turn_id for turn in turns[:MAX_TURNS])
        others_open = f"; then {len(turns) - MAX_TURNS} more turns are open" if len(turns) > MAX_TURNS else ""
        return f"Answer {named} with make_move, before its seconds_left are over{others_open}."
    if has_more:
        return "Call wait_for_turn again, with this `after`: more has happened already."
    if seat.is_over:
        return LEAGUE_OVER_STEP
    if seat.failure:
        return "Call join_league: your player has stopped."
    return "Call wait_for_turn again, with this `after`."
