"""What a manager in a terminal of its own prints: a line for each thing that happens."""

from rich.console import Console
from rich.text import Text

from agent_league.cli.live import standings_table
from agent_league.model.events import (
    AgentRegistered,
    AgentStateChanged,
    Event,
    LeagueCompleted,
    LeagueStarted,
    MatchFinished,
    RoundCompleted,
    RoundStarted,
)


def tell_event(event: Event) -> None:
    """Prints one event."""
    console = Console(highlight=False)
    match event:
        case AgentRegistered():
            again = " again" if event.returned else ""
            line = f"{event.agent_id} registered{again}: {event.display_name} at {event.endpoint}"
        case AgentStateChanged():
            line = f"{event.agent_id} is {event.state}: {event.why}"
        case LeagueStarted():
            line = f"The league starts: {event.players} players, {event.rounds} rounds, {event.matches} matches."
        case RoundStarted():
            line = f"Round {event.round.round_id}"
        case MatchFinished():
            result = event.result
            line = f"  {result.match_id} {' - '.join(result.players)}: {result.outcome} {result.winner or ''}"
        case RoundCompleted():
            console.print(standings_table(event.standings, f"After round {event.round_id}"))
            return
        case LeagueCompleted():
            console.print(standings_table(event.standings, "Final table", len(event.standings)))
            champion = event.standings[0]
            line = f"Champion: {champion.display_name} ({champion.player_id}) with {champion.points} points."
    console.print(Text(line.rstrip()), soft_wrap=True)
