"""Scenarios: the seed decides everything, beforehand."""

import pytest

from agent_league.testing.faults import FRAME_FAULTS, MANAGER_NAME, FaultKind, IncidentKind, make_scenario

SEEDS = range(1, 200)


def test_a_seed_makes_the_same_scenario_each_time() -> None:
    assert [make_scenario(seed) for seed in SEEDS] == [make_scenario(seed) for seed in SEEDS]


def test_seeds_differ() -> None:
    assert len({repr(make_scenario(seed)) for seed in SEEDS}) == len(SEEDS)


def test_without_faults_nothing_goes_wrong() -> None:
    for seed in SEEDS:
        scenario = make_scenario(seed, faults=())
        assert not scenario.fault_rates
        assert not scenario.incidents
        assert not scenario.clock_skews
        assert not scenario.silent_referees


@pytest.mark.parametrize("fault", FaultKind)
def test_every_kind_of_fault_occurs_in_some_seeds_and_not_in_others(fault: FaultKind) -> None:
    scenarios = [make_scenario(seed, faults=(fault,)) for seed in SEEDS]
    hit = [one for one in scenarios if one.fault_rates or one.incidents or one.clock_skews or one.silent_referees]
    assert 0.3 < len(hit) / len(scenarios) < 0.7
    assert all(set(scenario.fault_rates) <= {fault} & set(FRAME_FAULTS) for scenario in scenarios)


@pytest.mark.parametrize("trouble", IncidentKind)
def test_every_trouble_comes_about(trouble: IncidentKind) -> None:
    assert any(incident.kind is trouble for seed in SEEDS for incident in make_scenario(seed).incidents)


def test_incidents_stand_in_the_order_of_their_steps() -> None:
    for seed in SEEDS:
        steps = [incident.step for incident in make_scenario(seed).incidents]
        assert steps == sorted(steps)


def test_the_size_of_a_league_can_be_asked_for() -> None:
    scenario = make_scenario(7, players=3, referees=2)
    assert scenario.agent_names == (MANAGER_NAME, "REF01", "REF02", "P01", "P02", "P03")


def test_some_leagues_play_several_games_a_match_with_players_that_keep_them_and_others() -> None:
    scenarios = [make_scenario(seed) for seed in SEEDS]
    repeated = [scenario for scenario in scenarios if scenario.repeat > 1]
    assert 0 < len(repeated) < len(scenarios) / 2
    assert any(scenario.forgetful_players for scenario in repeated)
    assert any(set(scenario.agent_names[1:]) > set(scenario.forgetful_players) for scenario in repeated)
    assert not any(scenario.forgetful_players for scenario in scenarios if scenario.repeat == 1)
