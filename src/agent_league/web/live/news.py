"""What happened, in a sentence for people. Agents' addresses are never in it: only the league needs them."""

from collections.abc import Mapping
from dataclasses import dataclass

from agent_league.model.agents import AgentState
from agent_league.model.events import (
    AgentRegistered,
    AgentStateChanged,
    Event,
    LeagueCompleted,
    LeagueResumed,
    LeagueStarted,
    MatchAssigned,
    MatchFinished,
    PauseChanged,
    RegistrationChanged,
    RegistrationRefused,
    RoundCompleted,
    RoundStarted,
    StoreChanged,
)
from agent_league.model.results import MatchResult, Outcome
from agent_league.web.outcomes import failures


@dataclass(frozen=True, slots=True)
class Sentence:
    """`label` leads to the page `path`, where there is one; `kind` is for the eye."""

    kind: str
    text: str
    label: str = ""
    path: str = ""


def told(event: Event, names: Mapping[str, str]) -> Sentence:
    """An event as a sentence. `names` are the players', by id."""
    match event:
        case AgentRegistered() | AgentStateChanged() | RegistrationRefused():
            return _of_agent(event, names)
        case MatchAssigned() | MatchFinished():
            return _of_match(event, names)
        case RoundStarted() | RoundCompleted():
            return Sentence("round", _of_round(event))
        case RegistrationChanged() | PauseChanged() | StoreChanged():
            is_trouble = isinstance(event, StoreChanged) and not event.is_there
            return Sentence("trouble" if is_trouble else "league", _of_manager(event))
        case _:
            return Sentence("league", _of_league(event))


def _of_agent(event: AgentRegistered | AgentStateChanged | RegistrationRefused, names: Mapping[str, str]) -> Sentence:
    if isinstance(event, RegistrationRefused):
        return Sentence("trouble", f"{event.who} was not admitted: {event.why}")
    path = f"players/{event.agent_id}" if event.agent_id in names else "referees"
    if isinstance(event, AgentRegistered):
        return Sentence("agent", "is back" if event.returned else f"joins as a {event.role}", event.display_name, path)
    kind = "trouble" if event.state is AgentState.SUSPENDED else "agent"
    return Sentence(kind, f"is {event.state.lower()}: {event.why}", names.get(event.agent_id, event.agent_id), path)


def _of_match(event: MatchAssigned | MatchFinished, names: Mapping[str, str]) -> Sentence:
    if isinstance(event, MatchAssigned):
        return Sentence("match", f"goes to {event.referee_id}", event.match_id, f"matches/{event.match_id}")
    result = event.result
    kind = "trouble" if result.outcome is Outcome.TECHNICAL_LOSS or result.is_void else "match"
    return Sentence(kind, ending(result, names), result.match_id, f"matches/{result.match_id}")


def _of_round(event: RoundStarted | RoundCompleted) -> str:
    if isinstance(event, RoundStarted):
        return f"Round {event.round.round_id} begins"
    leader = f"; {event.standings[0].display_name} leads" if event.standings else ""
    return f"Round {event.round_id} is complete{leader}"


def _of_manager(event: RegistrationChanged | PauseChanged | StoreChanged) -> str:
    match event:
        case RegistrationChanged():
            return f"Registration is {'open' if event.is_open else 'closed'}"
        case PauseChanged():
            return "The league is paused" if event.is_paused else "The league goes on"
        case StoreChanged():
            return "The database is back" if event.is_there else event.why


def _of_league(event: LeagueStarted | LeagueResumed | LeagueCompleted) -> str:
    match event:
        case LeagueStarted():
            return f"The league starts: {event.players} players, {event.matches} matches"
        case LeagueResumed():
            return f"The league goes on after {len(event.results)} of {event.matches} matches"
        case LeagueCompleted():
            won = not event.is_void and event.standings
            who = f"{event.standings[0].display_name} is the champion" if won else "there is no champion"
            return f"The league is over; {who}"


def ending(result: MatchResult, names: Mapping[str, str]) -> str:
    """How a match ended."""
    first, second = (names.get(player_id, player_id) for player_id in result.players)
    if result.is_void:
        return f"{first} against {second} was broken off: {result.fault}"
    if result.outcome is Outcome.DRAW:
        return f"{first} and {second} draw"
    if result.winner is None:
        return f"nobody wins: {failings(result, names)}"
    winner, loser = (first, second) if result.winner == result.players[0] else (second, first)
    beaten = f"{winner} beats {loser}"
    return f"{beaten}: {failings(result, names)}" if result.outcome is Outcome.TECHNICAL_LOSS else beaten


def failings(result: MatchResult, names: Mapping[str, str]) -> str:
    """Who failed, and how; empty for a match that ended as the rules have it."""
    return "; ".join(f"{names.get(player_id, player_id)} {how}" for player_id, how in failures(result).items())
