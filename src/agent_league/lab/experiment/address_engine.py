"""The engine for players at addresses: they are called over HTTP from the process of the command, game by game.

A private league is open for the whole run, so that each player is connected once. Players of ours that meet them start
every meeting anew; what a running player remembers is its own matter. A technical loss is a lost game and a fault of
whoever failed; its returns are 0. A player that keeps failing ends the run, as thousands of such games tell nothing.
"""

import asyncio
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue

from agent_league.check.scripted_agents import start_manager
from agent_league.check.signing_key import load_checker_key
from agent_league.check.subject import CheckOptions
from agent_league.clock import SystemClock
from agent_league.config.models import TimeoutConfig
from agent_league.errors import UserError
from agent_league.games.registry import Game
from agent_league.http.client import HttpCarrier
from agent_league.http.memory import MemoryNetwork
from agent_league.lab.evaluation.game_table import PracticeMatchRunner
from agent_league.lab.evaluation.in_process_players import (
    InProcessLeague,
    InProcessPlayer,
    PracticePlayer,
    SplitCarrier,
    WatchedStrategy,
    start_in_process_players,
)
from agent_league.lab.evaluation.practice_league import TOKEN_SECONDS, make_partner_ids
from agent_league.lab.evaluation.private_league import REFEREE_ID, PracticeManager, PracticeReferee
from agent_league.lab.evaluation.running_player import ConnectionContext, RunningPlayer, connect_player
from agent_league.lab.evaluation.transcript import read_player_answers
from agent_league.lab.experiment.contestants import PlayerKind, PlayerSpec, make_series_seed
from agent_league.lab.experiment.engines import CallSettings
from agent_league.lab.experiment.pieces import MeetingNote, Piece, PieceResult
from agent_league.lab.experiment.rows import GameRow, Winner
from agent_league.lab.experiment.waiting_players import MeteredUsage, ModelMeter
from agent_league.league.match_tokens import TokenIssuer
from agent_league.protocol.tokens import SigningKey
from agent_league.referee.play import MatchPlay

ROUND_ID = 1
Outcome = PieceResult | BaseException | None


@dataclass(frozen=True, slots=True)
class AddressEngine:
    """Plays pieces with players at addresses, one after the other."""

    settings: CallSettings = field(default_factory=CallSettings)
    remark: Callable[[str], None] = lambda _: None

    def run(self, pieces: Iterable[Piece]) -> Generator[PieceResult]:
        """Play pieces in a thread with an event loop, which lives as long as the league is open."""
        asked: SimpleQueue[Piece | None] = SimpleQueue()
        answered: SimpleQueue[Outcome] = SimpleQueue()
        thread = threading.Thread(target=self._serve, args=(asked, answered), daemon=True)
        thread.start()
        try:
            for piece in pieces:
                asked.put(piece)
                outcome = answered.get()
                if isinstance(outcome, BaseException):
                    raise outcome
                if outcome is not None:
                    yield outcome
        finally:
            asked.put(None)
            thread.join(timeout=10)

    def _serve(self, asked: "SimpleQueue[Piece | None]", answered: "SimpleQueue[Outcome]") -> None:
        async def play_all() -> None:
            async with AsyncExitStack() as stack:
                room = await PrivateRoom.open(stack, self.settings, self.remark)
                while (piece := await asyncio.to_thread(asked.get)) is not None:
                    answered.put(await room.play_piece(piece))

        try:
            asyncio.run(play_all())
        except BaseException as error:  # noqa: BLE001 - it is raised where the results are read
            answered.put(error)


@dataclass(slots=True)
class PrivateRoom:
    """A private league in which running players and ours meet."""

    stack: AsyncExitStack
    settings: CallSettings
    remark: Callable[[str], None]
    key: SigningKey
    home: Path
    manager: PracticeManager | None
    referee: PracticeReferee
    network: MemoryNetwork
    carrier: SplitCarrier
    _visitors: dict[str, RunningPlayer] = field(default_factory=dict)

    @classmethod
    async def open(cls, stack: AsyncExitStack, settings: CallSettings, remark: Callable[[str], None]) -> "PrivateRoom":
        """Start manager and referee; the stack ends them."""
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="league-experiment-")))
        key, key_remark = load_checker_key()
        if key_remark:
            remark(key_remark)
        manager = await start_manager(settings.manager_port, key, PracticeManager)
        if manager:
            stack.push_async_callback(manager.stop)
        referee, outside, network = PracticeReferee(), HttpCarrier(), MemoryNetwork()
        stack.push_async_callback(outside.close)
        await referee.start()
        stack.push_async_callback(referee.stop)
        return cls(stack, settings, remark, key, home, manager, referee, network, SplitCarrier(network, outside))

    async def play_piece(self, piece: Piece) -> PieceResult:
        """Play all meetings of a piece; UserError if a player can't be reached."""
        started = time.perf_counter()
        game = piece.game.load()
        rows: list[GameRow] = []
        notes: dict[str, MeetingNote] = {}
        for seed in piece.seeds:
            for player in piece.players:
                if player.kind is PlayerKind.ADDRESS:
                    await self._connect(player, game.game_type)
            found, noted = await self._play_meeting(piece, game, seed)
            rows += found
            for note in noted:
                notes.setdefault(note.player, note)
        return PieceResult(piece.piece_id, rows, time.perf_counter() - started, tuple(notes.values()))

    async def _connect(self, player: PlayerSpec, game_type: str) -> None:
        if player.source in self._visitors:
            return
        options = CheckOptions(timeout=self.settings.timeout, wait_seconds=self.settings.wait_seconds)
        host = ConnectionContext(self.key, self.manager, options, game_type, self.remark)
        self._visitors[player.source] = await self.stack.enter_async_context(connect_player(player.source, host, None))

    async def _play_meeting(self, piece: Piece, game: Game, seed: str) -> tuple[list[GameRow], list[MeetingNote]]:
        """Play one meeting, with players of ours made anew."""
        own_seed = make_series_seed(piece.game.label, [player.label for player in piece.players], seed)
        league_id = self.manager.league_id if self.manager else PracticeManager(0, self.key).league_id
        inner = PracticeManager(0, self.key, league_id)
        taken = {visitor.player.player_id for visitor in self._visitors.values()}
        ids = make_partner_ids(taken)
        meters = {
            place: ModelMeter(player.make_strategy())
            for place, player in enumerate(piece.players)
            if player.kind is not PlayerKind.ADDRESS
        }
        watched = {place: WatchedStrategy(meter) for place, meter in meters.items()}
        planned = {
            place: InProcessPlayer(player_id := next(ids), strategy, f"{piece.players[place].label} {player_id}")
            for place, strategy in watched.items()
        }
        async with AsyncExitStack() as stack:
            room = InProcessLeague(self.network, inner, self.home, game.game_type, own_seed)
            partners = await stack.enter_async_context(
                start_in_process_players(list(planned.values()), room, self.remark)
            )
            seated: dict[int, PracticePlayer] = dict(zip(planned, partners, strict=True))
            for place, player in enumerate(piece.players):
                if player.kind is PlayerKind.ADDRESS:
                    seated[place] = self._visitors[player.source].player
            table = PracticeMatchRunner(
                game=game,
                league_id=league_id,
                passes=TokenIssuer(self.key, league_id, SystemClock(), TOKEN_SECONDS),
                carrier=self.carrier,
                timeouts=self._limit_timeouts(),
                seed=own_seed,
                referee=self.referee,
            )
            stack.push_async_callback(table.close)
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
    ) -> tuple[list[GameRow], list[MeetingNote]]:
        labels = (piece.players[0].label, piece.players[1].label)
        numbers = range(1, 2 * piece.rounds + 1)
        for player in players:
            await table.announce_games(*players, ROUND_ID, numbers, player)
        rows: list[GameRow] = []
        notes: list[MeetingNote] = []
        for number in numbers:
            before = {place: strategy.move_counts.failed for place, strategy in watched.items()}
            play = await table.play_match(*players, ROUND_ID, number)
            failed = [int(player.player_id in play.match.terminations) for player in players]
            for place, strategy in watched.items():
                failed[place] += strategy.move_counts.failed - before[place]
            rows.append(make_called_row(piece, game, seed, number, players, play, failed, meters))
            for place, player in enumerate(players):
                if how := play.match.terminations.get(player.player_id):
                    said = f"lost technically: {str(how).replace('_', ' ')}"
                    notes.append(MeetingNote(piece.game.label, labels, seed, labels[place], said))
                if table.is_breaker_open(player):
                    raise UserError(
                        f"{labels[place]} doesn't answer any more; start it again, and the experiment goes on"
                    )
        for place, strategy in watched.items():
            if fault := strategy.move_counts.first_failure:
                notes.append(MeetingNote(piece.game.label, labels, seed, labels[place], fault))
        return rows, notes

    def _limit_timeouts(self) -> TimeoutConfig:
        limits, most = TimeoutConfig(), self.settings.timeout
        if most is None:
            return limits
        return limits.model_copy(
            update={name: min(most, value) for name, value in limits if name in TimeoutConfig.model_fields}
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
        first_faults=failed[first] + used[0].fallbacks,
        second_faults=failed[second] + used[1].fallbacks,
        repeatable=False,
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
