"""The engine for games by messages: players at addresses are called over HTTP, others through memory, game by game.

All of it happens in the process of the command. A private league is open for the whole run, so that each player is
connected once. Players of ours start every meeting anew; what a running player remembers is its own matter. A technical
loss is a lost game and a fault of whoever failed; its returns are 0. A player that keeps failing ends the run, as
thousands of such games tell nothing, unless somebody watches and decides otherwise.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from queue import SimpleQueue

from agent_league.clock import SystemClock
from agent_league.errors import UserError
from agent_league.games.registry import Game
from agent_league.lab.evaluation.game_table import PracticeMatchRunner
from agent_league.lab.evaluation.in_process_players import (
    InProcessPlayer,
    PracticePlayer,
    WatchedStrategy,
)
from agent_league.lab.evaluation.practice_league import PrivateRoom, make_partner_ids
from agent_league.lab.evaluation.private_league import REFEREE_ID
from agent_league.lab.evaluation.transcript import read_player_answers
from agent_league.lab.experiment.calls import CalledGame, CallSettings
from agent_league.lab.experiment.contestants import PlayerKind, make_series_seed
from agent_league.lab.experiment.pieces import MeetingNote, Piece, PieceResult
from agent_league.lab.experiment.rows import GameRow, Winner
from agent_league.lab.experiment.waiting_players import MeteredUsage, ModelMeter
from agent_league.players.observation import Strategy
from agent_league.protocol.version import PROTOCOL_V2
from agent_league.referee.play import MatchPlay

ROUND_ID = 1


class Signal(Enum):
    """What the thread of the engine is told, or says, in place of a piece or a result."""

    END = auto()
    """All pieces are played: take leave of the players."""
    TIME_OVER = auto()
    """There was no more time."""


Request = Piece | Signal | None
PlayedMeeting = tuple[list[GameRow], list[MeetingNote], bool]
"""The rows of a meeting, notes on it, and whether its pair is to play no more; then rows may be missing."""
Outcome = PieceResult | Signal | BaseException | None


@dataclass(frozen=True, slots=True)
class AddressEngine:
    """Plays pieces by messages, one after the other."""

    settings: CallSettings = field(default_factory=CallSettings)
    remark: Callable[[str], None] = lambda _: None
    has_addresses: bool = True
    """Whether some players are at addresses; else nothing is opened for them."""

    def run(self, pieces: Iterable[Piece]) -> Generator[PieceResult]:
        """Play pieces in a thread with an event loop, which lives as long as the league is open."""
        asked: SimpleQueue[Request] = SimpleQueue()
        answered: SimpleQueue[Outcome] = SimpleQueue()
        thread = threading.Thread(target=self._serve, args=(asked, answered), daemon=True)
        thread.start()

        def ask(request: Request) -> PieceResult | Signal | None:
            asked.put(request)
            outcome = answered.get()
            if isinstance(outcome, BaseException):
                raise outcome
            return outcome

        try:
            for piece in pieces:
                outcome = ask(piece)
                if isinstance(outcome, PieceResult):
                    yield outcome
                elif outcome is Signal.TIME_OVER:
                    break
            ask(Signal.END)
        finally:
            asked.put(None)
            thread.join(timeout=10)

    def _serve(self, asked: "SimpleQueue[Request]", answered: "SimpleQueue[Outcome]") -> None:
        async def play_all() -> None:
            limit, watcher = self.settings.max_seconds, self.settings.watcher
            async with AsyncExitStack() as stack:
                room = await PrivateRoom.open(stack, self.settings, self.remark, has_addresses=self.has_addresses)
                runner = PieceRunner(room)
                until = None
                while isinstance(piece := await asyncio.to_thread(asked.get), Piece):
                    await runner.connect_players(piece)
                    until = until or (None if limit is None else asyncio.get_running_loop().time() + limit)
                    try:
                        async with asyncio.timeout_at(until) as time_left:
                            answered.put(await runner.play_piece(piece))
                    except TimeoutError:
                        if not time_left.expired():
                            raise
                        answered.put(Signal.TIME_OVER)
                if piece is Signal.END:
                    if watcher:
                        await watcher.end_games(room.visitors)
                    answered.put(None)

        try:
            asyncio.run(play_all())
        except BaseException as error:  # noqa: BLE001 - it is raised where the results are read
            answered.put(error)


@dataclass(slots=True)
class PieceRunner:
    """Plays pieces in a private league, in which running players and ours meet."""

    room: PrivateRoom
    _failures: dict[str, int] = field(default_factory=dict)
    """Failed calls in a row of running players, from meeting to meeting."""
    _spent: set[str] = field(default_factory=set)

    async def play_piece(self, piece: Piece) -> PieceResult:
        """Play all meetings of a piece, or fewer if a watcher ends its matchup; UserError if a player gives up."""
        started = time.perf_counter()
        game = piece.game.load()
        rows: list[GameRow] = []
        notes: dict[str, MeetingNote] = {}
        is_over = False
        for seed in piece.seeds:
            found, noted, is_over = await self._play_meeting(piece, game, seed)
            if len(found) == 2 * piece.rounds:
                rows += found
            for note in noted:
                notes.setdefault(note.player, note)
            if is_over:
                break
        seconds = time.perf_counter() - started
        return PieceResult(
            piece.piece_id, rows, seconds, tuple(notes.values()), tuple(self._spent), ends_matchup=is_over
        )

    async def connect_players(self, piece: Piece) -> None:
        """Connect to those players of a piece that are at addresses; UserError if one can't be reached."""
        for player in piece.players:
            if player.kind is PlayerKind.ADDRESS:
                await self.room.connect_player(player.label, player.source, piece.game.game_type)

    async def _play_meeting(self, piece: Piece, game: Game, seed: str) -> PlayedMeeting:
        """Play one meeting, with players of ours made anew."""
        own_seed = make_series_seed(piece.game.label, [player.label for player in piece.players], seed)
        taken = self.room.taken_ids
        self._failures = {player_id: count for player_id, count in self._failures.items() if player_id in taken}
        ids = make_partner_ids(taken)
        made = {
            place: player.make_strategy()
            for place, player in enumerate(piece.players)
            if player.kind is not PlayerKind.ADDRESS
        }
        meters = {place: ModelMeter(one) for place, one in made.items() if piece.players[place].llm is not None}
        watched = {place: WatchedStrategy(meters.get(place, one)) for place, one in made.items()}
        planned = {
            place: self._plan_player(piece.players[place].label, next(ids), strategy)
            for place, strategy in watched.items()
        }
        async with self.room.seat_players(game, own_seed, list(planned.values()), self._failures) as (table, partners):
            seated: dict[int, PracticePlayer] = dict(zip(planned, partners, strict=True))
            for place, player in enumerate(piece.players):
                if player.kind is PlayerKind.ADDRESS:
                    seated[place] = self.room.visitors[player.source].player
            return await self._play_games(piece, game, seed, table, (seated[0], seated[1]), watched, meters)

    async def _play_games(
        self,
        piece: Piece,
        game: Game,
        seed: str,
        table: PracticeMatchRunner,
        players: tuple[PracticePlayer, PracticePlayer],
        watched: Mapping[int, WatchedStrategy],
        meters: Mapping[int, ModelMeter],
    ) -> PlayedMeeting:
        labels = (piece.players[0].label, piece.players[1].label)
        numbers = range(1, 2 * piece.rounds + 1)
        for player in players:
            await table.announce_games(*players, ROUND_ID, numbers, player)
        rows: list[GameRow] = []
        notes: list[MeetingNote] = []
        watcher, is_over = self.room.settings.watcher, False
        for number in numbers:
            before = {place: strategy.move_counts for place, strategy in watched.items()}
            play = await table.play_match(*players, ROUND_ID, number)
            failed = [int(player.player_id in play.match.terminations) for player in players]
            for place, strategy in watched.items():
                failed[place] += strategy.move_counts.failed - before[place].failed
            rows.append(make_called_row(piece, game, seed, number, players, play, failed, meters))
            for place, player in enumerate(players):
                if how := play.match.terminations.get(player.player_id):
                    said = f"lost technically: {str(how).replace('_', ' ')}"
                    notes.append(MeetingNote(piece.game.label, labels, seed, labels[place], said))
                if table.is_breaker_open(player) and not watcher:
                    raise UserError(
                        f"{labels[place]} doesn't answer any more; start it again, and the experiment goes on"
                    )
            if watcher:
                seen = replace(table.describe_game(play, players[0]), seed=seed)
                moves = watched[0].move_counts.subtract(before[0]) if 0 in watched else None
                if is_over := watcher.add_game(CalledGame(labels[1], seen, moves, table.is_breaker_open(players[0]))):
                    break
        for place, strategy in watched.items():
            if fault := strategy.move_counts.first_failure:
                notes.append(MeetingNote(piece.game.label, labels, seed, labels[place], fault))
        self._spent.update(labels[place] for place, meter in meters.items() if meter.is_spent)
        return rows, notes, is_over

    def _plan_player(self, label: str, player_id: str, strategy: Strategy) -> InProcessPlayer:
        # Its id is part of its name, from which its random numbers follow: no two play alike.
        return InProcessPlayer(
            player_id, strategy, f"{label} {player_id}", self.room.settings.protocols.get(label, PROTOCOL_V2)
        )


def make_called_row(
    piece: Piece,
    game: Game,
    seed: str,
    number: int,
    players: tuple[PracticePlayer, PracticePlayer],
    play: MatchPlay,
    failed: list[int],
    meters: Mapping[int, ModelMeter],
) -> GameRow:
    """Make the row of a match that was played by messages; `failed` and `meters` are by place in the piece."""
    match = play.match
    first, second = (0, 1) if number % 2 else (1, 0)
    is_over = not match.terminations and not game.rules.actors(match.position)
    returns = game.rules.returns(match.position) if is_over else (0.0, 0.0)
    seats = [players[first].player_id, players[second].player_id]
    winner: Winner = "draw"
    if play.verdict and play.verdict.winner in seats:
        winner = "first" if play.verdict.winner == seats[0] else "second"
    clock = SystemClock()
    seconds = [sum(read_player_answers(play, player_id, REFEREE_ID, clock).seconds) for player_id in seats]
    used = [meters[place].take_usage() if place in meters else MeteredUsage() for place in (first, second)]
    return GameRow(
        *(piece.game.label, seed, number, piece.players[first].label, piece.players[second].label),
        *(float(returns[0]), float(returns[1])),
        winner=winner,
        steps=len(match.moves),
        first_faults=failed[first],
        second_faults=failed[second],
        repeatable=all(player.is_synchronous for player in piece.players),
        first_seconds=seconds[0],
        second_seconds=seconds[1],
        first_tokens=used[0].tokens,
        second_tokens=used[1].tokens,
        first_cost=used[0].cost,
        second_cost=used[1].cost,
        first_illegal=used[0].illegal,
        second_illegal=used[1].illegal,
        first_late=used[0].late,
        second_late=used[1].late,
    )
