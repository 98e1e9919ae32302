"""The states of an agent's life."""

from itertools import product

import pytest

from agent_league.model.agents import AgentState, IllegalTransition, advance_state

ALLOWED = {
    ("INIT", "REGISTERED"),
    ("INIT", "SHUTDOWN"),
    ("REGISTERED", "ACTIVE"),
    ("REGISTERED", "SUSPENDED"),
    ("REGISTERED", "SHUTDOWN"),
    ("ACTIVE", "SUSPENDED"),
    ("ACTIVE", "SHUTDOWN"),
    ("SUSPENDED", "REGISTERED"),
    ("SUSPENDED", "ACTIVE"),
    ("SUSPENDED", "SHUTDOWN"),
    ("SHUTDOWN", "ACTIVE"),
    ("SHUTDOWN", "SUSPENDED"),
}


def test_the_states_are_those_of_the_seeds() -> None:
    assert [str(state) for state in AgentState] == ["INIT", "REGISTERED", "ACTIVE", "SUSPENDED", "SHUTDOWN"]


@pytest.mark.parametrize(("current", "target"), list(product(AgentState, AgentState)))
def test_an_agent_goes_only_where_its_life_leads(current: AgentState, target: AgentState) -> None:
    if current is target or (str(current), str(target)) in ALLOWED:
        assert advance_state(current, target) is target
    else:
        with pytest.raises(IllegalTransition, match=f"from {current} to {target}"):
            advance_state(current, target)
