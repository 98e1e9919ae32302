"""The manager's signatures: for whom they are good, and for how long."""

from datetime import UTC, datetime, timedelta

import pytest

from agent_league.errors import Refusal
from agent_league.league.match_tokens import CALL_TOKEN_SECONDS, TokenIssuer
from agent_league.model.schedule import Pairing
from agent_league.protocol.tokens import SigningKey, TokenVerifier

START = datetime(2025, 1, 15, 10, tzinfo=UTC)
PAIRING = Pairing("R1M1", 1, "P01", "P02")


class Clock:
    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self) -> datetime:
        return START + timedelta(seconds=self.seconds)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def passes(clock: Clock) -> TokenIssuer:
    return TokenIssuer(SigningKey.generate(), "L1", clock, match_seconds=100)


def is_good(passes: TokenIssuer, token: str, player_id: str, at: datetime = START, **claim: str) -> bool:
    claim = {"match_id": "R1M1", "referee_id": "REF01", **claim}
    try:
        TokenVerifier(passes.public_key, "L1").check_match_token(token, player_id=player_id, now=at, **claim)
    except Refusal:
        return False
    return True


def test_each_player_is_shown_a_token_that_is_good_at_no_other(passes: TokenIssuer) -> None:
    made = passes.issue_match_tokens(PAIRING, "REF01")
    for player, other in (("P01", "P02"), ("P02", "P01")):
        assert is_good(passes, made.tokens_by_player[player], player)
        assert not is_good(passes, made.tokens_by_player[player], other)
        assert is_good(passes, made.shared_token, player)
    assert not is_good(passes, made.shared_token, "P03")
    assert not is_good(passes, made.shared_token, "P01", referee_id="REF02")
    assert not is_good(passes, made.shared_token, "P01", match_id="R1M2")


def test_a_match_token_is_good_as_long_as_a_match_may_take(passes: TokenIssuer) -> None:
    token = passes.issue_match_tokens(PAIRING, "REF01").shared_token
    assert is_good(passes, token, "P01", START + timedelta(seconds=100))
    assert not is_good(passes, token, "P01", START + timedelta(seconds=200))


def test_a_match_that_is_given_out_again_has_other_tokens(passes: TokenIssuer) -> None:
    one, other = passes.issue_match_tokens(PAIRING, "REF01"), passes.issue_match_tokens(PAIRING, "REF01")
    assert {one.shared_token, *one.tokens_by_player.values()}.isdisjoint(
        {other.shared_token, *other.tokens_by_player.values()}
    )


def test_the_managers_own_token_is_for_one_agent_and_made_anew_before_it_ends(
    passes: TokenIssuer, clock: Clock
) -> None:
    verifier = TokenVerifier(passes.public_key, "L1")
    token = passes.get_call_token("P01")
    verifier.check_manager_token(token, agent_id="P01", now=START)
    with pytest.raises(Refusal, match="E012"):
        verifier.check_manager_token(token, agent_id="P02", now=START)
    assert not is_good(passes, token, "P01")
    clock.seconds = CALL_TOKEN_SECONDS / 2 - 1
    assert passes.get_call_token("P01") == token
    clock.seconds = CALL_TOKEN_SECONDS / 2
    newer = passes.get_call_token("P01")
    assert newer != token
    verifier.check_manager_token(newer, agent_id="P01", now=START + timedelta(seconds=CALL_TOKEN_SECONDS))
