"""A person's league, from the registration to its end: tells what happens, asks for moves, takes what is typed."""

import asyncio
import json
import textwrap
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from agent_league.arena.solo import interruption
from agent_league.errors import Refusal
from agent_league.games.base import in_words, is_long
from agent_league.gateway.screen import Screen
from agent_league.gateway.seat import HostSeat
from agent_league.gateway.typed import TypedLines
from agent_league.gateway.words import opponents
from agent_league.model.names import printable
from agent_league.players.happenings import (
    LeagueOver,
    MatchOver,
    Registered,
    RoundAnnounced,
    StandingsChanged,
    Trouble,
)
from agent_league.players.legal import meant
from agent_league.players.mailbox import Event, FallbackPlayed, Turn

OUTCOMES = {"WIN": "You win", "DRAW": "A draw", "LOSS": "You lose", "TECHNICAL_LOSS": "Lost technically"}
SHOWN_CHOICES = 30
LONGEST_CHOICE = 60
RULES_LENGTH = 160


class Sitting:
    """One person on one seat."""

    def __init__(self, seat: HostSeat, screen: Screen) -> None:
        self._seat = seat
        self._screen = screen
        self._asked: Turn | None = None
        self._is_asking = asyncio.Event()
        self._is_deaf = False

    async def run(self) -> None:
        """Until the league is over or Ctrl-C."""
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
        """Tells what happens, up to the end."""
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
        """Takes answers. At a terminal, what is typed without a question is nothing; a pipe isn't read before one."""
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
                self._take(line, self._asked)

    def _take(self, line: str, turn: Turn) -> None:
        legal = turn.observation.legal_moves
        move = chosen(line, legal)
        try:
            played = self._seat.mailbox.move(turn.turn_id, line.strip() if move is None else move)
        except Refusal:  # not one of them, or too late: then the next news say so
            self._screen.ask_again(f"{printable(line.strip())[:40]!r} is none of them. {question(legal)}")
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
        if self._is_deaf:
            for turn in turns:
                self._seat.mailbox.decline(turn.turn_id)
        elif self._asked is None and turns:
            self._asked = turns[0]
            self._is_asking.set()
            seen, left = turns[0].observation, self._seat.mailbox.seconds_left(turns[0])
            board = f" {json.dumps(seen.view)}" if seen.view is not None else ""
            self._screen.line(
                f"{seen.match_id}: your move against {self._name(seen.opponent_id)}, {left:.0f} s.{board}"
            )
            self._screen.ask(question(seen.legal_moves))

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
            case RoundAnnounced(round_id, match_id, opponent_id):
                say(f"Round {round_id}: " + (f"you meet {self._name(opponent_id)}." if match_id else "you have a bye."))
            case MatchOver(game):
                why = f" {game.details['reason']}." if game.details.get("reason") else ""
                outcome = OUTCOMES.get(game.outcome, game.outcome)
                say(f"{game.match_id}: {outcome} against {self._name(game.opponent_id)}.{why}")
            case Trouble(match_id, code, message, consequence):
                say(" ".join(filter(None, (f"{match_id}: the referee says {code}:", message, consequence))))
            case FallbackPlayed(turn, move):
                if self._asked and self._asked.turn_id == turn.turn_id:
                    self._close()
                where = turn.observation.match_id if self._is_deaf else f"Time is up in {turn.observation.match_id}"
                say(f"{where}: the fallback strategy played {_named(move)} for you.")
            case StandingsChanged(round_id, rows):
                self._screen.table(rows, f"After round {round_id}")
            case LeagueOver(champion_id) if champion_id:
                own = champion_id == self._own_id
                say("You are the champion." if own else f"The champion is {self._name(champion_id)}.")
            case _:
                pass

    @property
    def _own_id(self) -> str:
        return self._seat.player.agent_id if self._seat.player else ""

    def _name(self, player_id: str | None) -> str:
        name = self._seat.names.get(player_id or "")
        return f"{name} ({player_id})" if name else str(player_id)


def chosen(line: str, legal: Sequence[Any]) -> Any:
    """The move that somebody means who types its name, its number in the list, or the beginning of its name."""
    if is_long(legal):
        return next(iter(meant(line.strip(), legal)), None)
    text = line.strip().casefold()
    names = [_named(move).casefold() for move in legal]
    if text in names:
        return legal[names.index(text)]
    if _are_numbered(legal) and text.isdecimal() and 1 <= int(text) <= len(legal):
        return legal[int(text) - 1]
    begun = [move for move, name in zip(legal, names, strict=True) if text and name.startswith(text)]
    return begun[0] if len(begun) == 1 else None


def question(legal: Sequence[Any]) -> str:
    """The choices on a line, within bounds: they are the referee's words."""
    if is_long(legal):
        return f"one of {in_words(legal)} > "
    numbered = _are_numbered(legal)
    names = [
        f"{n} {_short(move)}" if numbered else _short(move) for n, move in enumerate(legal[:SHOWN_CHOICES], start=1)
    ]
    more = f", ... ({len(legal)} in all)" if len(legal) > SHOWN_CHOICES else ""
    return f"{', '.join(names)}{more} > "


def _are_numbered(legal: Sequence[Any]) -> bool:
    """Not where the moves are numbers themselves."""
    return not any(isinstance(move, int | float) for move in legal)


def _short(move: Any) -> str:
    name = _named(move)
    return name if len(name) <= LONGEST_CHOICE else f"{name[:LONGEST_CHOICE]}..."


def _named(move: Any) -> str:
    return printable(move if isinstance(move, str) else json.dumps(move))
