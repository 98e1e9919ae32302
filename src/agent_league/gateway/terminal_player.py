"""A person who plays a league at a terminal: shows events, asks for moves, reads what is typed."""

import asyncio
import json
import textwrap
from contextlib import suppress

from agent_league.errors import Refusal
from agent_league.gateway.event_text import opponents
from agent_league.gateway.screen import Screen
from agent_league.gateway.typed_lines import TypedLines
from agent_league.launch.outside_player import HostSeat
from agent_league.launch.play_function import interruption
from agent_league.model.names import printable
from agent_league.players.choices import asks_for_help, choices, chosen, in_lines, named, prompt
from agent_league.players.events import MatchOver, Registered, StandingsChanged
from agent_league.players.human import Event, FallbackPlayed, Turn, YourTurn
from agent_league.players.positions import Positions
from agent_league.players.sentences import by_fallback, for_people, sentence

RULES_LENGTH = 160


class Sitting:
    """One person at a terminal, playing as one outside player."""

    def __init__(self, seat: HostSeat, screen: Screen) -> None:
        self._seat = seat
        self._screen = screen
        self._positions = Positions()
        self._asked: Turn | None = None
        self._is_asking = asyncio.Event()
        self._is_deaf = False

    async def run(self) -> None:
        """Play until the league is over or Ctrl-C."""
        settings = self._seat.settings
        self._screen.line(f"Joining the league of {settings.manager} as {settings.display_name}. Ctrl-C leaves.")
        stop, playing = asyncio.create_task(interruption().wait()), asyncio.create_task(self._play())
        try:
            await asyncio.wait({stop, playing}, return_when=asyncio.FIRST_COMPLETED)
            if playing.done():
                playing.result()
                return
            self._screen.give_up()
            self._screen.line(self._farewell())
        finally:
            for task in (stop, playing):
                task.cancel()
            await asyncio.gather(stop, playing, return_exceptions=True)

    def _farewell(self) -> str:
        if not self._seat.has_joined:
            return "You leave; you had no place in the league yet."
        return "You leave. Matches are lost from now on unless you come back; the same command does that."

    async def _play(self) -> None:
        await self._seat.join(seconds=None)
        async with asyncio.TaskGroup() as beside:
            listening = beside.create_task(self._listen())
            await self._follow()
            listening.cancel()
        if self._seat.failure:
            raise self._seat.failure

    async def _follow(self) -> None:
        """Show events and ask questions until the league is over."""
        after, mailbox = 0, self._seat.mailbox
        while not (self._seat.failure or (self._seat.is_over and after == mailbox.last)):
            events = await mailbox.wait(after, seconds=0.5)
            await self._seat.learn_names(opponents(events))
            if events:
                with self._screen.above():
                    for event in events:
                        after = event.number
                        await self._show(event)
            self._screen.tell_remarks()
            self._ask()
            if self._asked:
                self._screen.count(mailbox.seconds_left(self._asked))

    async def _listen(self) -> None:
        """Read answers. At a terminal, input without a question is ignored; a pipe isn't read before a question."""
        lines = TypedLines()
        while True:
            if not self._screen.is_terminal:
                await self._is_asking.wait()
            line = await lines.next()
            if line is None:
                self._is_deaf = True
                self._close()
                self._screen.line("There is no input any more: the fallback strategy plays from here.")
                return
            if self._asked:
                await self._take(line, self._asked)

    async def _take(self, line: str, turn: Turn) -> None:
        legal = turn.observation.legal_moves
        if asks_for_help(line, legal):
            await self._explain(turn)
            return
        move = chosen(line, legal)
        try:
            played = self._seat.mailbox.move(turn.turn_id, line.strip() if move is None else move)
        except Refusal:  # illegal, or too late, which the next event tells
            self._screen.answered()
            self._screen.line(f"{printable(line.strip())[:40]!r} is none of them.")
            self._offer(turn)
            self._screen.ask_again(prompt(legal))
            return
        self._screen.answered()
        self._screen.line(f"You play {named(played.move)}.")
        self._close()
        self._ask()

    def _ask(self) -> None:
        """Ask for the first open turn; close a question whose turn is over."""
        turns = self._seat.mailbox.open_turns
        if self._asked and self._asked.turn_id not in [turn.turn_id for turn in turns]:
            self._close()
        if self._is_deaf:
            for turn in turns:
                self._seat.mailbox.decline(turn.turn_id)
        elif self._asked is None and turns:
            self._asked = turns[0]
            self._is_asking.set()
            seen, left = turns[0].observation, self._seat.mailbox.seconds_left(turns[0])
            self._screen.line(f"{seen.match_id}: your move against {self._name(seen.opponent_id)}, {left:.0f} s.")
            self._screen.block(self._positions.at_turn(seen))
            self._offer(turns[0])
            self._screen.ask(prompt(seen.legal_moves))

    def _offer(self, turn: Turn) -> None:
        shown = choices(turn.observation.legal_moves)
        self._screen.block(in_lines([f"Moves: {shown[0]}", *shown[1:]], self._screen.width))

    async def _explain(self, turn: Turn) -> None:
        """Show the rules, then repeat the question if it is still open."""
        self._screen.answered()
        try:
            rules = await self._seat.rules(turn.observation.game_type)
        except Refusal as refusal:
            self._screen.line(refusal.message)
        else:
            told = ", ".join(f"{name} {json.dumps(value)}" for name, value in rules["parameters"].items())
            for text in (rules["title"], *for_people(rules["how_to_play"]), f"Parameters: {told}." if told else ""):
                if text:
                    self._screen.line(text)
        if self._asked is turn:
            self._screen.block(self._positions.at_turn(turn.observation))
            self._offer(turn)
            self._screen.ask_again(prompt(turn.observation.legal_moves))

    def _close(self) -> None:
        self._screen.give_up()
        self._asked = None
        self._is_asking.clear()

    async def _show(self, event: Event) -> None:
        say = self._screen.line
        match event.what:
            case Registered(league_id):
                is_running = event.number < self._seat.mailbox.last
                say(f"You are {self._own_id} in {league_id}." + ("" if is_running else " Waiting for it to start."))
                with suppress(Refusal):  # a game may be played that isn't installed here
                    rules = await self._seat.rules(None)
                    in_short = rules["how_to_play"].partition("\n\n")[0]
                    say(textwrap.shorten(f"{rules['title']}: {in_short}", RULES_LENGTH))
            case MatchOver(game):
                say(sentence(event.what, self._own_id, self._name))
                self._screen.block(self._positions.at_end(game))
            case YourTurn(turn):
                self._positions.note(turn.observation)
            case FallbackPlayed(turn, move):
                if self._asked and self._asked.turn_id == turn.turn_id:
                    self._close()
                in_words = f"{turn.observation.match_id}: {by_fallback(move)}"
                say(in_words if self._is_deaf else sentence(event.what, self._own_id, self._name))
            case StandingsChanged(round_id, rows):
                self._screen.table(rows, f"After round {round_id}")
            case what:
                if said := sentence(what, self._own_id, self._name):
                    say(said)

    @property
    def _own_id(self) -> str:
        return self._seat.player.agent_id if self._seat.player else ""

    def _name(self, player_id: str | None) -> str:
        name = self._seat.names.get(player_id or "")
        return f"{name} ({player_id})" if name else str(player_id)
