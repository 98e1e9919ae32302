"""A person who plays a league at a terminal: shows events, asks for moves, reads what is typed.

An open question with its countdown stays below all other lines. Without a terminal only lines are written.
"""

import asyncio
import json
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from agent_league.agent.tasks import run_beside
from agent_league.errors import Refusal
from agent_league.gateway.typed_lines import TypedLines
from agent_league.launch.play_function import interrupt_event
from agent_league.model.results import StandingsRow
from agent_league.players.descriptions import MatchPositions, describe_event, describe_fallback, rules_for_people
from agent_league.players.events import LeagueJoined, MatchOver, StandingsChanged
from agent_league.players.human import ExternalTurn, FallbackPlayed, HumanSeat, NumberedEvent
from agent_league.players.moves import (
    build_choice_prompt,
    is_help_request,
    list_choices,
    parse_choice,
    wrap_items,
)
from agent_league.text import format_move, quote, to_printable

if TYPE_CHECKING:
    from rich.console import RenderableType

MAX_LINE_LENGTH = 1000
"""Lines are cut, since they often quote others."""
MAX_LINES = 100
COUNTDOWN_FORMAT = "{:>3.0f} s  "

DrawTable = Callable[[Sequence[StandingsRow], str], "RenderableType"]
"""Draws the standings under a title."""


class TerminalScreen:
    """Writes to standard output, keeping an open question below all other lines."""

    def __init__(self, draw_table: DrawTable, *, is_terminal: bool) -> None:
        self.is_terminal = is_terminal
        self._draw_table = draw_table
        self._question = ""
        self._is_writing_above = False
        self._remarks: list[str] | None = None

    def write_line(self, text: str) -> None:
        said = to_printable(text, MAX_LINE_LENGTH)
        if self.is_terminal:
            said = textwrap.fill(said, shutil.get_terminal_size().columns) or said
        with self.write_above():
            self._write(f"{said}\n")

    def write_block(self, text: str) -> None:
        """Write lines without wrapping them; nothing for empty text."""
        if text:
            lines = [to_printable(line, MAX_LINE_LENGTH) for line in text.split("\n")[:MAX_LINES]]
            with self.write_above():
                self._write("".join(f"{line}\n" for line in lines))

    @property
    def width(self) -> int:
        """Characters that fit on a line."""
        return shutil.get_terminal_size().columns if self.is_terminal else MAX_LINE_LENGTH

    def write_remark(self, text: str) -> None:
        """Write a remark of the player; once the first events are shown, it waits for `write_remarks`."""
        if self._remarks is None:
            self.write_line(text)
        else:
            self._remarks.append(text)

    def write_remarks(self) -> None:
        for text in self._remarks or []:
            self.write_line(text)
        self._remarks = []

    def ask_question(self, question: str) -> None:
        """Ask a new question; discards what was typed before, which was meant for another one."""
        if self.is_terminal:
            _discard_typed_input()
        self.repeat_question(question)

    def repeat_question(self, question: str) -> None:
        self._question = question
        if self.is_terminal:
            self._write("\r\x1b[K" + " " * len(COUNTDOWN_FORMAT.format(0)) + question)
        else:
            self._write(f"{question}\n")

    def show_seconds_left(self, seconds: float) -> None:
        """Show the seconds left at the beginning of the question's line, without touching what is being typed."""
        if self._question and self.is_terminal:
            self._write(f"\x1b7\r{COUNTDOWN_FORMAT.format(seconds)}\x1b8")

    def clear_question(self) -> None:
        """Close the question after Enter; clears its next line, where the countdown may have been written."""
        if self._question and self.is_terminal:
            self._write("\r\x1b[K")
        self._question = ""

    def abandon_question(self) -> None:
        """Close a question without an answer, ending its line."""
        if self._question and self.is_terminal and not self._is_writing_above:
            self._write("\n")
        self._question = ""

    def write_table(self, rows: Sequence[StandingsRow], title: str) -> None:
        from rich.console import Console  # noqa: PLC0415 - a pipe's reader may never see a table

        with self.write_above():
            Console(highlight=False).print(self._draw_table(rows, title))

    @contextmanager
    def write_above(self) -> Iterator[None]:
        """Write lines while a question is open; it is repeated below them afterwards.

        Its old line isn't erased: half-typed input there still counts, and should stay visible.
        """
        if self._is_writing_above or not (self._question and self.is_terminal):
            yield
            return
        self._write("\n")
        self._is_writing_above = True
        try:
            yield
        finally:
            self._is_writing_above = False
            if self._question:
                self.repeat_question(self._question)

    @staticmethod
    def _write(text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()


def _discard_typed_input() -> None:
    if sys.platform == "win32":
        import msvcrt  # noqa: PLC0415 - there alone

        while msvcrt.kbhit():
            msvcrt.getwch()
    else:
        import termios  # noqa: PLC0415 - not there on Windows

        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)


MAX_RULES_LENGTH = 160


class TerminalPlayer:
    """One person at a terminal, at one seat."""

    def __init__(self, seat: HumanSeat, screen: TerminalScreen) -> None:
        self._seat = seat
        self._screen = screen
        self._positions = MatchPositions()
        self._asked_turn: ExternalTurn | None = None
        self._is_asking = asyncio.Event()
        self._has_no_input = False

    async def run(self) -> None:
        """Play until the league is over or Ctrl-C."""
        settings = self._seat.settings
        self._screen.write_line(f"Joining the league of {settings.manager} as {settings.display_name}. Ctrl-C leaves.")
        async with run_beside(interrupt_event().wait(), self._play_league()) as tasks:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if not tasks[1].done():
                self._screen.abandon_question()
                self._screen.write_line(self._farewell_text())

    def _farewell_text(self) -> str:
        if not self._seat.has_joined:
            return "You leave; you had no place in the league yet."
        return "You leave. Matches are lost from now on unless you come back; the same command does that."

    async def _play_league(self) -> None:
        await self._seat.join(seconds=None)
        async with run_beside(self._read_answers()):
            await self._show_events()
        if self._seat.failure:
            raise self._seat.failure

    async def _show_events(self) -> None:
        """Show events and ask questions until the league is over."""
        after, mailbox = 0, self._seat.mailbox
        while not (self._seat.failure or (self._seat.is_over and after == mailbox.last_number)):
            events = await self._seat.wait_for_events(after, seconds=0.5)
            if events:
                with self._screen.write_above():
                    for event in events:
                        after = event.number
                        await self._show_event(event)
            self._screen.write_remarks()
            self._ask_next_turn()
            if self._asked_turn:
                self._screen.show_seconds_left(mailbox.seconds_left(self._asked_turn))

    async def _read_answers(self) -> None:
        """Read answers. At a terminal, input without a question is ignored; a pipe isn't read before a question."""
        lines = TypedLines()
        while True:
            if not self._screen.is_terminal:
                await self._is_asking.wait()
            line = await lines.next_line()
            if line is None:
                self._has_no_input = True
                self._close_question()
                self._screen.write_line("There is no input any more: the fallback strategy plays from here.")
                return
            if self._asked_turn:
                await self._handle_line(line, self._asked_turn)

    async def _handle_line(self, line: str, turn: ExternalTurn) -> None:
        legal = turn.observation.legal_moves
        if is_help_request(line, legal):
            await self._show_rules(turn)
            return
        move = parse_choice(line, legal)
        try:
            played = self._seat.mailbox.answer_turn(turn.turn_id, line.strip() if move is None else move)
        except Refusal:  # illegal, or too late, which the next event tells
            self._screen.clear_question()
            self._screen.write_line(f"{quote(to_printable(line.strip()))} is none of them.")
            self._show_choices(turn)
            self._screen.repeat_question(build_choice_prompt(legal))
            return
        self._screen.clear_question()
        self._screen.write_line(f"You play {format_move(played.move)}.")
        self._close_question()
        self._ask_next_turn()

    def _ask_next_turn(self) -> None:
        """Ask for the first open turn; close a question whose turn is over."""
        turns = self._seat.mailbox.open_turns
        if self._asked_turn and self._asked_turn.turn_id not in [turn.turn_id for turn in turns]:
            self._close_question()
        if self._has_no_input:
            for turn in turns:
                self._seat.mailbox.decline_turn(turn.turn_id)
        elif self._asked_turn is None and turns:
            self._asked_turn = turns[0]
            self._is_asking.set()
            seen, left = turns[0].observation, self._seat.mailbox.seconds_left(turns[0])
            self._screen.write_line(
                f"{seen.match_id}: your move against {self._seat.label_player(seen.opponent_id)}, {left:.0f} s."
            )
            self._screen.write_block(self._positions.describe_turn(seen))
            self._show_choices(turns[0])
            self._screen.ask_question(build_choice_prompt(seen.legal_moves))

    def _show_choices(self, turn: ExternalTurn) -> None:
        shown = list_choices(turn.observation.legal_moves)
        self._screen.write_block(wrap_items([f"Moves: {shown[0]}", *shown[1:]], self._screen.width))

    async def _show_rules(self, turn: ExternalTurn) -> None:
        """Show the rules, then repeat the question if it is still open."""
        self._screen.clear_question()
        try:
            rules = await self._seat.rules(turn.observation.game_type)
        except Refusal as refusal:
            self._screen.write_line(refusal.message)
        else:
            told = ", ".join(f"{name} {json.dumps(value)}" for name, value in rules["parameters"].items())
            for text in (
                rules["title"],
                *rules_for_people(rules["how_to_play"]),
                f"Parameters: {told}." if told else "",
            ):
                if text:
                    self._screen.write_line(text)
        if self._asked_turn is turn:
            self._screen.write_block(self._positions.describe_turn(turn.observation))
            self._show_choices(turn)
            self._screen.repeat_question(build_choice_prompt(turn.observation.legal_moves))

    def _close_question(self) -> None:
        self._screen.abandon_question()
        self._asked_turn = None
        self._is_asking.clear()

    async def _show_event(self, event: NumberedEvent) -> None:
        say = self._screen.write_line
        match event.payload:
            case LeagueJoined(league_id):
                is_running = event.number < self._seat.mailbox.last_number
                say(
                    f"You are {self._seat.own_id} in {league_id}." + ("" if is_running else " Waiting for it to start.")
                )
                with suppress(Refusal):  # a game may be played that isn't installed here
                    rules = await self._seat.rules(None)
                    in_short = rules["how_to_play"].partition("\n\n")[0]
                    say(textwrap.shorten(f"{rules['title']}: {in_short}", MAX_RULES_LENGTH))
            case MatchOver(game):
                say(describe_event(event.payload, self._seat.own_id, self._seat.label_player))
                seen = self._seat.mailbox.last_observation(game.match_id)
                self._screen.write_block(self._positions.describe_end(game, seen))
            case FallbackPlayed(turn, move):
                if self._asked_turn and self._asked_turn.turn_id == turn.turn_id:
                    self._close_question()
                in_words = f"{turn.observation.match_id}: {describe_fallback(move)}"
                say(
                    in_words
                    if self._has_no_input
                    else describe_event(event.payload, self._seat.own_id, self._seat.label_player)
                )
            case StandingsChanged(round_id, rows):
                self._screen.write_table(rows, f"After round {round_id}")
            case what:
                if said := describe_event(what, self._seat.own_id, self._seat.label_player):
                    say(said)
