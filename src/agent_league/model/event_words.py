"""The sentences about a league's events, the same on pages and in terminals; nothing in them is private.

Pages escape them and link their labels; terminals add what only the organiser may know, such as addresses.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from agent_league.clock import format_wait
from agent_league.model.agents import AgentState
from agent_league.model.events import (
    AgentRegistered,
    AgentStateChanged,
    CommandCarriedOut,
    Event,
    FreezeChanged,
    LadderNews,
    LeagueCompleted,
    LeagueReopened,
    LeagueResumed,
    LeagueStarted,
    MatchAssigned,
    MatchFinished,
    MatchNotTaken,
    MatchOverdue,
    MatchPaired,
    MatchReplaced,
    PauseChanged,
    QuietHoursChanged,
    ReachabilityChanged,
    RefereeWaitChanged,
    RegistrationChanged,
    RegistrationRefused,
    RoundCalled,
    RoundCompleted,
    RoundScheduled,
    RoundStarted,
    StartDelayed,
    StartedLate,
    StoreChanged,
    TimesChanged,
)
from agent_league.model.result_words import describe_ending, describe_fault, format_count, join_names
from agent_league.model.results import StandingsRow, select_champions
from agent_league.text import redact_addresses

EventKind = Literal["agent", "league", "match", "round", "trouble"]


@dataclass(frozen=True, slots=True)
class EventSentence:
    """A sentence without a full stop; `label`, if there is one, comes before `text`."""

    kind: EventKind
    text: str
    label: str = ""
    agent_id: str = ""
    match_id: str = ""

    def __str__(self) -> str:
        return f"{self.label} {self.text}".lstrip()


def describe_event(event: Event, names: Mapping[str, str]) -> EventSentence:  # noqa: PLR0911 - a table
    """Describe an event. `names` maps player ids to names; players missing there are called by their ids."""
    match event:
        case AgentRegistered(_, agent_id, name):
            return EventSentence("agent", _describe_registration(event), name, agent_id)
        case ReachabilityChanged(agent_id, is_reachable):
            sentence = "can be called" if is_reachable else "is not reachable yet, and gets no match before it is"
            return EventSentence("agent" if is_reachable else "trouble", sentence, agent_id, agent_id=agent_id)
        case AgentStateChanged(agent_id, state, why):
            kind: EventKind = "trouble" if state is AgentState.SUSPENDED else "agent"
            return EventSentence(kind, f"is {state.lower()}: {why}", names.get(agent_id, agent_id), agent_id)
        case MatchAssigned(match_id, referee_id):
            whose = f"goes to {referee_id}" if referee_id else "waits for a referee"
            return EventSentence("match", whose, match_id, match_id=match_id)
        case MatchFinished(result):
            kind, match_id = "trouble" if describe_fault(result, names) else "match", result.match_id
            return EventSentence(kind, describe_ending(result, names), match_id, match_id=match_id)
        case MatchPaired(pairing):
            a, b = (names.get(player_id, player_id) for player_id in pairing.players)
            match_id = pairing.match_id
            return EventSentence("match", f"{a} against {b} ({pairing.reason})", match_id, match_id=match_id)
        case LadderNews(player_id, text):
            kind = "trouble" if event.is_trouble else "agent"
            return EventSentence(kind, text, names.get(player_id, player_id), player_id)
        case MatchReplaced(match_id, pairing):
            sentence = f"is played again, as {pairing.match_id}"
            return EventSentence("match", sentence, match_id, match_id=pairing.match_id)
        case _:
            return EventSentence(*_describe_league_event(event))


def _describe_registration(event: AgentRegistered) -> str:
    if event.new_version:
        return f"replaces {event.agent_id}: version {event.new_version}, from its next match on"
    if event.returned:
        return "is back, at another address" if event.has_moved else "is back"
    return f"joins as a {event.role}"


def _describe_league_event(  # noqa: PLR0911, PLR0912 - a table: one line for each event
    event: RegistrationRefused
    | RegistrationChanged
    | StoreChanged
    | StartDelayed
    | StartedLate
    | RoundScheduled
    | RoundCalled
    | TimesChanged
    | QuietHoursChanged
    | FreezeChanged
    | PauseChanged
    | RefereeWaitChanged
    | LeagueStarted
    | LeagueResumed
    | RoundStarted
    | RoundCompleted
    | MatchOverdue
    | MatchNotTaken
    | LeagueCompleted
    | CommandCarriedOut
    | LeagueReopened,
) -> tuple[EventKind, str]:
    match event:
        case RegistrationRefused(who, _) if event.has_old_token:
            return "agent", f"{who} comes with the token of an earlier league, and registers anew"
        case RegistrationRefused(who, why):
            return "trouble", f"{who} was not admitted: {why}"
        case RegistrationChanged(is_open):
            return "league", "Registration is open again" if is_open else "Registration is closed"
        case TimesChanged(change):
            return "league", f"The league's times are changed: {change}"
        case StartDelayed() | StartedLate() | RoundScheduled() | RoundCalled() | QuietHoursChanged() | FreezeChanged():
            return _describe_timed_event(event)
        case StoreChanged(is_there=True):
            return "league", "The database is back"
        case StoreChanged():
            return "trouble", "The database is away; nothing is lost, and the league goes on once it is back"
        case PauseChanged(is_paused):
            return "league", "The league is paused" if is_paused else "The league goes on"
        case RefereeWaitChanged(is_waiting=True):
            return "trouble", "The league has no referee: waiting for one to come, or to come back"
        case RefereeWaitChanged():
            return "league", "There is a referee again; the league goes on"
        case LeagueStarted(is_ladder=True) | LeagueResumed(is_ladder=True):
            return "league", "The practice ladder is open"
        case LeagueStarted(_, players, _, rounds, matches):
            counts = ((players, "player"), (rounds, "round"), (matches, "match"))
            told = ", ".join(format_count(*count) for count in counts)
            return "league", f"The league starts: {told}{_limit_count(event)}"
        case LeagueResumed(matches=matches, results=results):
            known = f"{format_count(matches, 'match')}{_limit_count(event)}"
            return "league", f"The league goes on after {len(results)} of {known}"
        case RoundStarted(round_):
            return "round", f"Round {round_.round_id} begins{f': {round_.title}' if round_.title else ''}"
        case RoundCompleted(round_id):
            return "round", f"Round {round_id} is complete{_describe_lead(event)}"
        case MatchOverdue(match_id, referee_id, times, refusals):
            again, said = " again" if times > 1 else "", f": {'; '.join(refusals)}" if refusals else ""
            return "trouble", f"{match_id} is overdue{again}: {referee_id} took it and hasn't reported it{said}"
        case MatchNotTaken(match_id, referee_id, why):
            return "trouble", f"{match_id} waits: {referee_id} doesn't take it: {redact_addresses(why)}"
        case LeagueCompleted(standings=standings):
            has_champion = standings and not event.is_void
            who = _name_champions(standings) if has_champion else "there is no champion"
            return "league", f"The league is over; {who}"
        case LeagueReopened():
            return "league", "The league goes on: it needs another match"
        case CommandCarriedOut(entry):
            return "league", f"{entry.who}: {entry.change}{f' ({entry.reason})' if entry.reason else ''}"


def _describe_timed_event(
    event: StartDelayed | StartedLate | RoundScheduled | RoundCalled | QuietHoursChanged | FreezeChanged,
) -> tuple[EventKind, str]:
    match event:
        case StartDelayed(planned, why):
            return "trouble", f"The league was to start on {planned}, and waits: {why}; it starts when that has changed"
        case StartedLate(planned, seconds):
            late = format_wait(seconds)
            return "league", f"The league was to start on {planned} and starts now, {late} late: nobody conducted it"
        case RoundScheduled(round_id, at, is_late):
            missed = ": it has missed its own time" if is_late else ""
            return "league", f"Round {round_id} begins on {at}{missed}"
        case RoundCalled(round_id):
            return "league", f"Round {round_id} begins before its time, as the organiser wants it"
        case QuietHoursChanged(is_quiet, until):
            return "league", f"Quiet hours until {until}: no match begins" if is_quiet else "Quiet hours are over"
        case FreezeChanged(is_frozen):
            frozen = "Agents are frozen: none is admitted or replaced any more"
            return "league", frozen if is_frozen else "Agents may be admitted and replaced again"


def _limit_count(event: LeagueStarted | LeagueResumed) -> str:
    """What to add to a number of matches if the format pairs others later."""
    return "" if event.is_fixed else " paired so far"


def _describe_lead(event: RoundCompleted) -> str:
    """Say who leads after a round, or how many are still in where nobody does; nothing if neither says anything."""
    standings = event.standings
    if event.still_in is not None:
        is_told = event.still_in > 1 and not event.is_last
        return f"; {event.still_in} players are still in" if is_told else ""
    if not standings or not standings[0].played:
        return ""
    leaders = select_champions(standings)
    return f"; {leaders[0].display_name} leads" if len(leaders) == 1 else f"; {len(leaders)} players share the lead"


def _name_champions(standings: Sequence[StandingsRow]) -> str:
    names = [row.display_name for row in select_champions(standings)]
    if len(names) == 1:
        return f"{names[0]} is the champion"
    return f"{join_names(names)} share the first place"
