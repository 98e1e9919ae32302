"""Which versions of the protocol are new enough."""

import pytest

from agent_league.protocol.version import (
    CURRENT_VERSION,
    MINIMUM_VERSION,
    PROTOCOL_V2,
    is_supported_version,
    parse_version,
)


def test_ours_is_two_one_and_the_lowest_is_two_zero() -> None:
    assert (PROTOCOL_V2, CURRENT_VERSION, MINIMUM_VERSION) == ("league.v2", "2.1.0", "2.0.0")


@pytest.mark.parametrize("version", ["2.0.0", "2.1.0", "2.10.0", "3.0.0", "10.0.0"])
def test_the_lowest_and_all_newer_ones_are_supported(version: str) -> None:
    assert is_supported_version(version)


@pytest.mark.parametrize("version", ["1.9.9", "1.0.0", "0.0.0", "1.99.99"])
def test_older_ones_are_not(version: str) -> None:
    assert parse_version(version)
    assert not is_supported_version(version)


@pytest.mark.parametrize(
    "version", ["", "2", "2.0", "v2.0.0", "2.0.0-beta", "2.0.0.0", " 2.0.0", "2.\u0660.0", "9" * 5000]
)
def test_what_can_not_be_read_is_not_supported_either(version: str) -> None:
    assert parse_version(version) is None
    assert not is_supported_version(version)
