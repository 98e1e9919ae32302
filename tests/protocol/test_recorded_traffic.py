"""Whole leagues say byte for byte what they said when their traffic was recorded."""

import pytest

from tests.protocol.recorded_traffic import LEAGUES, mask_varying, read_recorded, record_league


@pytest.mark.parametrize("name", LEAGUES)
def test_a_league_of_eight_says_what_was_recorded(name: str) -> None:
    recorded, said = read_recorded(name), record_league(name)
    assert sorted(set(said) - set(recorded)) == []
    assert sorted(set(recorded) - set(said)) == []
    assert said == recorded


def test_only_times_ids_and_secrets_are_masked() -> None:
    message = b'{"id":17,"timestamp":"2025-01-15T10:00:00.5Z","auth_token":"tok-p01-%b","move":"even"}' % (b"ab" * 32)
    assert mask_varying(message) == (
        '{"id":<number>,"timestamp":"<time>","auth_token":"tok-p01-<secret>","move":"even"}'
    )
