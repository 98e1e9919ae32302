"""What `league manager` prints: a line for each event."""

from rich.console import Console
from rich.text import Text

from agent_league.cli.command_text import as_typed
from agent_league.cli.run_view import broken_off_lines, remark_on, standings_table, tolerated_lines
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
from agent_league.model.names import printable
from agent_league.model.result_words import champion, counted, ending


class ManagerTerminal:
    """Prints a manager's events, and what its organiser can do while the league waits or once it is over."""

    def __init__(self, endpoint: str, players: int, referees: int, ending: str = "") -> None:
        self._start_referee = f"`league referee --manager {endpoint.removesuffix('/mcp')}` starts one."
        self._players, self._referees = players, referees
        self._registered: set[tuple[str, str]] = set()
        self._ending = ending

    def tell(self, event: Event) -> None:
        """Print an event, and a hint if the league waits for referees or is over."""
        tell_event(event)
        match event:
            case AgentRegistered() if (event.role, event.agent_id) not in self._registered:
                self._registered.add((event.role, event.agent_id))
                missing = self._referees - self._count("referee")
                if event.role == "player" and self._count("player") == self._players and missing > 0:
                    _print_line(f"All players are in; waiting for {counted(missing, 'referee')}. {self._start_referee}")
            case RefereeWaitChanged(is_waiting=True):
                _print_line(self._start_referee)
            case LeagueCompleted() if self._ending:
                _print_line(self._ending)

    def _count(self, role: str) -> int:
        return sum(role == registered for registered, _ in self._registered)


def tell_event(event: Event) -> None:
    """Print one event; those without a line of their own print nothing."""
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
        _print_line(line.rstrip())


def _print_line(line: str) -> None:
    Console(highlight=False).print(Text(printable(as_typed(line))), soft_wrap=True)


def _numbers(players: int, rounds: int, matches: int) -> str:
    return f"{counted(players, 'player')}, {counted(rounds, 'round')}, {counted(matches, 'match')}"
