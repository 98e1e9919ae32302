"""Checks a match's draw and result with the messages that a player received, without trusting the referee."""

from collections.abc import Mapping
from typing import Any

import orjson

from agent_league.errors import ConfigError
from agent_league.games.base import CHANCE, BadParameters, Move, State, winning_seat
from agent_league.games.draw import compute_commitment, draw_outcome
from agent_league.games.registry import Game, load_game
from agent_league.games.steps import IllegalStep, StepMoves, walk_positions
from agent_league.text import MAX_PHRASE, quote

MAX_OUTCOMES = 200_000
"""Steps of a match and outcomes of its draws that are checked; longer matches are not, to save time."""


class _InvalidMoves(Exception):
    """The moves in the result don't make a whole legal match."""


class _MatchTooLong(Exception):
    """The match is too long to be checked."""


def find_draw_problem(
    *,
    game_type: str,
    parameters: Mapping[str, Any] | None,
    players: tuple[str, str],
    promised: str | None,
    seed: str | None,
    result: Mapping[str, Any],
) -> str | None:
    """Describe what is wrong with a match's draw in a sentence; None if nothing is, or there was no commitment.

    `players` are PLAYER_A and PLAYER_B; `promised` and `parameters` are the invitation's `draw_commitment` and
    `game_parameters` (None: the game's own); `seed` and `result` are GAME_OVER's `draw_seed` and `game_result`. After
    a technical loss, for a game that isn't installed, and for a very long match, only the seed is checked.
    """
    problem = find_seed_problem(promised, seed)
    if promised is None or problem or result.get("status") == "TECHNICAL_LOSS":
        return problem
    try:
        game = load_game(game_type)
    except ConfigError:
        return None
    try:
        if parameters and _canonical_json(parameters) != _canonical_json(game.parameters):
            game = game.with_parameters(parameters)
        return _find_result_problem(game, players, str(seed), result)
    except _MatchTooLong:
        return None
    except (BadParameters, _InvalidMoves) as error:
        return str(error)
    except Exception as error:  # noqa: BLE001 - a third party's rules may raise anything, on anybody's parameters
        return f"the rules of {game_type} broke down on this result: {quote(error, MAX_PHRASE)}"


def find_seed_problem(promised: str | None, seed: str | None) -> str | None:
    """Describe a missing seed, or one that doesn't match the commitment; else None."""
    if promised is None:
        return None
    if not isinstance(seed, str):
        return "the seed of the draw was promised and not revealed"
    if compute_commitment(seed) != promised:
        return f"the revealed seed's hash is {compute_commitment(seed)}, but {quote(promised)} was promised"
    return None


def _find_result_problem(game: Game, players: tuple[str, str], seed: str, result: Mapping[str, Any]) -> str | None:
    state, moves = _replay_match(game, players, seed, result.get("choices"))
    seat = winning_seat(game.rules.returns(state))
    winner = None if seat is None else players[seat]
    expected = {**game.result_fields(state, moves, players), "winner_player_id": winner}
    told = {name: result.get(name) for name in expected}
    if _canonical_json(told) == _canonical_json(expected):
        return None
    wrong = next(name for name, value in expected.items() if _canonical_json(told[name]) != _canonical_json(value))
    return f"{wrong} is {quote(told[wrong])}, but seed and choices give {quote(expected[wrong])}"


def _replay_match(game: Game, players: tuple[str, str], seed: str, choices: Any) -> tuple[State, list[dict[str, Move]]]:
    """Replay the match from each player's moves; return the last state and the moves step by step."""
    rest = [_moves_of_player(choices, player) for player in players]
    left = MAX_OUTCOMES

    def next_moves(state: State, actors: tuple[int, ...], step: int) -> StepMoves:
        nonlocal left
        outcomes = game.rules.legal(state, CHANCE) if actors == (CHANCE,) else ()
        left -= 1 + len(outcomes)
        if left < 0:
            raise _MatchTooLong
        if outcomes:
            return {CHANCE: draw_outcome(seed, step, outcomes)}
        if missing := [players[seat] for seat in actors if not rest[seat]]:
            raise _InvalidMoves(f"choices lack a move of {missing[0]}")
        return {seat: rest[seat].pop(0) for seat in actors}

    state, moves = game.rules.new(game.parameters), list[dict[str, Move]]()
    try:
        for made, after in walk_positions(game.rules, state, next_moves):
            state = after
            if CHANCE not in made:
                moves.append({players[seat]: move for seat, move in made.items()})
    except IllegalStep as error:
        player = players[error.seat]
        raise _InvalidMoves(f"choices have {quote(error.move)} for {player}, which the rules don't allow") from None
    if any(rest):
        raise _InvalidMoves("choices hold more moves than the match has steps")
    return state, moves


def _moves_of_player(choices: Any, player: str) -> list[Move]:
    """A player's moves in order; in `choices` a single move may stand without a list."""
    found = choices.get(player) if isinstance(choices, Mapping) else None
    return list(found) if isinstance(found, list) else [found]


def _canonical_json(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)
