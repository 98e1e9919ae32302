"""The games of an evaluation as an experiment's folder: the player against each of its opponents, row by row.

Blocks of consecutive games stand in for seeds, as in the evaluation's own intervals. It plays nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from agent_league.errors import UserError
from agent_league.games.registry import Game
from agent_league.lab.evaluation.in_process_players import PracticePlayer
from agent_league.lab.evaluation.model import MAX_BLOCKS
from agent_league.lab.evaluation.opponents import PracticeOpponent
from agent_league.lab.experiment.address_engine import make_called_row
from agent_league.lab.experiment.experiment import ExperimentResults
from agent_league.lab.experiment.folder import open_folder
from agent_league.lab.experiment.pieces import Piece
from agent_league.lab.experiment.resolution import ResolvedExperiment, resolve_data
from agent_league.lab.experiment.rows import GameRow
from agent_league.lab.experiment.running import FINISHED_FACT
from agent_league.referee.play import MatchPlay

PLAYER_LABEL = "the player"


@dataclass(slots=True)
class EvaluationRows:
    """The rows of an evaluation, by opponent, and the experiment that they are of."""

    resolved: ResolvedExperiment
    game: Game
    _rows: dict[str, list[GameRow]] = field(default_factory=dict)

    @classmethod
    def plan(cls, player: str, game: Game, seed: str, games: int, opponents: Sequence[PracticeOpponent]) -> Self:
        """Plan the experiment of an evaluation; raises UserError if it can't be one.

        With an odd number of games the last one has no place in it.
        """
        pairs = games // 2
        blocks = next((number for number in range(MAX_BLOCKS, 0, -1) if pairs and pairs % number == 0), None)
        if blocks is None:
            raise UserError("an experiment has a game on each side at least, and one game was asked for")
        entries = [{"player": one.strategy, "name": one.name} for one in opponents if not one.left_out_reason]
        data = {
            "name": f"evaluation in {game.game_type}",
            "games": [{"game": game.game_type, "parameters": dict(game.parameters)}],
            "players": [{"player": player, "name": PLAYER_LABEL}, *entries],
            "pairs": "first",
            "seeds": [f"{seed}-{number + 1}" for number in range(blocks)],
            "rounds": pairs // blocks,
        }
        return cls(resolve_data(data, Path.cwd()), game)

    def add_game(
        self,
        opponent: str,
        number: int,
        players: tuple[PracticePlayer, PracticePlayer],
        play: MatchPlay,
        own_failures: int,
    ) -> None:
        """Add the game of this number against an opponent; `own_failures` are those of the player's strategy."""
        plan = self.resolved.plan
        block, place = divmod(number - 1, plan.games_per_meeting)
        if block >= len(plan.seeds):
            return
        seed = plan.seeds[block]
        other = next(one for one in plan.players if one.label == opponent)
        piece = Piece(1, plan.games[0], (plan.players[0], other), (seed,), plan.rounds)
        failed = [int(player.player_id in play.match.terminations) for player in players]
        failed[0] += own_failures
        row = make_called_row(piece, self.game, seed, place + 1, players, play, failed, {})
        self._rows.setdefault(opponent, []).append(row)

    def write(self, folder: Path) -> None:
        """Write the blocks that are whole, and the report of the experiment."""
        plan = self.resolved.plan
        size, written = plan.games_per_meeting, 0
        with open_folder(self.resolved, folder) as store, store:
            for matchup in plan.list_matchups():
                rows = self._rows.get(plan.players[matchup.pair[1]].label, [])
                for block in range(len(rows) // size):
                    meeting = matchup.number * len(plan.seeds) + block
                    store.add_meetings([meeting], rows[block * size : (block + 1) * size], ())
                    written += 1
            store.write_fact(FINISHED_FACT, "yes" if written == plan.meeting_count else "no")
        ExperimentResults(folder, self.resolved).write_report()
