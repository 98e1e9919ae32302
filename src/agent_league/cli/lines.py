"""What a manager in a terminal of its own prints: a line for each thing that happens."""

from rich.console import Console
from rich.text import Text

from agent_league.cli.live import broken_off_lines, remark_on, standings_table, tolerated_lines
from agent_league.model.events import (
    AgentRegistered,
    Event,
    LeagueCompleted,
    LeagueResumed,
    LeagueStarted,
    MatchFinished,
    RoundCompleted,
    RoundStarted,
)
from agent_league.model.names import printable
from agent_league.model.result_words import champion, counted, ending


def tell_event(event: Event) -> None:
    """Prints one event."""
    console = Console(highlight=False)
    match event:
        case AgentRegistered():
            again = " again" if event.returned else ""
            noted = f" (put up with: {'; '.join(event.tolerated)})" if event.tolerated else ""
            line = f"{event.agent_id} registered{again}: {event.display_name} at {event.endpoint}{noted}"
        case LeagueStarted():
            line = f"The league starts: {_numbers(event.players, event.rounds, event.matches)}."
        case LeagueResumed():
            line = f"The league goes on: {len(event.results)} of {counted(event.matches, 'match')} played."
        case RoundStarted():
            line = f"Round {event.round.round_id}"
        case MatchFinished():
            line = f"  {event.result.match_id}: {ending(event.result, {})}"
        case RoundCompleted(is_last=True):
            return  # the final table follows
        case RoundCompleted():
            console.print(standings_table(event.standings, f"After round {event.round_id}"))
            return
        case LeagueCompleted():
            console.print(standings_table(event.standings, "Final table", len(event.standings)))
            for noted in [*tolerated_lines(event), *broken_off_lines(event)]:
                console.print(Text(printable(noted)), soft_wrap=True)
            line = "There is no champion." if event.is_void else f"{champion(event.standings[0])}."
        case _:
            line = remark_on(event) or ""
    if line:
        console.print(Text(printable(line.rstrip())), soft_wrap=True)


def _numbers(players: int, rounds: int, matches: int) -> str:
    return f"{counted(players, 'player')}, {counted(rounds, 'round')}, {counted(matches, 'match')}"
