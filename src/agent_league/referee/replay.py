"""Replaying a match file step by step with the game's own rules, for display.

Nothing is checked but what the rules need to go on; whether a file is true is for `verify` to say. A bad file gives as
many steps as possible and a sentence about why there are no more.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from agent_league.errors import ConfigError
from agent_league.games.base import CHANCE, Rules, State
from agent_league.games.registry import Game, load_game
from agent_league.games.repeated import RepeatedRules, count_rounds
from agent_league.games.steps import IllegalStep, StepMoves, walk_positions
from agent_league.games.view import render_view
from agent_league.model.results import MatchResult, Outcome
from agent_league.referee.match import SEAT_ROLES
from agent_league.referee.transcript import filter_objects
from agent_league.text import MAX_PHRASE, quote, shorten

MAX_STEPS = 10_000
MAX_NAME = 100
"""Characters of a game's name, which may tell its parameters."""


@dataclass(frozen=True, slots=True)
class ReplayStep:
    """A position, and the moves that led to it."""

    number: int
    moves: StepMoves
    """By seat, with CHANCE for a draw; empty at the start."""
    view: Any
    """The position with nothing hidden; in a repeated game, that of the round to which the moves belong."""
    round: int = 1
    totals: tuple[float, float] | None = None
    """In a repeated game, if this step ended a round: the total payoffs by seat."""
    is_whole: bool = True
    """Whether all who had to move did; if not, the position is that before the step."""


@dataclass(frozen=True, slots=True)
class MatchReplay:
    """The steps of a replayed match."""

    game_type: str
    steps: tuple[ReplayStep, ...]
    game: Game | None = None
    """None if the game is unknown here."""
    shortfall: str = ""
    """Why there are no more steps; empty if the replay is complete."""
    rounds: tuple[tuple[Any, Any], ...] = ()
    """In a repeated game, the moves of both seats in each round."""

    @property
    def is_repeated(self) -> bool:
        return self.game is not None and isinstance(self.game.rules, RepeatedRules)

    @property
    def round_payoffs(self) -> list[tuple[float, float]]:
        """Payoffs of each round, by seat."""
        totals = [(0.0, 0.0), *(step.totals for step in self.steps if step.totals)]
        return [(after[0] - before[0], after[1] - before[1]) for before, after in pairwise(totals)]

    def select_steps(self, most: int) -> tuple[tuple[ReplayStep, ...], str]:
        """Select at most `most` steps, of a repeated game the ends of rounds; with a sentence if some are left out."""
        if len(self.steps) <= most:
            return self.steps, ""
        if not self.is_repeated:
            return self.steps[:most], f"The first {most - 1} of {len(self.steps) - 1} steps."
        ends = (self.steps[0], *(step for step in self.steps if step.totals or not step.is_whole))
        if len(ends) <= most:
            return ends, "How each round ended."
        return ends[:most], f"How the first {most - 1} of {len(ends) - 1} rounds ended."

    def render_step(self, step: ReplayStep) -> str:
        """Render the position of a step as lines of text."""
        return render_view(self.game_type, step.view, None)


@dataclass(slots=True)
class _RecordedMatch:
    """The parts of a match file that a replay uses."""

    game_type: str
    parameters: Mapping[str, Any]
    pair: tuple[Any, Any]
    moves: Iterator[Any]
    draws: Iterator[Any]
    ended_early: bool
    """Whether the recorded result is a technical loss, so that moves may be missing."""


def replay_match(
    content: Mapping[str, Any], find_game: Callable[[str], Game] = load_game, most: int = MAX_STEPS
) -> MatchReplay:
    """Replay a match file's content, or what `to_match_content` made of a result; never raises."""
    told = _parse_record(content)
    try:
        game = find_game(told.game_type).with_parameters(told.parameters)
    except ConfigError as error:
        return MatchReplay(told.game_type, (), None, f"It can't be replayed: {str(error).removeprefix('game_type: ')}.")
    except Exception as error:  # noqa: BLE001 - somebody else's package, or parameters that make no game
        return MatchReplay(told.game_type, (), None, f"It can't be replayed: {shorten(error, MAX_PHRASE)}.")
    return _Replayer(game, told, most).replay_steps()


def to_match_content(result: MatchResult, game_type: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Write what a league knows of a match in the form of a match file; enough to replay many games."""
    return {
        "match_id": result.match_id,
        "round_id": result.round_id,
        "game_type": game_type,
        "game_parameters": dict(parameters),
        "players": dict(zip(SEAT_ROLES, result.players, strict=True)),
        "result": {**result.details, "status": str(result.outcome), "winner_player_id": result.winner},
    }


class _ReplayEnded(Exception):
    """Why the recorded moves can't be followed any further."""


class _Replayer:
    """Applies recorded moves and draws to a game."""

    def __init__(self, game: Game, told: _RecordedMatch, most: int) -> None:
        self._game = game
        self._rules: Rules = game.rules
        self._recorded_match = told
        self._most = most
        self._steps: list[ReplayStep] = []
        self._state: State = None

    def replay_steps(self) -> MatchReplay:
        shortfall = ""
        try:
            self._state = self._rules.new(self._game.parameters)
            self._steps.append(ReplayStep(0, {}, self._view_position(self._state, ended=False)))
            for made, after in walk_positions(self._rules, self._state, self._next_step):
                self._add_step(made, after)
        except _ReplayEnded as end:
            shortfall = str(end)
        except IllegalStep as error:
            shortfall = f"The rules don't allow the move {quote(error.move)} in step {len(self._steps)}."
        except Exception as error:  # noqa: BLE001 - anybody's rules, on anybody's moves
            shortfall = f"The rules can't go on after step {max(0, len(self._steps) - 1)}: {quote(error, MAX_PHRASE)}."
        rounds: tuple[tuple[Any, Any], ...] = ()
        if isinstance(self._rules, RepeatedRules) and isinstance(self._state, Mapping):
            rounds = tuple((pair[0], pair[1]) for pair in self._state["rounds"])
        return MatchReplay(self._game.game_type, tuple(self._steps), self._game, shortfall, rounds)

    def _next_step(self, state: State, actors: tuple[int, ...], step: int) -> StepMoves | None:
        """Return the recorded moves of a step; None if the match was broken off there. Raises _ReplayEnded."""
        if step >= self._most:
            raise _ReplayEnded(f"These are the first {self._most} steps.")
        made = self._next_draw() if actors == (CHANCE,) else self._next_moves()
        if made is None:
            if self._recorded_match.ended_early:
                return None
            what = "was drawn" if actors == (CHANCE,) else "was played"
            raise _ReplayEnded(f"What {what} in step {step + 1} is not told.")
        if not made.keys() <= set(actors):
            raise _ReplayEnded(f"In step {step + 1} somebody moved whose turn it wasn't.")
        if len(made) < len(actors):
            self._add_step(made, state, is_whole=False)
            return None
        return made

    def _next_draw(self) -> StepMoves | None:
        outcome = next(self._recorded_match.draws, None)
        return None if outcome is None else {CHANCE: outcome}

    def _next_moves(self) -> StepMoves | None:
        made = next(self._recorded_match.moves, None)
        if not isinstance(made, Mapping) or not made:
            return None
        seats = {player: seat for seat, player in enumerate(self._recorded_match.pair)}
        return {seats[player]: move for player, move in made.items()}

    def _add_step(self, made: StepMoves, after: State, *, is_whole: bool = True) -> None:
        before, totals = count_rounds(self._rules, self._state), None
        ended = count_rounds(self._rules, after) > before
        if ended:
            totals = (float(after["scores"][0]), float(after["scores"][1]))
        self._steps.append(
            ReplayStep(len(self._steps), made, self._view_position(after, ended=ended), before + 1, totals, is_whole)
        )
        self._state = after

    def _view_position(self, state: State, *, ended: bool) -> Any:
        if not isinstance(self._rules, RepeatedRules):
            return self._rules.view(state, None)
        return self._rules.single.view(state["last" if ended else "game"], None)


def _parse_record(content: Mapping[str, Any]) -> _RecordedMatch:
    players, result = _as_mapping(content.get("players")), _as_mapping(content.get("result"))
    pair = (players.get(SEAT_ROLES[0]), players.get(SEAT_ROLES[1]))
    moves = content.get("moves") or result.get("moves")
    if not isinstance(moves, list):
        moves = _convert_choices(_as_mapping(result.get("choices")))
    entries = filter_objects(content.get("transcript"))
    draws = [entry.get("outcome") for entry in entries if entry.get("direction") == "drawn"]
    if not draws and result.get("drawn_number") is not None:
        draws = [result["drawn_number"]]
    parameters = _as_mapping(content.get("game_parameters"))
    broke_off = result.get("status") == Outcome.TECHNICAL_LOSS
    return _RecordedMatch(
        shorten(content.get("game_type"), MAX_NAME), parameters, pair, iter(moves), iter(draws), broke_off
    )


def _convert_choices(choices: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Convert a result's `choices` to moves, for games in which both players move once, at the same time."""
    return [] if not choices or any(isinstance(one, list) for one in choices.values()) else [dict(choices)]


def _as_mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
