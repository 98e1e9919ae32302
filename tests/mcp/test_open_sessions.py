"""Which MCP session makes room for another."""

from contextlib import ExitStack

import pytest

from agent_league.mcp.server.open_sessions import MOST_OF_ONE_NETWORK, MOST_SESSIONS, OpenSessions


class Time:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def sessions(time: Time) -> OpenSessions:
    return OpenSessions(time, idle_seconds=600)


def fill(sessions: OpenSessions, network: str, count: int) -> None:
    for number in range(count):
        sessions.add(f"{network} {number}", network)


def test_the_one_of_the_same_network_that_was_used_longest_ago_makes_room(sessions: OpenSessions) -> None:
    fill(sessions, "b", 1)
    fill(sessions, "a", MOST_OF_ONE_NETWORK)
    with sessions.using("a 0"):
        pass
    assert sessions.find_superfluous("a") == "a 1"
    assert sessions.find_superfluous("b") is None
    sessions.forget("a 1")
    assert sessions.find_superfluous("a") is None


def test_one_that_is_in_use_never_does(sessions: OpenSessions) -> None:
    fill(sessions, "a", MOST_OF_ONE_NETWORK)
    with ExitStack() as streams:
        for number in range(MOST_OF_ONE_NETWORK):
            streams.enter_context(sessions.using(f"a {number}"))
        with pytest.raises(LookupError):
            sessions.find_superfluous("a")
        assert sessions.find_superfluous("b") is None
    assert sessions.find_superfluous("a") == f"a {MOST_OF_ONE_NETWORK - 1}"  # the streams ended in that order


def test_where_all_places_are_taken_the_network_with_the_most_makes_room(sessions: OpenSessions) -> None:
    fill(sessions, "a", 60)
    for number in range(MOST_SESSIONS - 60):
        sessions.add(f"other {number}", f"network {number}")
    assert sessions.find_superfluous("b") == "a 0"


def test_those_that_are_being_opened_count(sessions: OpenSessions) -> None:
    fill(sessions, "a", MOST_OF_ONE_NETWORK - 1)
    with sessions.opening("a"):
        assert sessions.find_superfluous("a") == "a 0"
    assert sessions.find_superfluous("a") is None


def test_those_that_have_been_idle_for_long_are_over(sessions: OpenSessions, time: Time) -> None:
    fill(sessions, "a", MOST_OF_ONE_NETWORK)
    with sessions.using("a 5"):
        time.now = 601
        assert sessions.find_superfluous("a") is None
        assert list(sessions._sessions) == ["a 5"]
