"""What a host is told of what happened to the player: in words of ours, other people's apart and cut short."""

from collections.abc import Iterable
from typing import Any

from agent_league.gateway.forms import LATEST_GAMES, Game, History, News, OpenTurn, Row, Told, Untrusted
from agent_league.gateway.seat import HostSeat
from agent_league.model.names import printable
from agent_league.model.results import StandingsRow
from agent_league.players.happenings import (
    Invited,
    LeagueOver,
    MatchOver,
    Registered,
    RoundAnnounced,
    StandingsChanged,
    Trouble,
)
from agent_league.players.mailbox import Event, FallbackPlayed, Stopped, Turn, YourTurn
from agent_league.players.observation import GameRecord
from agent_league.protocol.quoting import shortened


def news(seat: HostSeat, events: list[Event], after: int) -> News:
    """What a host gets that has waited."""
    first = events[0].number if events else seat.mailbox.last + 1
    return News(
        events=[told(seat, event) for event in events],
        open_turns=[open_turn(seat, turn) for turn in seat.mailbox.open_turns],
        after=max(after, seat.mailbox.last) if not events else events[-1].number,
        missed=max(0, first - after - 1),
        league_over=seat.is_over,
        next=_next_step(seat),
    )


def told(seat: HostSeat, event: Event) -> Told:
    """An event in words of ours; what others have written stands apart."""
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
            fields = {"kind": "fallback", "text": text, "my_moves": [shortened(move)], **_of_turn(seat, turn)}
        case MatchOver(game):
            fields = {"kind": "result", "text": f"A match is over: {_outcome(game)}.", **_of_game(seat, game)}
        case Trouble(match_id, code, message, consequence):
            fields = {"kind": "trouble", "text": "The referee tells of an error in a match."}
            fields["untrusted"] = others(match_id=match_id, reason=" ".join(filter(None, (code, message, consequence))))
        case StandingsChanged(round_id, rows):
            fields = {"kind": "standings", "text": f"The table after round {round_id}.", "round_id": round_id}
            fields["standings"] = table(seat, rows)
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
    return OpenTurn(
        turn_id=turn.turn_id,
        seconds_left=round(seat.mailbox.seconds_left(turn), 1),
        legal_moves=list(seen.legal_moves),
        round_id=seen.round_id,
        untrusted=opponent(seat, seen.match_id, seen.opponent_id, game_type=seen.game_type, view=shortened(seen.view)),
    )


def table(seat: HostSeat, rows: Iterable[StandingsRow]) -> list[Row]:
    own = seat.player.agent_id if seat.player else None
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
        for row in rows
    ]


def history(seat: HostSeat) -> History:
    outcomes = [game.outcome for game in seat.games]
    return History(
        played=len(outcomes),
        wins=outcomes.count("WIN"),
        draws=outcomes.count("DRAW"),
        losses=outcomes.count("LOSS") + outcomes.count("TECHNICAL_LOSS"),
        technical_losses=outcomes.count("TECHNICAL_LOSS"),
        games=[Game(**_of_game(seat, game)) for game in seat.games[-LATEST_GAMES:]],
    )


def opponent(seat: HostSeat, match_id: str | None, opponent_id: str | None, **more: Any) -> Untrusted:
    return others(match_id=match_id, opponent_id=opponent_id, opponent_name=seat.names.get(opponent_id or ""), **more)


def others(**fields: Any) -> Untrusted:
    """Other people's words, cut short."""
    said = {name: value for name, value in fields.items() if value is not None}
    return Untrusted(**{name: _text(value) if isinstance(value, str) else value for name, value in said.items()})


def opponents(events: Iterable[Event]) -> set[str | None]:
    """Whom these events speak of."""
    whats = [event.what for event in events]
    return {
        *(what.opponent_id for what in whats if isinstance(what, RoundAnnounced | Invited)),
        *(what.turn.observation.opponent_id for what in whats if isinstance(what, YourTurn | FallbackPlayed)),
        *(what.game.opponent_id for what in whats if isinstance(what, MatchOver)),
        *(what.champion_id for what in whats if isinstance(what, LeagueOver)),
    }


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
        opponent_moves=shortened(list(game.opponent_moves)),
    )
    moves = shortened(list(game.my_moves))
    return {"outcome": _outcome(game), "round_id": game.round_id, "my_moves": moves, "untrusted": about}


def _outcome(game: GameRecord) -> str:
    return _text(game.outcome)


def _text(text: str) -> str:
    return str(shortened(printable(text)))


def _next_step(seat: HostSeat) -> str:
    if turns := seat.mailbox.open_turns:
        named = " and ".join(turn.turn_id for turn in turns)
        return f"Answer {named} with make_move, before its seconds_left are over."
    if seat.is_over:
        return "Nothing: the league is over. get_standings and get_history tell how it went."
    if seat.failure:
        return "Call join_league: your player has stopped."
    return "Call wait_for_turn again, with this `after`."
