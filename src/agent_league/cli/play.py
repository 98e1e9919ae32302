"""`league play`: a person in the terminal, on the same seat as an MCP host."""

import asyncio
import getpass
import json
import sys
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent_league.cli.join import Fallback, Host, LeagueUrl, OwnPort, make_seat
from agent_league.cli.options import Home, Set
from agent_league.errors import Refusal
from agent_league.model.names import printable

if TYPE_CHECKING:
    from agent_league.gateway.seat import HostSeat
    from agent_league.model.results import StandingsRow
    from agent_league.players.mailbox import Event, Turn

OUTCOMES = {"WIN": "You win", "DRAW": "A draw", "LOSS": "You lose", "TECHNICAL_LOSS": "Lost technically"}
SHOWN_CHOICES = 30
RULES_LENGTH = 160
LONGEST_LINE = 1000
"""Part of a line is often somebody else's words."""
COUNT = "{:>3.0f} s  "


def play(
    league_url: LeagueUrl,
    name: Annotated[str | None, typer.Option(help="The name to show (default: yours on this machine).")] = None,
    fallback: Fallback = "random",
    port: OwnPort = None,
    host: Host = "127.0.0.1",
    home: Home = None,
    settings: Set = None,
) -> None:
    """Play in a league yourself, in this terminal."""
    from agent_league.arena.hosting import run_async

    async def serve() -> None:
        screen = Screen(is_terminal=sys.stdin.isatty() and sys.stdout.isatty())
        seat = make_seat(league_url, name or _own_name(), fallback, port, host, home, settings, screen.remark)
        try:
            await Sitting(seat, screen).run()
        finally:
            await seat.leave()

    run_async(serve())


class Screen:
    """Lines, and below them the question with its countdown, where there is a terminal."""

    def __init__(self, *, is_terminal: bool) -> None:
        self.is_terminal = is_terminal
        self._question = ""
        self._remarks: list[str] | None = None

    def line(self, text: str) -> None:
        with self._above():
            self._write(printable(text)[:LONGEST_LINE] + "\n")

    def remark(self, text: str) -> None:
        """A sentence of the player's: once the news are told, after those that it belongs to."""
        if self._remarks is None:
            self.line(text)
        else:
            self._remarks.append(text)

    def tell_remarks(self) -> None:
        for text in self._remarks or []:
            self.line(text)
        self._remarks = []

    def ask(self, question: str) -> None:
        self._question = question
        if self.is_terminal:
            _forget_typed()
            self._write("\r\x1b[K" + " " * len(COUNT.format(0)) + question)
        else:
            self._write(f"{question}\n")

    def count(self, seconds: float) -> None:
        """The seconds left, at the beginning of the line; what is being typed after the question stays as it is."""
        if self._question and self.is_terminal:
            self._write(f"\x1b7\r{COUNT.format(seconds)}\x1b8")

    def answered(self) -> None:
        """Somebody has pressed Enter: the line is at its end."""
        self._question = ""

    def give_up(self) -> None:
        """Ends the line of a question that nobody has answered."""
        if self._question and self.is_terminal:
            self._write("\n")
        self._question = ""

    def table(self, rows: "Sequence[StandingsRow]", title: str) -> None:
        from rich.console import Console

        from agent_league.cli.live import standings_table

        with self._above():
            Console(highlight=False).print(standings_table(rows, title))

    @contextmanager
    def _above(self) -> Iterator[None]:
        """An open question makes room, and stands below again."""
        is_asking = bool(self._question) and self.is_terminal
        if is_asking:
            self._write("\r\x1b[K")
        yield
        if is_asking:
            self.ask(self._question)

    @staticmethod
    def _write(text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()


class Sitting:
    """One person's league, from the registration to its end."""

    def __init__(self, seat: "HostSeat", screen: Screen) -> None:
        self._seat = seat
        self._screen = screen
        self._asked: Turn | None = None
        self._is_asking = asyncio.Event()

    async def run(self) -> None:
        """Until the league is over or Ctrl-C."""
        from agent_league.arena.solo import interruption

        settings = self._seat.settings
        self._screen.line(f"Joining the league of {settings.manager} as {settings.display_name}. Ctrl-C leaves.")
        stop, playing = asyncio.create_task(interruption().wait()), asyncio.create_task(self._play())
        try:
            await asyncio.wait({stop, playing}, return_when=asyncio.FIRST_COMPLETED)
            if playing.done():
                playing.result()
                return
            self._screen.give_up()
            self._screen.line("You leave. Matches to come are lost unless you come back; the same command does that.")
        finally:
            for task in (stop, playing):
                task.cancel()
            await asyncio.gather(stop, playing, return_exceptions=True)

    async def _play(self) -> None:
        await self._seat.join(seconds=None)
        async with asyncio.TaskGroup() as beside:
            listening = beside.create_task(self._listen())
            await self._follow()
            listening.cancel()
        if self._seat.failure:
            raise self._seat.failure

    async def _follow(self) -> None:
        """Tells what happens, up to the end."""
        from agent_league.gateway.words import opponents

        after, mailbox = 0, self._seat.mailbox
        while not (self._seat.failure or (self._seat.is_over and after == mailbox.last)):
            events = await mailbox.wait(after, seconds=0.5)
            await self._seat.learn_names(opponents(events))
            for event in events:
                after = event.number
                await self._show(event)
            self._screen.tell_remarks()
            self._ask()
            if self._asked:
                self._screen.count(mailbox.seconds_left(self._asked))

    async def _listen(self) -> None:
        """Takes answers. At a terminal, what is typed without a question is nothing; a pipe isn't read before one."""
        from agent_league.gateway.typed import TypedLines

        lines = TypedLines()
        while True:
            if not self._screen.is_terminal:
                await self._is_asking.wait()
            line = await lines.next()
            if line is None:
                self._screen.line("There is no input any more: the fallback strategy plays from here.")
                return
            if self._asked:
                self._take(line, self._asked)

    def _take(self, line: str, turn: "Turn") -> None:
        legal = turn.observation.legal_moves
        move = chosen(line, legal)
        try:
            played = self._seat.mailbox.move(turn.turn_id, line.strip() if move is None else move)
        except Refusal:  # not one of them, or too late: then the next news say so
            self._screen.ask(f"{printable(line.strip())[:40]!r} is none of them. {_question(legal)}")
            return
        self._screen.answered()
        self._screen.line(f"You play {_named(played.move)}.")
        self._close()
        self._ask()

    def _ask(self) -> None:
        """Puts the first open question; one whose time is over is closed."""
        turns = self._seat.mailbox.open_turns
        if self._asked and self._asked.turn_id not in [turn.turn_id for turn in turns]:
            self._close()
        if self._asked is None and turns:
            self._asked = turns[0]
            self._is_asking.set()
            seen, left = turns[0].observation, self._seat.mailbox.seconds_left(turns[0])
            board = f" {json.dumps(seen.view)}" if seen.view is not None else ""
            self._screen.line(
                f"{seen.match_id}: your move against {self._name(seen.opponent_id)}, {left:.0f} s.{board}"
            )
            self._screen.ask(_question(seen.legal_moves))

    def _close(self) -> None:
        self._screen.give_up()
        self._asked = None
        self._is_asking.clear()

    async def _show(self, event: "Event") -> None:
        from agent_league.players import happenings as what
        from agent_league.players.mailbox import FallbackPlayed

        say = self._screen.line
        match event.what:
            case what.Registered(league_id):
                own = self._seat.player.agent_id if self._seat.player else ""
                say(f"You are {own} in {league_id}. Waiting for the league to start.")
                with suppress(Refusal):  # a game may be played that isn't installed here
                    rules = await self._seat.rules(None)
                    in_short = rules["how_to_play"].partition("\n\n")[0]
                    say(textwrap.shorten(f"{rules['title']}: {in_short}", RULES_LENGTH))
            case what.RoundAnnounced(round_id, match_id, opponent_id):
                say(f"Round {round_id}: " + (f"you meet {self._name(opponent_id)}." if match_id else "you have a bye."))
            case what.MatchOver(game):
                why = f" {game.details['reason']}." if game.details.get("reason") else ""
                outcome = OUTCOMES.get(game.outcome, game.outcome)
                say(f"{game.match_id}: {outcome} against {self._name(game.opponent_id)}.{why}")
            case what.Trouble(match_id, code, message, consequence):
                say(" ".join(filter(None, (f"{match_id}: the referee says {code}:", message, consequence))))
            case FallbackPlayed(turn, move):
                if self._asked and self._asked.turn_id == turn.turn_id:
                    self._close()
                say(f"Time is up in {turn.observation.match_id}: the fallback strategy played {_named(move)} for you.")
            case what.StandingsChanged(round_id, rows):
                self._screen.table(rows, f"After round {round_id}")
            case _:
                pass

    def _name(self, player_id: str | None) -> str:
        name = self._seat.names.get(player_id or "")
        return f"{name} ({player_id})" if name else str(player_id)


def chosen(line: str, legal: Sequence[Any]) -> Any:
    """The move that somebody means who types its name, its number in the list, or the beginning of its name."""
    text = line.strip().casefold()
    names = [_named(move).casefold() for move in legal]
    if text in names:
        return legal[names.index(text)]
    if _are_numbered(legal) and text.isdecimal() and 1 <= int(text) <= len(legal):
        return legal[int(text) - 1]
    begun = [move for move, name in zip(legal, names, strict=True) if text and name.startswith(text)]
    return begun[0] if len(begun) == 1 else None


def _question(legal: Sequence[Any]) -> str:
    numbered = _are_numbered(legal)
    names = [
        f"{n} {_named(move)}" if numbered else _named(move) for n, move in enumerate(legal[:SHOWN_CHOICES], start=1)
    ]
    more = f", ... ({len(legal)} in all)" if len(legal) > SHOWN_CHOICES else ""
    return f"{', '.join(names)}{more} > "


def _are_numbered(legal: Sequence[Any]) -> bool:
    """Not where the moves are numbers themselves."""
    return not any(isinstance(move, int | float) for move in legal)


def _named(move: Any) -> str:
    return printable(move if isinstance(move, str) else json.dumps(move))


def _own_name() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # nobody has a name here
        return "Somebody"


def _forget_typed() -> None:
    """Drops what was typed before the question was there; it was meant for another one."""
    if sys.platform == "win32":
        import msvcrt

        while msvcrt.kbhit():
            msvcrt.getwch()
    else:
        import termios

        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
