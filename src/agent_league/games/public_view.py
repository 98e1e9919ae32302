"""What everybody may see of a game that is being played: what both of its players see.

Rules under which each seat sees all are shown whole. Rules that name the states which a seat can't tell apart
(`hidden`) are shown without whatever differs in those; rules that do neither are not shown at all.
"""

from typing import Any

from agent_league.games.base import Rules, State, find_hidden_states, has_perfect_information, has_public_moves
from agent_league.games.repeated import RepeatedRules


def build_public_view(rules: Rules, state: State) -> Any:
    """Build the view of one who knows no more than both players do, in the form of `view(state, None)`.

    None if there is nothing to show: something may be hidden, and the rules don't say what.
    """
    if isinstance(rules, RepeatedRules):
        return _build_repeated_view(rules, state)
    whole = rules.view(state, None)
    if has_perfect_information(rules) or all(rules.view(state, seat) == whole for seat in (0, 1)):
        return whole
    if not hasattr(rules, "hidden") or not isinstance(whole, dict):
        return None
    others = [rules.view(other, None) for seat in (0, 1) for other in find_hidden_states(rules, state, seat)]
    # A value that differs is left out whole: a hand of which one card is the same in all those states stays hidden.
    return {name: value if all(other.get(name) == value for other in others) else None for name, value in whole.items()}


def _build_repeated_view(rules: RepeatedRules, state: State) -> Any:
    """Build the view of a repeated match; its rounds only where each seat may know the other's moves."""
    single = rules.single
    last = None if state["last"] is None else build_public_view(single, state["last"])
    rounds = state["rounds"] if has_public_moves(single) else []
    game = build_public_view(single, state["game"])
    return rules.compose_view(game, last, rounds, state, state["scores"], state["wins"])
