"""Describes a player's events to an MCP host: in our own words, with others' text shortened and kept apart."""

from collections.abc import Iterable, Sequence
from typing import Any

from agent_league.games.base import in_words, is_long
from agent_league.games.text_view import own_picture
from agent_league.gateway.moves import cut, legal_shown, past_shown
from agent_league.gateway.tool_forms import LATEST_GAMES, Game, History, News, OpenTurn, Row, Standings, Told, Untrusted
from agent_league.launch.outside_player import HostSeat
from agent_league.model.names import printable
from agent_league.model.results import StandingsRow
from agent_league.players.events import (
    Invited,
    LeagueOver,
    MatchOver,
    Registered,
    RoundAnnounced,
    StandingsChanged,
    Trouble,
)
from agent_league.players.human import Event, FallbackPlayed, Stopped, Turn, YourTurn
from agent_league.players.observation import GameRecord
from agent_league.protocol.quoted_text import shortened

MOST_EVENTS = 30
MOST_TURNS = 5
FIRST_ROWS = 10
MOST_ROWS = 100
LONGEST_VIEW = 4000
OVER = "Nothing: the league is over. get_standings and get_history tell how it went."


def news(seat: HostSeat, events: Sequence[Event], after: int) -> News:
    """Make the answer to a host that has waited: MAX_EVENTS_PER_ANSWER events, the rest when it asks again."""
    now = events[:MOST_EVENTS]
    # Without events it isn't the latest number: something may have happened since the wait ended.
    told_up_to = now[-1].number if now else min(after, seat.mailbox.last)
    has_more = told_up_to < seat.mailbox.last
    turns = sorted(seat.mailbox.open_turns, key=lambda turn: turn.closes)
    return News(
        events=[told(seat, event) for event in now],
        open_turns=[open_turn(seat, turn) for turn in turns[:MOST_TURNS]],
        after=told_up_to,
        missed=max(0, now[0].number - after - 1) if now else 0,
        league_over=seat.is_over and not has_more,
        next=_next_step(seat, turns, has_more=has_more),
    )


def told(seat: HostSeat, event: Event) -> Told:
    """Describe an event in our own words; others' text goes under `untrusted`."""
    match event.what:
        case Registered(league_id):
            fields: dict[str, Any] = {"kind": "registered", "text": "You have a place in the league."}
            fields["untrusted"] = others(league_id=league_id)
        case RoundAnnounced(round_id, match_id, opponent_id):
            text = f"Round {round_id} begins" + (": you have a match." if match_id else "; you have no match in it.")
            fields = {"kind": "round", "text": text, "round_id": round_id}
            fields["untrusted"] = opponent(seat, match_id, opponent_id)
        case Invited(match_id, game_type, opponent_id, accepted):
            text = "You were invited to a match and come." if accepted else "You declined a match of another game."
            fields = {"kind": "invited", "text": text}
            fields["untrusted"] = opponent(seat, match_id, opponent_id, game_type=game_type)
        case YourTurn(turn):
            fields = {"kind": "your_turn", "text": f"It is your turn: {turn.turn_id}.", **_of_turn(seat, turn)}
        case FallbackPlayed(turn, move):
            text = f"No move came in time for {turn.turn_id}: the fallback strategy played for you."
            fields = {"kind": "fallback", "text": text, "my_moves": past_shown([move]), **_of_turn(seat, turn)}
        case MatchOver(game):
            fields = {"kind": "result", "text": f"A match is over: {_outcome(game)}.", **_of_game(seat, game)}
        case Trouble(match_id, code, message, consequence):
            fields = {"kind": "trouble", "text": "The referee tells of an error in a match."}
            fields["untrusted"] = others(
                match_id=match_id, reason="; ".join(filter(None, (code, message, consequence)))
            )
        case StandingsChanged(round_id, rows):
            shown = table(seat, rows, FIRST_ROWS)
            cut_off = f": {len(shown)} of its {len(rows)} rows" if len(shown) < len(rows) else ""
            text = f"The table after round {round_id}{cut_off}."
            fields = {"kind": "standings", "text": text, "round_id": round_id, "standings": shown}
        case LeagueOver(champion_id, rank, points):
            place = f" You are number {rank} with {points} points." if rank is not None else ""
            fields = {"kind": "league_over", "text": f"The league is over.{place} The champion stands under untrusted."}
            fields["untrusted"] = others(player_id=champion_id, display_name=seat.names.get(champion_id or ""))
        case Stopped(why):
            fields = {"kind": "stopped", "text": "Your player has stopped; join_league starts it again."}
            fields["untrusted"] = others(reason=why)
    return Told(number=event.number, **fields)


def open_turn(seat: HostSeat, turn: Turn) -> OpenTurn:
    seen = turn.observation
    shown, view = legal_shown(seen.legal_moves), cut(seen.view, LONGEST_VIEW)
    left_off = len(seen.legal_moves) - len(shown)
    about = opponent(seat, seen.match_id, seen.opponent_id, game_type=seen.game_type, view=view)
    if picture := own_picture(seen.game_type, seen.view, seen.seat):
        about.picture = picture.split("\n")
    return OpenTurn(
        turn_id=turn.turn_id,
        seconds_left=round(seat.mailbox.seconds_left(turn), 1),
        legal_moves=shown,
        **({"more_legal_moves": left_off} if left_off else {}),
        **({"legal_range": in_words(seen.legal_moves)} if is_long(seen.legal_moves) else {}),
        round_id=seen.round_id,
        untrusted=about,
    )


def standings(seat: HostSeat, rows: Sequence[StandingsRow]) -> Standings:
    return Standings(players=len(rows), standings=table(seat, rows, MOST_ROWS))


def table(seat: HostSeat, rows: Sequence[StandingsRow], most: int) -> list[Row]:
    """Make the first rows of the standings, and the player's own."""
    own = seat.player.agent_id if seat.player else None
    shown = [*rows[:most], *(row for row in rows[most:] if row.player_id == own)]
    return [
        Row(
            rank=row.rank,
            is_you=row.player_id == own,
            played=row.played,
            wins=row.wins,
            draws=row.draws,
            losses=row.losses,
            points=row.points,
            untrusted=others(player_id=row.player_id, display_name=row.display_name),
        )
        for row in shown[: most + 1]
    ]


def history(seat: HostSeat) -> History:
    outcomes = [game.outcome for game in seat.games]
    return History(
        played=len(outcomes) - outcomes.count("VOID"),
        wins=outcomes.count("WIN"),
        draws=outcomes.count("DRAW"),
        losses=outcomes.count("LOSS") + outcomes.count("TECHNICAL_LOSS"),
        technical_losses=outcomes.count("TECHNICAL_LOSS"),
        games=[Game(**_of_game(seat, game)) for game in seat.games[-LATEST_GAMES:]],
    )


def opponent(seat: HostSeat, match_id: str | None, opponent_id: str | None, **more: Any) -> Untrusted:
    return others(match_id=match_id, opponent_id=opponent_id, opponent_name=seat.names.get(opponent_id or ""), **more)


def others(**fields: Any) -> Untrusted:
    """Shorten others' text and mark it as untrusted; fields that are None are left out."""
    said = {name: value for name, value in fields.items() if value is not None}
    return Untrusted(**{name: _text(value) if isinstance(value, str) else value for name, value in said.items()})


def opponents(events: Iterable[Event]) -> set[str | None]:
    """Return the ids of players that these events name."""
    whats = [event.what for event in events]
    return {
        *(what.opponent_id for what in whats if isinstance(what, RoundAnnounced | Invited)),
        *(what.turn.observation.opponent_id for what in whats if isinstance(what, YourTurn | FallbackPlayed)),
        *(what.game.opponent_id for what in whats if isinstance(what, MatchOver)),
        *(what.champion_id for what in whats if isinstance(what, LeagueOver)),
    }


def open_turns(seat: HostSeat) -> list[dict[str, Any]]:
    """List open turns as JSON data, each with its match and opponent under `untrusted`."""
    return [
        {**told, "untrusted": told["untrusted"].model_dump(mode="json", exclude_unset=True)}
        for told in (_of_turn(seat, turn) for turn in seat.mailbox.open_turns[:MOST_TURNS])
    ]


def _of_turn(seat: HostSeat, turn: Turn) -> dict[str, Any]:
    seen = turn.observation
    about = opponent(seat, seen.match_id, seen.opponent_id)
    return {"turn_id": turn.turn_id, "round_id": seen.round_id, "untrusted": about}


def _of_game(seat: HostSeat, game: GameRecord) -> dict[str, Any]:
    about = opponent(
        seat,
        game.match_id,
        game.opponent_id,
        game_type=game.game_type,
        reason=" ".join(str(game.details[name]) for name in ("reason", "problem") if game.details.get(name)) or None,
        opponent_moves=past_shown(game.opponent_moves),
    )
    moves = past_shown(game.my_moves)
    return {"outcome": _outcome(game), "round_id": game.round_id, "my_moves": moves, "untrusted": about}


def _outcome(game: GameRecord) -> str:
    return _text(game.outcome)


def _text(text: str) -> str:
    return str(shortened(printable(text)))


def _next_step(seat: HostSeat, turns: Sequence[Turn], *, has_more: bool) -> str:
    if not seat.player:
        return "Call join_league: you have no seat yet."
    if turns:
        named = " and ".join(turn.turn_id for turn in turns[:MOST_TURNS])
        others_open = f"; then {len(turns) - MOST_TURNS} more turns are open" if len(turns) > MOST_TURNS else ""
        return f"Answer {named} with make_move, before its seconds_left are over{others_open}."
    if has_more:
        return "Call wait_for_turn again, with this `after`: more has happened already."
    if seat.is_over:
        return OVER
    if seat.failure:
        return "Call join_league: your player has stopped."
    return "Call wait_for_turn again, with this `after`."
