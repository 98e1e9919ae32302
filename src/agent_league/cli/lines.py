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
from agent_league.model.results import MatchResult, Outcome


def tell_event(event: Event) -> None:
    """Prints one event."""
    console = Console(highlight=False)
    match event:
        case AgentRegistered():
            again = " again" if event.returned else ""
            noted = f" (put up with: {'; '.join(event.tolerated)})" if event.tolerated else ""
            line = f"{event.agent_id} registered{again}: {event.display_name} at {event.endpoint}{noted}"
        case LeagueStarted():
            line = f"The league starts: {event.players} players, {event.rounds} rounds, {event.matches} matches."
        case LeagueResumed():
            line = f"The league goes on: {len(event.results)} of {event.matches} matches are played."
        case RoundStarted():
            line = f"Round {event.round.round_id}"
        case MatchFinished():
            result = event.result
            line = f"  {result.match_id} {' - '.join(result.players)}: {_told(result)}"
        case RoundCompleted():
            console.print(standings_table(event.standings, f"After round {event.round_id}"))
            return
        case LeagueCompleted():
            console.print(standings_table(event.standings, "Final table", len(event.standings)))
            for noted in [*tolerated_lines(event), *broken_off_lines(event)]:
                console.print(Text(printable(noted)), soft_wrap=True)
            champion = event.standings[0]
            line = f"Champion: {champion.display_name} ({champion.player_id}) with {champion.points} points."
            if event.is_void:
                line = "There is no champion."
        case _:
            line = remark_on(event) or ""
    if line:
        console.print(Text(printable(line.rstrip())), soft_wrap=True)


def _told(result: MatchResult) -> str:
    """A result in a few words; of a technical loss, who failed and how."""
    if result.is_void:
        return f"broken off, nobody wins: {result.fault}"
    if result.outcome is not Outcome.TECHNICAL_LOSS:
        return f"{result.winner} wins" if result.winner else "draw"
    failed = ", ".join(f"{player} {how.replace('_', ' ')}" for player, how in result.terminations.items())
    return f"{result.winner or 'nobody'} wins, technical loss ({failed})"
