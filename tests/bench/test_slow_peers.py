"""A bad player beside a league is as bad as it should be, and the league ends all the same."""

from pathlib import Path

from bench.plans import Setting
from bench.slow_peers import HUNG, QUICK, SLOW, STUCK, Manner, Trial, measure_slow_peers
from tests.conftest import free_ports

MANNER = Manner(players=4, move_timeout=1.5, delay=0.1)


def test_a_hung_player_a_stuck_one_and_a_slow_one_each_meet_everybody(tmp_path: Path) -> None:
    slow = measure_slow_peers(Setting(free_ports(110), referees=1), tmp_path, MANNER)
    assert set(slow.trials) == {QUICK, HUNG, STUCK, SLOW}
    assert all(len(_of_the_outsider(trial)) == 3 for trial in slow.trials.values())
    assert max(_of_the_outsider(slow.trials[STUCK])) >= MANNER.move_timeout
    joining = MANNER.settings()["timeouts.game_join_ack_timeout_sec"]
    assert joining <= max(_of_the_outsider(slow.trials[HUNG])) < max(_of_the_outsider(slow.trials[STUCK]))
    assert all(seconds > 2 * 0.9 * MANNER.delay for seconds in _of_the_outsider(slow.trials[SLOW]))
    assert all(slow.passed_on(kind) < 0.5 for kind in (HUNG, STUCK, SLOW))


def _of_the_outsider(trial: Trial) -> list[float]:
    """Seconds of its matches."""
    return [match.seconds for match in trial.run.played if trial.outside in match.players]
