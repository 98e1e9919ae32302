"""The time before a deadline is shared out: thinking, falling back, the way back."""

import pytest

from agent_league.players.deadline import seconds_to_fall_back, seconds_to_think


@pytest.mark.parametrize(("left", "think"), [(30, 28), (10, 8), (4, 2), (3, 1.5), (2, 1), (0.5, 0.25), (0, 0), (-5, 0)])
def test_thinking_ends_two_seconds_before_the_deadline_or_at_half_time(left: float, think: float) -> None:
    assert seconds_to_think(left) == think


@pytest.mark.parametrize(("left", "fall_back"), [(30, 1), (2, 1), (1, 0.5), (0, 0), (-5, 0)])
def test_a_fallback_leaves_time_for_the_way_back(left: float, fall_back: float) -> None:
    assert seconds_to_fall_back(left) == fall_back
