"""Which MCP session makes room for another."""

from contextlib import ExitStack

import pytest

from agent_league.mcp.server.open_sessions import MAX_SESSIONS, MAX_SESSIONS_PER_NETWORK, OpenSessions


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
        sessions.add_session(f"{network} {number}", network)


def test_the_one_of_the_same_network_that_was_used_longest_ago_makes_room(sessions: OpenSessions) -> None:
    fill(sessions, "b", 1)
    fill(sessions, "a", MAX_SESSIONS_PER_NETWORK)
    with sessions.mark_used("a 0"):
        pass
    assert sessions.find_session_to_end("a") == "a 1"
    assert sessions.find_session_to_end("b") is None
    sessions.forget_session("a 1")
    assert sessions.find_session_to_end("a") is None


def test_one_that_is_in_use_never_does(sessions: OpenSessions) -> None:
    fill(sessions, "a", MAX_SESSIONS_PER_NETWORK)
    with ExitStack() as streams:
        for number in range(MAX_SESSIONS_PER_NETWORK):
            streams.enter_context(sessions.mark_used(f"a {number}"))
        with pytest.raises(LookupError):
            sessions.find_session_to_end("a")
        assert sessions.find_session_to_end("b") is None
    assert sessions.find_session_to_end("a") == f"a {MAX_SESSIONS_PER_NETWORK - 1}"  # the streams ended in that order


def test_where_all_places_are_taken_the_network_with_the_most_makes_room(sessions: OpenSessions) -> None:
    fill(sessions, "a", 60)
    for number in range(MAX_SESSIONS - 60):
        sessions.add_session(f"other {number}", f"network {number}")
    assert sessions.find_session_to_end("b") == "a 0"


def test_those_that_are_being_opened_count(sessions: OpenSessions) -> None:
    fill(sessions, "a", MAX_SESSIONS_PER_NETWORK - 1)
    with sessions.count_opening("a"):
        assert sessions.find_session_to_end("a") == "a 0"
    assert sessions.find_session_to_end("a") is None


def test_those_that_have_been_idle_for_long_are_over(sessions: OpenSessions, time: Time) -> None:
    fill(sessions, "a", MAX_SESSIONS_PER_NETWORK)
    with sessions.mark_used("a 5"):
        time.now = 601
        assert sessions.find_session_to_end("a") is None
        assert list(sessions._sessions) == ["a 5"]
