"""What `league manager` prints: a line for each event."""

from rich.console import Console
from rich.text import Text

from agent_league.cli.command_text import rewrite_commands
from agent_league.cli.run_view import (
    describe_aborted_matches,
    describe_deviations,
    describe_unusual_event,
    standings_table,
)
from agent_league.model.events import (
    AgentRegistered,
    Event,
    LeagueCompleted,
    LeagueResumed,
    LeagueStarted,
    MatchFinished,
    RefereeWaitChanged,
    RoundCompleted,
    RoundStarted,
)
from agent_league.model.result_words import describe_ending, format_champion, format_count
from agent_league.text import to_printable


class ManagerEventPrinter:
    """Prints a manager's events, and what its organiser can do while the league waits or once it is over."""

    def __init__(self, endpoint: str, players: int, referees: int, ending: str = "") -> None:
        self._referee_hint = f"`league referee --manager {endpoint.removesuffix('/mcp')}` starts one."
        self._expected_players, self._expected_referees = players, referees
        self._registered_agents: set[tuple[str, str]] = set()
        self._closing_line = ending

    def handle_event(self, event: Event) -> None:
        """Print an event, and a hint if the league waits for referees or is over."""
        print_event(event)
        match event:
            case AgentRegistered() if (event.role, event.agent_id) not in self._registered_agents:
                self._registered_agents.add((event.role, event.agent_id))
                missing = self._expected_referees - self._count_registered("referee")
                if (
                    event.role == "player"
                    and self._count_registered("player") == self._expected_players
                    and missing > 0
                ):
                    _print_line(
                        f"All players are in; waiting for {format_count(missing, 'referee')}. {self._referee_hint}"
                    )
            case RefereeWaitChanged(is_waiting=True):
                _print_line(self._referee_hint)
            case LeagueCompleted() if self._closing_line:
                _print_line(self._closing_line)

    def _count_registered(self, role: str) -> int:
        return sum(role == registered for registered, _ in self._registered_agents)


def print_event(event: Event) -> None:
    """Print one event; those without a line of their own print nothing."""
    console = Console(highlight=False)
    match event:
        case AgentRegistered():
            again = " again" if event.returned else ""
            noted = f" (tolerated: {'; '.join(event.tolerated)})" if event.tolerated else ""
            line = f"{event.agent_id} registered{again}: {event.display_name} at {event.endpoint}{noted}"
        case LeagueStarted():
            line = f"The league starts: {_describe_size(event.players, event.rounds, event.matches)}."
        case LeagueResumed():
            line = f"The league goes on: {len(event.results)} of {format_count(event.matches, 'match')} played."
        case RoundStarted():
            line = f"Round {event.round.round_id}"
        case MatchFinished():
            line = f"  {event.result.match_id}: {describe_ending(event.result, {})}"
        case RoundCompleted(is_last=True):
            return  # the final table follows
        case RoundCompleted():
            console.print(standings_table(event.standings, f"After round {event.round_id}"))
            return
        case LeagueCompleted():
            console.print(standings_table(event.standings, "Final table", len(event.standings)))
            for noted in [*describe_deviations(event), *describe_aborted_matches(event)]:
                console.print(Text(to_printable(noted)), soft_wrap=True)
            line = "There is no champion." if event.is_void else f"{format_champion(event.standings[0])}."
        case _:
            line = describe_unusual_event(event) or ""
    if line:
        _print_line(line.rstrip())


def _print_line(line: str) -> None:
    Console(highlight=False).print(Text(to_printable(rewrite_commands(line))), soft_wrap=True)


def _describe_size(players: int, rounds: int, matches: int) -> str:
    return f"{format_count(players, 'player')}, {format_count(rounds, 'round')}, {format_count(matches, 'match')}"
