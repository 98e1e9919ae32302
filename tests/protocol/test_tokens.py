"""Signed tokens: good for one match, one referee, two players and a time, and for nothing else."""

import base64
import hmac
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed448 import Ed448PrivateKey
from jwt.algorithms import OKPAlgorithm

from agent_league.errors import ErrorCode, Refusal
from agent_league.protocol import tokens
from agent_league.protocol.tokens import MAX_KEPT_TOKENS, MAX_TOKEN_LENGTH, SigningKey, TokenVerifier

NOW = datetime(2025, 1, 15, 10, 0, tzinfo=UTC)
LEAGUE = "league_2025_even_odd"
KEY = SigningKey.generate()
OTHER = SigningKey.generate()
PUBLIC = json.dumps(KEY.public_jwk)


def match_token(key: SigningKey = KEY, **other: Any) -> str:
    usual: dict[str, Any] = {
        "league_id": LEAGUE,
        "match_id": "R1M1",
        "referee_id": "REF01",
        "players": ("P01", "P02"),
        "audience": ("P01", "P02"),
        "now": NOW,
        "lifetime": 600,
    }
    return key.sign_match_token(**{**usual, **other})


def manager_token(key: SigningKey = KEY, **other: Any) -> str:
    return key.sign_manager_token(**{"league_id": LEAGUE, "audience": "P01", "now": NOW, "lifetime": 600, **other})


def check_match(token: str, verifier: TokenVerifier | None = None, **other: Any) -> None:
    usual: dict[str, Any] = {"match_id": "R1M1", "referee_id": "REF01", "player_id": "P01", "now": NOW}
    (verifier or TokenVerifier(KEY.public_jwk, LEAGUE)).check_match_token(token, **{**usual, **other})


def check_manager(token: str, verifier: TokenVerifier | None = None, **other: Any) -> None:
    (verifier or TokenVerifier(KEY.public_jwk, LEAGUE)).check_manager_token(
        token, **{"agent_id": "P01", "now": NOW, **other}
    )


def refusal(check: Callable[..., None], token: str, *args: Any, **other: Any) -> str:
    """The sentence with which a token is refused; the token itself isn't in it."""
    with pytest.raises(Refusal) as refused:
        check(token, *args, **other)
    assert refused.value.code is ErrorCode.AUTH_TOKEN_INVALID
    said = refused.value.message + repr(refused.value.context)
    assert len(token) < 20 or token not in said
    assert len(said) < 1000
    return refused.value.message


def part(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def claims_of(token: str) -> dict[str, Any]:
    claims: dict[str, Any] = jwt.decode(token, options={"verify_signature": False})
    return claims


def test_a_match_token_is_good_for_its_match_referee_and_players() -> None:
    token = match_token()
    for player_id in ("P01", "P02"):
        check_match(token, player_id=player_id)


def test_a_manager_token_is_good_for_the_agent_it_is_meant_for() -> None:
    check_manager(manager_token())
    assert "not meant for 'P02'" in refusal(check_manager, manager_token(), agent_id="P02")


def test_a_token_has_the_claims_of_the_standard_and_no_two_are_alike() -> None:
    claims = claims_of(match_token())
    assert len(claims.pop("jti")) >= 16
    assert claims == {
        "use": "match",
        "iss": LEAGUE,
        "sub": "R1M1",
        "aud": ["P01", "P02"],
        "ref": "REF01",
        "players": ["P01", "P02"],
        "iat": int(NOW.timestamp()),
        "exp": int(NOW.timestamp()) + 600,
    }
    assert match_token() != match_token()
    assert jwt.get_unverified_header(match_token())["alg"] == "EdDSA"


@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        ({"match_id": "R1M2"}, "it is for match 'R1M1', not 'R1M2'"),
        ({"match_id": "R" * 10_000}, "it is for match 'R1M1', not 'RRR"),
        ({"referee_id": "REF02"}, "it was given to 'REF01', not to 'REF02'"),
        ({"player_id": "P03"}, "it is not meant for 'P03'"),
        ({"now": NOW + timedelta(seconds=631)}, "it has expired (it is 2025-01-15T10:10:31Z here)"),
    ],
)
def test_a_match_token_for_something_else_is_refused_with_what_it_is_for(other: dict[str, Any], sentence: str) -> None:
    assert sentence in refusal(check_match, match_token(), **other)


def test_who_is_meant_but_does_not_play_is_refused() -> None:
    token = match_token(audience=("P01", "P02", "P03"))
    assert "'P03' is not one of its players" in refusal(check_match, token, player_id="P03")


@pytest.mark.parametrize("seconds", [0, 600, 630, -86_400])
def test_a_clock_that_is_a_little_late_or_far_too_early_refuses_nothing(seconds: int) -> None:
    check_match(match_token(), now=NOW + timedelta(seconds=seconds))
    check_manager(manager_token(), now=NOW + timedelta(seconds=seconds))


def test_another_league_under_the_same_key_is_refused() -> None:
    assert "of league 'another'" in refusal(check_match, match_token(league_id="another"))
    assert "of league 'another'" in refusal(check_manager, manager_token(league_id="another"))


def test_another_league_s_key_is_refused() -> None:
    assert "didn't sign it" in refusal(check_match, match_token(OTHER))
    assert "didn't sign it" in refusal(check_manager, manager_token(OTHER))


def test_one_kind_of_token_is_never_good_as_the_other() -> None:
    assert "it is a match token" in refusal(check_manager, match_token())
    assert "it is a match token" in refusal(check_manager, match_token(match_id="league_manager", audience=("P01",)))
    assert "it is a manager token" in refusal(check_match, manager_token())
    assert "it is a manager token" in refusal(check_match, manager_token(), match_id="league_manager")


def signed_as(algorithm: str, key: Any, **other: Any) -> str:
    claims = {**claims_of(match_token()), **other}
    return jwt.encode(claims, key, algorithm=algorithm)


FORGED: dict[str, Callable[[], str]] = {
    "no algorithm": lambda: signed_as("none", None),
    "no algorithm, with a signature": lambda: signed_as("none", None) + match_token().rpartition(".")[2],
    "no algorithm in the header": lambda: ".".join([part({"typ": "JWT"}), *match_token().split(".")[1:]]),
    "the public key as a secret": lambda: signed_as("HS256", KEY.public_jwk["x"]),
    "the public bytes as a secret": lambda: signed_as("HS256", base64.urlsafe_b64decode(KEY.public_jwk["x"] + "=")),
    "another curve": lambda: signed_as("ES256", generate_private_key(SECP256R1())),
    "another Edwards curve": lambda: signed_as("EdDSA", Ed448PrivateKey.generate()),
    "another name for the algorithm": lambda: ".".join([part({"alg": "eddsa"}), *match_token().split(".")[1:]]),
    "a list of algorithms": lambda: ".".join([part({"alg": ["EdDSA"]}), *match_token().split(".")[1:]]),
    "a key of its own in the header": lambda: jwt.encode(
        claims_of(match_token()), OTHER._key, algorithm="EdDSA", headers={"jwk": OTHER.public_jwk}
    ),
    "a payload beside it": lambda: match_token().split(".")[0] + "." + part({}) + "." + match_token().split(".")[2],
    "another's signature": lambda: match_token().rpartition(".")[0] + "." + match_token().rpartition(".")[2],
    "detached": lambda: part({"alg": "EdDSA", "b64": False, "crit": ["b64"]}) + ".e30." + "A" * 86,
}


@pytest.mark.parametrize("forged", FORGED)
@pytest.mark.filterwarnings("ignore::jwt.warnings.InsecureKeyLengthWarning")
def test_a_forged_token_is_refused(forged: str) -> None:
    sentence = refusal(check_match, FORGED[forged]())
    assert "didn't sign it" in sentence or "not a signed token" in sentence


def test_a_token_altered_anywhere_is_refused() -> None:
    token = match_token()
    for place, letter in enumerate(token):
        altered = token[:place] + ("A" if letter != "A" else "B") + token[place + 1 :]
        refusal(check_match, altered)
        refusal(check_match, token[:place] + token[place + 1 :])


@pytest.mark.parametrize("tail", ["=", "==", "A", ".", ".A", " ", "\n"])
def test_a_token_with_something_after_it_is_refused(tail: str) -> None:
    refusal(check_match, match_token() + tail)
    refusal(check_match, tail + match_token())


GARBAGE = [
    "",
    ".",
    "..",
    "a.b.c",
    "tok-p01-0123456789abcdef",
    "[redacted]",
    "ü" * 20,
    "é.é.é",
    "٣.٣.٣",
    "\ud800.a.b",
    "\x00",
    "A" * 10_000_000,
    ".".join(["A" * 3_000_000] * 3),
    "." * 5_000_000,
    f"{part([])}.{part({})}.AAAA",
    f"{part('EdDSA')}.{part({})}.AAAA",
    f"{base64.urlsafe_b64encode(b'[' * 2000).decode().rstrip('=')}.e30.AAAA",
    f"{base64.urlsafe_b64encode(b'9' * 2000).decode().rstrip('=')}.e30.AAAA",
]


@pytest.mark.parametrize("garbage", GARBAGE, ids=lambda text: ascii(text[:20]))
def test_garbage_is_refused_like_any_other(garbage: str) -> None:
    refusal(check_match, garbage)
    refusal(check_manager, garbage)


def test_a_token_that_is_too_long_is_refused_though_it_is_signed() -> None:
    assert "not a signed token" in refusal(check_match, match_token(audience=["P01"] * MAX_TOKEN_LENGTH))


@pytest.mark.parametrize(
    ("claim", "value"),
    [
        ("use", None),
        ("use", "both"),
        ("iss", 7),
        ("sub", None),
        ("aud", "P01"),
        ("aud", [1]),
        ("exp", None),
        ("exp", "never"),
        ("exp", 1e12),
        ("exp", True),
        ("players", {"P01": "P02"}),
        ("ref", ["REF01"]),
    ],
)
def test_a_signed_token_with_a_claim_that_is_no_such_thing_is_refused(claim: str, value: Any) -> None:
    claims = {**claims_of(match_token()), claim: value}
    token = jwt.PyJWS().encode(json.dumps(claims).encode(), KEY._key, algorithm="EdDSA")
    assert f"its claim '{claim}" in refusal(check_match, token)


def test_a_manager_token_for_somebody_else_s_calls_is_refused() -> None:
    claims = {**claims_of(manager_token()), "sub": "REF01"}
    token = jwt.PyJWS().encode(json.dumps(claims).encode(), KEY._key, algorithm="EdDSA")
    assert "it is for 'REF01', not for the league_manager" in refusal(check_manager, token)


def test_signed_text_that_holds_no_claims_is_refused() -> None:
    for said in (b"", b"[]", b"\xff", b"[" * 1000):
        refusal(check_match, jwt.PyJWS().encode(said, KEY._key, algorithm="EdDSA"))


def test_a_token_found_good_once_is_still_checked_for_time_and_match() -> None:
    verifier, token = TokenVerifier(KEY.public_jwk, LEAGUE), match_token()
    check_match(token, verifier)
    refusal(check_match, token, verifier, match_id="R1M2")
    refusal(check_match, token, verifier, referee_id="REF02")
    refusal(check_match, token, verifier, now=NOW + timedelta(hours=1))
    refusal(check_manager, token, verifier)
    check_match(token, verifier)


def test_the_signature_of_a_good_token_is_checked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    verifier, token, checked = TokenVerifier(KEY.public_jwk, LEAGUE), match_token(), []
    decode = tokens.SIGNATURES.decode

    def counted(*args: Any, **options: Any) -> Any:
        checked.append(args[0])
        return decode(*args, **options)

    monkeypatch.setattr(tokens.SIGNATURES, "decode", counted)
    for _ in range(3):
        check_match(token, verifier)
    forged = match_token(OTHER)
    for _ in range(2):
        refusal(check_match, forged, verifier)
    assert checked == [token, forged, forged]


def test_what_is_remembered_is_bounded_and_only_good_tokens_are() -> None:
    verifier = TokenVerifier(KEY.public_jwk, LEAGUE)
    for number in range(MAX_KEPT_TOKENS + 10):
        check_match(match_token(match_id=f"R1M{number}"), verifier, match_id=f"R1M{number}")
    refusal(check_match, match_token(OTHER), verifier)
    assert len(verifier._verified_claims) == MAX_KEPT_TOKENS
    check_match(match_token(), verifier)


def test_names_in_any_script_are_signed_as_they_are() -> None:
    token = match_token(league_id="ליגה", players=("Zoë", "P02"), audience=("Zoë",))
    check_match(token, TokenVerifier(KEY.public_jwk, "ליגה"), player_id="Zoë")
    assert token.isascii()


def test_a_saved_key_signs_as_before() -> None:
    again = SigningKey.load(KEY.private_jwk)
    assert again.public_jwk == KEY.public_jwk
    assert again.private_jwk == KEY.private_jwk
    check_match(match_token(again))


def test_the_public_key_is_a_jwk_without_the_private_part() -> None:
    assert set(KEY.public_jwk) == {"kty", "crv", "x"}
    assert (KEY.public_jwk["kty"], KEY.public_jwk["crv"]) == ("OKP", "Ed25519")
    assert json.loads(KEY.private_jwk)["d"] not in repr(KEY)


ED448 = Ed448PrivateKey.generate()


@pytest.mark.parametrize(
    "saved",
    [
        "",
        "not JSON",
        "[]",
        "null",
        "{}",
        "\ud800",
        "[" * 100_000,
        PUBLIC,
        json.dumps({**json.loads(KEY.private_jwk), "d": 7}),
        json.dumps({**json.loads(KEY.private_jwk), "d": "AAAA"}),
        json.dumps({**json.loads(KEY.private_jwk), "d": "é"}),
        json.dumps({**json.loads(KEY.private_jwk), "x": OTHER.public_jwk["x"]}),
        OKPAlgorithm.to_jwk(ED448),
    ],
    ids=lambda saved: f"{len(saved)} letters",
)
def test_a_saved_key_that_is_none_is_refused_without_showing_it(saved: str) -> None:
    with pytest.raises(ValueError, match="the saved signing key is not a private Ed25519 key") as refused:
        SigningKey.load(saved)
    assert json.loads(KEY.private_jwk)["d"] not in str(refused.value)


@pytest.mark.parametrize(
    "public_key",
    [
        {},
        {"kty": "OKP", "crv": "Ed25519"},
        {**KEY.public_jwk, "x": None},
        {**KEY.public_jwk, "x": ["A"]},
        {**KEY.public_jwk, "x": "AAAA"},
        {**KEY.public_jwk, "x": "é"},
        {**KEY.public_jwk, "x": "\ud800"},
        {**KEY.public_jwk, "kty": "RSA"},
        {**KEY.public_jwk, "crv": "Ed448"},
        {**KEY.public_jwk, "crv": []},
        {"kty": "oct", "k": "c2VjcmV0"},
        OKPAlgorithm.to_jwk(ED448.public_key(), as_dict=True),
    ],
)
def test_a_public_key_that_can_not_be_used_is_a_value_error(public_key: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="'public_key' must be a public Ed25519 key"):
        TokenVerifier(public_key, LEAGUE)


def test_more_fields_in_a_public_key_change_nothing() -> None:
    check_match(match_token(), TokenVerifier({**KEY.public_jwk, "kid": "1", "use": "sig", "alg": "HS256"}, LEAGUE))


def keyed_token(player_id: str = "P01", key: SigningKey = KEY, **other: Any) -> str:
    return match_token(key, audience=[player_id], match_key=key.derive_match_key(player_id), **other)


def keyed(player_id: str = "P01") -> TokenVerifier:
    return TokenVerifier(KEY.public_jwk, LEAGUE, KEY.derive_match_key(player_id))


def test_a_match_token_under_a_player_s_own_key_is_good_for_its_match_referee_and_player() -> None:
    check_match(keyed_token(), keyed())
    assert "not meant for" in refusal(
        check_match, keyed_token("P02"), TokenVerifier(KEY.public_jwk, LEAGUE, KEY.derive_match_key("P02"))
    )
    assert "it is for match" in refusal(check_match, keyed_token(), keyed(), match_id="R9M9")
    assert "it was given to" in refusal(check_match, keyed_token(), keyed(), referee_id="REF09")


def test_whoever_has_a_key_takes_signed_tokens_as_well() -> None:
    check_match(match_token(), keyed())
    check_manager(manager_token(), keyed())


def signed_with_nothing() -> str:
    said = keyed_token().rpartition(".")[0]
    signature = hmac.digest(b"", said.encode(), "sha256")
    return f"{said}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"


@pytest.mark.parametrize(
    "forged",
    [
        keyed_token(key=SigningKey.generate()),
        match_token(audience=["P01"], match_key=KEY.derive_match_key("P02")),
        match_token(audience=["P01"], match_key=KEY.public_jwk["x"]),
        signed_with_nothing(),
        keyed_token()[:-1],
        keyed_token() + "A",
        keyed_token().replace(".", ".e30.", 1),
    ],
    ids=["another manager", "another player", "the public key", "no key", "cut off", "longer", "four parts"],
)
def test_a_match_token_under_any_other_key_is_refused(forged: str) -> None:
    assert refusal(check_match, forged, keyed())


def test_who_has_no_key_of_its_own_takes_no_token_that_is_signed_with_one() -> None:
    assert "didn't sign it" in refusal(check_match, keyed_token())


def test_a_match_key_is_the_same_whenever_it_is_asked_for_and_another_one_for_everybody() -> None:
    again = SigningKey.load(KEY.private_jwk)
    assert again.derive_match_key("P01") == KEY.derive_match_key("P01")
    assert (
        len({KEY.derive_match_key("P01"), KEY.derive_match_key("P02"), SigningKey.generate().derive_match_key("P01")})
        == 3
    )


def test_a_match_key_vouches_for_no_call_of_the_manager() -> None:
    token = KEY._sign_claims("manager", LEAGUE, "league_manager", ["P01"], NOW, 600, {}, KEY.derive_match_key("P01"))
    assert "match tokens and no others" in refusal(check_manager, token, keyed())
    assert keyed().find_token_sender(token, agent_id="P01") is None


def test_an_empty_match_key_is_none() -> None:
    token = signed_with_nothing()
    assert "didn't sign it" in refusal(check_match, token, TokenVerifier(KEY.public_jwk, LEAGUE, ""))


def test_a_keyed_token_is_the_jwt_that_pyjwt_would_write() -> None:
    token, key = keyed_token(), KEY.derive_match_key("P01")
    header, payload, _ = token.split(".")
    claims = base64.urlsafe_b64decode(payload + "==")
    assert jwt.PyJWS().encode(claims, key, algorithm="HS256") == token
    assert jwt.PyJWS().decode(token, key, algorithms=["HS256"]) == claims
    otherwise = jwt.PyJWS().encode(claims, key, algorithm="HS256", headers={"kid": "1"})
    assert not otherwise.startswith(header)
    check_match(otherwise, keyed())


def test_a_keyed_token_altered_anywhere_is_refused() -> None:
    token, verifier = keyed_token(), keyed()
    for place, letter in enumerate(token):
        altered = token[:place] + ("A" if letter != "A" else "B") + token[place + 1 :]
        if token.rindex(".") + 1 + 42 != place:  # of its last letter only four bits count
            refusal(check_match, altered, verifier)
        refusal(check_match, token[:place] + token[place + 1 :], verifier)


def test_a_key_signs_no_token_of_the_manager_s() -> None:
    claims = {**claims_of(manager_token()), "use": "manager"}
    token = jwt.PyJWS().encode(json.dumps(claims).encode(), KEY.derive_match_key("P01"), algorithm="HS256")
    assert "a match key signs match tokens and no others" in refusal(check_manager, token, keyed())
