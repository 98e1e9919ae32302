"""A person who plays a league at a terminal: shows events, asks for moves, reads what is typed."""

import asyncio
import json
import textwrap
from contextlib import suppress

from agent_league.agent.tasks import run_beside
from agent_league.errors import Refusal
from agent_league.gateway.event_text import find_opponents
from agent_league.gateway.screen import TerminalScreen
from agent_league.gateway.typed_lines import TypedLines
from agent_league.launch.play_function import interrupt_event
from agent_league.players.descriptions import MatchPositions, describe_event, describe_fallback, rules_for_people
from agent_league.players.events import LeagueJoined, MatchOver, StandingsChanged
from agent_league.players.human import ExternalTurn, FallbackPlayed, HumanSeat, NumberedEvent
from agent_league.players.moves import (
    build_choice_prompt,
    format_move,
    is_help_request,
    list_choices,
    parse_choice,
    wrap_items,
)
from agent_league.text import to_printable

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
            events = await mailbox.wait_for_events(after, seconds=0.5)
            await self._seat.learn_names(find_opponents(events))
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
            self._screen.write_line(f"{to_printable(line.strip())[:40]!r} is none of them.")
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
