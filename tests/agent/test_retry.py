"""How long to wait before trying again."""

from random import Random

import pytest

from agent_league.agent.breaker import delay_before_retry, reconnect_delay
from agent_league.config.models import RetryPolicy


class Dice(Random):
    """Dice that always show the same."""

    def __init__(self, value: float) -> None:
        super().__init__()
        self._value = value

    def random(self) -> float:
        return self._value


@pytest.mark.parametrize(("failed", "seconds"), [(1, 2.0), (2, 4.0), (3, 8.0), (4, 16.0)])
def test_the_wait_doubles_with_each_failure_from_the_base(failed: int, seconds: float) -> None:
    assert delay_before_retry(RetryPolicy(), failed, Dice(0)) == seconds


@pytest.mark.parametrize("failed", [1, 2, 5])
def test_a_fixed_wait_stays_the_same(failed: int) -> None:
    policy = RetryPolicy(base_delay_sec=1.5, backoff_strategy="fixed")
    assert delay_before_retry(policy, failed, Dice(0)) == 1.5


def test_up_to_a_tenth_is_added_so_that_nobody_marches_in_step() -> None:
    assert delay_before_retry(RetryPolicy(), 1, Dice(1)) == pytest.approx(2.2)
    waits = {delay_before_retry(RetryPolicy(), 1, Random(seed)) for seed in range(50)}
    assert len(waits) == 50
    assert all(2.0 <= wait <= 2.2 for wait in waits)


def test_no_base_means_no_wait() -> None:
    assert delay_before_retry(RetryPolicy(base_delay_sec=0), 3, Random(1)) == 0


def test_waiting_for_somebody_to_appear_is_quick_at_first_and_then_steady() -> None:
    waits = [reconnect_delay(failures, Dice(0)) for failures in range(1, 2000)]
    assert waits[:4] == [0.1, 0.2, 0.4, 0.8]
    assert waits == sorted(waits)
    assert set(waits[6:]) == {3.0}
    assert reconnect_delay(1, Dice(1)) == pytest.approx(0.11)
