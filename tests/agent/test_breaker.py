"""The circuit breaker."""

from agent_league.agent.breaker import Breaker


def test_it_opens_at_the_threshold_and_not_before() -> None:
    breaker = Breaker(5)
    for _ in range(4):
        breaker.record_call(ok=False)
        assert not breaker.is_open
    breaker.record_call(ok=False)
    assert breaker.is_open


def test_only_failures_in_a_row_count() -> None:
    breaker = Breaker(3)
    for ok in (False, False, True, False, False):
        breaker.record_call(ok=ok)
    assert not breaker.is_open
    breaker.record_call(ok=False)
    assert breaker.is_open


def test_a_success_closes_it() -> None:
    breaker = Breaker(2, failures=7)
    assert breaker.is_open
    breaker.record_call(ok=True)
    assert not breaker.is_open
    assert breaker.failures == 0


def test_a_sign_of_life_closes_it_until_the_very_next_failure() -> None:
    breaker = Breaker(5, failures=9)
    breaker.half_close()
    assert not breaker.is_open
    breaker.record_call(ok=False)
    assert breaker.is_open


def test_a_sign_of_life_takes_no_failures_for_granted() -> None:
    breaker = Breaker(5, failures=1)
    breaker.half_close()
    assert breaker.failures == 1


def test_missed_notices_count_beside_failed_calls() -> None:
    breaker = Breaker(5, failures=3)
    breaker.record_notice(taken=False)
    assert not breaker.is_open
    breaker.record_notice(taken=False)
    assert breaker.is_open


def test_a_notice_that_is_taken_makes_good_for_missed_ones_and_for_nothing_else() -> None:
    breaker = Breaker(5, failures=4)
    breaker.record_notice(taken=False)
    breaker.record_notice(taken=True)
    assert breaker.failure_count == 4


def test_an_answer_makes_good_for_missed_notices_too() -> None:
    breaker = Breaker(5)
    for _ in range(4):
        breaker.record_notice(taken=False)
    breaker.record_call(ok=True)
    assert breaker.failure_count == 0
