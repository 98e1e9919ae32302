"""The sections of the overview as plain data, for their templates and for programs that read the feed as JSON."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from agent_league.clock import format_utc
from agent_league.league.roster import Member
from agent_league.league.state import Phase
from agent_league.model.agents import AgentState, Player, Role
from agent_league.model.result_words import Sign, sign_of, what_went_wrong
from agent_league.model.schedule import Pairing
from agent_league.web.agents import state_of
from agent_league.web.league_history import Chronicle
from agent_league.web.league_reader import Reader
from agent_league.web.live.news import sentence_of

Data = dict[str, Any]
SHOWN_NEWS = 40


@dataclass(frozen=True, slots=True)
class Section:
    """One section of the overview: how its data is read, and its template."""

    name: str
    read: Callable[[Reader], Data]
    template: str
    rest: float | None = None
    """Read the section this often; None: only after events of the league."""


def read_progress(reader: Reader) -> Data:
    """Read the league's phase, counts and times."""
    season, chronicle, invitation = reader.season, reader.chronicle, reader.invitation
    left = chronicle.seconds_left()
    return {
        "title": reader.title,
        "league_id": season.league_id,
        "game_type": season.league.game_type,
        "phase": str(season.phase),
        "is_open": season.is_open,
        "is_paused": season.is_paused,
        "waits_for_referee": season.is_waiting_for_referee,
        "players": len(season.roster.players()),
        "referees": len(season.roster.referees()),
        "least_players": season.league.participants.min_players,
        "awaited_players": invitation.players if invitation else 0,
        "awaited_referees": invitation.referees if invitation else 0,
        "endpoint": invitation.endpoint if invitation else "",
        "played": len(season.results),
        "matches": sum(len(round_.pairings) for round_ in season.schedule.rounds),
        "round": reader.current_round,
        "rounds": len(season.schedule.rounds),
        "rounds_completed": season.rounds_completed,
        "started_at": format_utc(chronicle.started_at) if chronicle.started_at else None,
        "ended_at": format_utc(chronicle.ended_at) if chronicle.ended_at else None,
        "seconds_left": None if left is None else round(left),
        "seconds_taken": _taken(chronicle),
        "obstacle": season.obstacle() if season.phase is Phase.REGISTRATION else None,
        "champion": _champion(reader),
        "trouble": chronicle.store_trouble,
    }


def read_standings(reader: Reader) -> Data:
    """Read the standings, with each player's movement since the last round and recent results."""
    season, before, form = reader.season, reader.chronicle.before, reader.chronicle.form
    members = {member.agent_id: member for member in season.roster.of(Role.PLAYER)}
    return {
        "phase": str(season.phase),
        "rows": [
            {
                **row.as_dict(),
                "moved": before[row.player_id].rank - row.rank if row.player_id in before else None,
                "form": [
                    {"match_id": result.match_id, **_sign(sign_of(result, row.player_id))}
                    for result in form.get(row.player_id, ())
                ],
                "state": str(members[row.player_id].state),
                "is_barred": members[row.player_id].is_barred,
            }
            for row in season.standings()
        ],
    }


def read_round(reader: Reader) -> Data:
    """Read the current or latest round with its matches and their states."""
    season, names = reader.season, reader.names
    rounds = season.schedule.rounds
    if not rounds:
        return {"round_id": 0, "status": "PENDING", "matches": []}
    round_ = rounds[max(reader.current_round, 1) - 1]
    return {
        "round_id": round_.round_id,
        "status": reader.round_status(round_.round_id),
        "matches": [_match(reader, pairing, names) for pairing in round_.pairings],
    }


def read_feed(reader: Reader) -> Data:
    """Read the latest news, newest first."""
    names = reader.names
    latest = list(reader.chronicle.news)[-SHOWN_NEWS:]
    items = []
    for news in reversed(latest):
        sentence = sentence_of(news.event, names)
        items.append(
            {
                "number": news.number,
                "at": format_utc(news.at) if news.at else None,
                "kind": sentence.kind,
                "label": sentence.label,
                "to": sentence.path,
                "text": sentence.text,
            }
        )
    return {"items": items}


def read_agents(reader: Reader) -> Data:
    """Read all agents and how well they answer: first those with problems, then referees, then players."""
    in_hand = reader.season.matches_in_hand() if reader.season.phase is Phase.RUNNING else {}
    members = sorted(reader.season.roster, key=_order)
    return {"rows": [_agent(reader, member, in_hand.get(member.agent_id, 0)) for member in members]}


def _order(member: Member) -> tuple[bool, bool, int, str]:
    is_in_trouble = member.is_barred or member.state is AgentState.SUSPENDED or member.breaker.count > 0
    return (not is_in_trouble, member.role is Role.PLAYER, len(member.agent_id), member.agent_id)


def _sign(sign: Sign) -> Data:
    return {"letter": sign.letter, "kind": sign.kind, "word": sign.word}


def _taken(chronicle: Chronicle) -> int | None:
    if chronicle.started_at is None or chronicle.ended_at is None:
        return None
    return round((chronicle.ended_at - chronicle.started_at).total_seconds())


def _champion(reader: Reader) -> Data | None:
    season = reader.season
    if season.phase is not Phase.COMPLETED or all(result.is_void for result in season.results.values()):
        return None
    first = season.standings()[0]
    return {"player_id": first.player_id, "display_name": first.display_name, "points": first.points}


def _match(reader: Reader, pairing: Pairing, names: dict[str, str]) -> Data:
    season = reader.season
    result, referee_id = season.results.get(pairing.match_id), season.assigned.get(pairing.match_id)
    return {
        "match_id": pairing.match_id,
        "state": "finished" if result else "playing" if referee_id else "waiting",
        "referee_id": referee_id,
        "outcome": str(result.outcome) if result else None,
        "is_void": result is not None and result.is_void,
        "winner": result.winner if result else None,
        "note": what_went_wrong(result, names) if result else "",
        "players": [
            {
                "player_id": player_id,
                "display_name": names.get(player_id, player_id),
                **_sign(sign_of(result, player_id, is_playing=referee_id is not None)),
            }
            for player_id in pairing.players
        ],
    }


def _agent(reader: Reader, member: Member, in_hand: int) -> Data:
    state = state_of(reader, member)
    return {
        "agent_id": member.agent_id,
        "role": str(member.role),
        "display_name": member.agent.display_name,
        "state": str(member.state),
        "state_words": state.words,
        "state_kind": state.kind,
        "is_barred": member.is_barred,
        "latency_ms": None if state.latency_ms is None else _rounded(state.latency_ms),
        "failures": state.failures,
        "in_hand": None if isinstance(member.agent, Player) else in_hand,
    }


def _rounded(milliseconds: float) -> float:
    """Round to two digits, so that the section changes less often."""
    return float(f"{milliseconds:.2g}")


SECTIONS = (
    Section("progress", read_progress, "_progress.html"),
    Section("standings", read_standings, "_standings.html"),
    Section("round", read_round, "_round.html"),
    Section("feed", read_feed, "_feed.html"),
    Section("agents", read_agents, "_agents.html", rest=2),
)
