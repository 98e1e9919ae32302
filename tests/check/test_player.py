"""The check of a player: a good one passes everything, and each planted fault is found at its step and named."""

import pytest

from agent_league.check.check import normalise_agent_url
from agent_league.check.player import build_player_steps, judge_latency
from agent_league.check.reports import format_conclusion
from agent_league.check.steps import TOLERATED_HINT, CheckReport, StepVerdict, apply_strictness
from agent_league.model.agents import Role
from agent_league.protocol.tokens import SigningKey, TokenVerifier
from tests.check.faulty import faulty_player
from tests.check.judging import check_port, found
from tests.conftest import free_ports

ENVELOPE = ("protocol", "message_type", "sender", "timestamp", "conversation_id", "match_id", "player_id")
REPLIES = ("GAME_JOIN_ACK", "CHOOSE_PARITY_RESPONSE")
REFUSED = {"local time", "no time zone", "registers an mcp address", "registers as P01"}
"""The faults with which nobody is registered, however long the check waits for it."""


async def checked(
    *faults: str, strict: bool = False, registers: bool = True, timeout: float | None = None
) -> CheckReport:
    """The report on a player with these faults."""
    port = free_ports(2)
    with faulty_player(port, port + 1 if registers else None, *faults):
        wait = 0 if not registers else 10 if REFUSED.isdisjoint(faults) else 2
        return await check_port(port, port + 1, role=Role.PLAYER, strict=strict, timeout=timeout, wait_seconds=wait)


def test_a_player_is_judged_in_at_least_40_steps_with_names_of_their_own() -> None:
    names = [step.name for step in build_player_steps()]
    assert len(names) >= 40
    assert len(set(names)) == len(names)


async def test_a_good_player_passes_every_step_also_strictly() -> None:
    report = await checked(strict=True)
    assert found(report) == {}
    assert list(found(report, StepVerdict.SKIPPED)) == ["make_move is answered with a legal move"]
    assert report.dialect == "league.v2, in the protocol's own form"
    assert report.ok


PLANTED = {
    "wrong path": (["the path answers POST"], "/api answers"),
    "wrong method name": (["choose_parity is answered"], "`choose_parity`"),
    "wrong case": (["CHOOSE_PARITY_RESPONSE: parity_choice"], 'small letters and without blanks: "even"'),
    "a blank": (["CHOOSE_PARITY_RESPONSE: parity_choice"], 'small letters and without blanks: "even"'),
    "nonsense": (["CHOOSE_PARITY_RESPONSE: parity_choice"], '"parity_choice"'),
    "local time": (
        [
            "registers with the manager",
            "LEAGUE_REGISTER_REQUEST: timestamp",
            "GAME_JOIN_ACK: timestamp",
            "GAME_JOIN_ACK: arrival_timestamp",
            "CHOOSE_PARITY_RESPONSE: timestamp",
        ],
        "E021",
    ),
    "no time zone": (
        [
            "registers with the manager",
            "LEAGUE_REGISTER_REQUEST: timestamp",
            "GAME_JOIN_ACK: timestamp",
            "GAME_JOIN_ACK: arrival_timestamp",
            "CHOOSE_PARITY_RESPONSE: timestamp",
        ],
        "E021",
    ),
    "lost id": (["an integer id comes back"], ""),
    "accept is a string": (["GAME_JOIN_ACK: accept is a boolean"], '"accept": true'),
    "registers an mcp address": (
        ["registers with the manager", "LEAGUE_REGISTER_REQUEST: player_meta.contact_endpoint"],
        "http",
    ),
    "registers as P01": (
        ["registers with the manager"],
        "Duplicate display name ('P01' is the form of an id",
    ),
    "dies on GAME_OVER": (["GAME_OVER after a win is acknowledged"], "notify_match_result"),
    "declines": (["GAME_JOIN_ACK: the invitation is accepted"], "loses the match technically"),
    "no fields but the seeds'": (["handle_game_invitation is answered"], "unknown fields"),
    "broken after malformed": (["still answers after a body that is not JSON"], "a body that is not JSON"),
}


@pytest.mark.parametrize("fault", PLANTED)
async def test_a_planted_fault_is_found_at_its_step_and_named(fault: str) -> None:
    steps, word = PLANTED[fault]
    report = await checked(fault)
    failures = found(report)
    assert list(failures) == steps
    assert all(word in said for said in failures.values()), failures
    assert not report.ok


TOLERATED_FAULTS = {
    "lost conversation id": (
        [
            "GAME_JOIN_ACK: conversation_id",
            "CHOOSE_PARITY_RESPONSE: conversation_id",
            "three conversation ids come back, each with its answer",
            "unusual conversation ids come back",
        ],
        '"conversation_id"',
    ),
    "crash on GAME_OVER": (
        [f"GAME_OVER after {how} is acknowledged" for how in ("a win", "a loss", "a draw", "a technical loss")],
        "notify_match_result",
    ),
    "breaks off on GAME_OVER": (
        [f"GAME_OVER after {how} is acknowledged" for how in ("a win", "a loss", "a draw", "a technical loss")],
        "Your handler of `notify_match_result` broke off: look at your own console",
    ),
    "HTML on GAME_OVER": (
        [f"GAME_OVER after {how} is acknowledged" for how in ("a win", "a loss", "a draw", "a technical loss")],
        "You answer with HTML, not JSON: catch your error and answer with JSON.",
    ),
    "crash on technical loss": (["GAME_OVER after a technical loss is acknowledged"], "drawn_number"),
    "unknown method answered": (["an unknown method is refused with -32601"], "-32601"),
    "no jsonrpc": (['the reply says "jsonrpc": "2.0"'], '"jsonrpc": "2.0"'),
    "an error beside the result": (["the reply has a result or an error, not both"], "leave the other one out"),
    "500 to the unknown": (["an unknown method is refused with -32601"], "catch this case"),
}


@pytest.mark.parametrize("fault", TOLERATED_FAULTS)
async def test_a_fault_that_costs_nothing_in_a_league_is_a_warning_at_its_step_and_strictly_a_failure(
    fault: str,
) -> None:
    steps, word = TOLERATED_FAULTS[fault]
    report = await checked(fault)
    assert found(report) == {}
    warnings = found(report, StepVerdict.WARNING)
    assert set(steps) <= set(warnings)
    assert all(word in warnings[step] and TOLERATED_HINT in warnings[step] for step in steps), warnings
    assert report.ok
    assert set(steps) <= set(found(apply_strictness(report), StepVerdict.FAIL))


READ_ALL_THE_SAME = {
    "no": ENVELOPE,
    "number": (),
    "other": ("sender", "conversation_id", "match_id", "player_id"),
}
"""What a referee of ours reads all the same: a field that is missing, is a number, or says something else."""


@pytest.mark.parametrize("reply", REPLIES)
@pytest.mark.parametrize("what", READ_ALL_THE_SAME)
async def test_a_field_of_a_reply_that_is_missing_or_of_another_type_or_value_is_named(what: str, reply: str) -> None:
    names = [name for name in ENVELOPE if (what, name) != ("other", "timestamp")]
    report = await checked(*(f"{what} {name} in {reply}" for name in names))
    failures, warnings = found(report), found(report, StepVerdict.WARNING)
    for name in names:
        judged = warnings if name in READ_ALL_THE_SAME[what] else failures
        assert f"'{name}' is" in judged[f"{reply}: {name}"]
        assert (TOLERATED_HINT in judged[f"{reply}: {name}"]) is (judged is warnings)
        assert ("A league refuses it: " in judged[f"{reply}: {name}"]) is (judged is failures)
    assert set(failures) <= {f"{reply}: {name}" for name in names}


async def test_a_missing_field_is_the_only_step_with_a_warning() -> None:
    report = await checked("no sender in CHOOSE_PARITY_RESPONSE")
    assert found(report) == {}
    assert list(found(report, StepVerdict.WARNING)) == ["CHOOSE_PARITY_RESPONSE: sender"]
    assert "'sender' is missing" in found(report, StepVerdict.WARNING)["CHOOSE_PARITY_RESPONSE: sender"]


async def test_a_field_of_the_wrong_type_that_has_no_step_of_its_own_is_found_too() -> None:
    report = await checked("number league_id in GAME_JOIN_ACK")
    (failure,) = found(report).items()
    assert failure[0] == "GAME_JOIN_ACK: the names of its fields"
    assert "'league_id'" in failure[1]


async def test_an_address_of_another_port_in_the_registration_is_a_failure_that_names_the_real_one() -> None:
    port = free_ports(2)
    with faulty_player(port, port + 1, "registers another port"):
        report = await check_port(port, port + 1, wait_seconds=1)
    failures = found(report)
    assert list(failures) == ["LEAGUE_REGISTER_REQUEST: player_meta.contact_endpoint"]
    assert f"put http://localhost:{port}/mcp there" in failures["LEAGUE_REGISTER_REQUEST: player_meta.contact_endpoint"]


@pytest.mark.parametrize("role", [Role.PLAYER, Role.REFEREE])
async def test_an_agent_of_another_league_is_told_so_once_and_accused_of_nothing(role: Role) -> None:
    port = free_ports(2)
    with faulty_player(port, None) as player:
        player.verifier = TokenVerifier(SigningKey.generate().public_jwk, "another_league")
        report = await check_port(port, port + 1, role=role)
    assert found(report) == {}
    assert report.exit_code == 2
    assert "belongs to another manager's league; stop that one" in format_conclusion(report)
    assert f"--manager http://localhost:{port + 1}/mcp" in format_conclusion(report)
    assert all("another manager's league" in step for step in found(report, StepVerdict.SKIPPED).values())
    assert report.count_verdict(StepVerdict.PASS) == 5


async def test_an_agent_that_speaks_plain_http_is_not_to_be_checked_over_https() -> None:
    port = free_ports(2)
    with faulty_player(port, None):
        report = await check_port(port, port + 1, scheme="https")
    assert list(found(report)) == ["a server listens at the address"]
    assert report.outcomes[0].hint == f"It speaks http: check http://localhost:{port}/mcp instead."


@pytest.mark.parametrize(
    ("typed", "address"),
    [
        ("localhost:8101", "http://localhost:8101/mcp"),
        ("http://localhost:8101", "http://localhost:8101/mcp"),
        ("http://localhost:8101/", "http://localhost:8101/"),
        ("https://localhost:8101/api", "https://localhost:8101/api"),
    ],
)
def test_only_a_path_that_was_not_named_is_filled_in(typed: str, address: str) -> None:
    assert normalise_agent_url(typed) == address


async def test_a_player_could_not_be_judged_as_a_referee() -> None:
    port = free_ports(2)
    with faulty_player(port, None):
        report = await check_port(port, port + 1, role=Role.REFEREE)
    assert found(report) == {}
    assert report.exit_code == 1
    assert "could not be judged as a referee: no match was played" in format_conclusion(report)
    assert f"--manager http://localhost:{port + 1}/mcp" in format_conclusion(report)


async def test_where_nobody_listens_the_first_step_says_so_and_the_others_are_skipped() -> None:
    port = free_ports(2)
    report = await check_port(port, port + 1)
    failures = found(report)
    assert list(failures) == ["a server listens at the address"]
    assert "nobody listens there" in failures["a server listens at the address"]
    assert report.count_verdict(StepVerdict.SKIPPED) == len(report.outcomes) - 1
    assert report.unjudged == "it answered neither an invitation nor a question"


async def test_an_answer_over_the_limit_is_too_slow_and_what_hangs_on_it_is_skipped() -> None:
    report = await checked("too slow", timeout=1)
    failures = found(report)
    assert list(failures) == ["choose_parity is answered"]
    assert "Too slow" in failures["choose_parity is answered"]


@pytest.mark.parametrize(
    ("seconds", "verdict"),
    [(0.1, StepVerdict.PASS), (2.4, StepVerdict.PASS), (2.6, StepVerdict.WARNING), (5.1, StepVerdict.FAIL)],
)
def test_an_answer_is_measured_against_its_limit(seconds: float, verdict: StepVerdict) -> None:
    assert judge_latency(seconds, 5).verdict is verdict


TOKENS = [
    "a wrong token is refused",
    "a token of another match is refused",
    "a stranger in the manager's name is refused",
]


async def test_a_wrong_token_that_is_accepted_is_a_warning_and_strictly_a_failure() -> None:
    tolerant = await checked("wrong token accepted")
    strict = apply_strictness(tolerant)
    assert list(found(tolerant, StepVerdict.WARNING)) == TOKENS
    assert "auth_token" in found(tolerant, StepVerdict.WARNING)[TOKENS[0]]
    assert tolerant.ok
    assert list(found(strict, StepVerdict.FAIL)) == TOKENS
    assert not strict.ok


async def test_a_player_that_never_registered_is_checked_without_what_hangs_on_it() -> None:
    report = await checked(registers=False)
    assert found(report) == {}
    skipped = found(report, StepVerdict.SKIPPED)
    assert "registration not seen within 0 s" in skipped["registers with the manager"]
    assert set(TOKENS) <= set(skipped)


WARNED = {
    "registers without version": "LEAGUE_REGISTER_REQUEST: player_meta.version",
    "registers a colour by name": "LEAGUE_REGISTER_REQUEST: player_meta.color and avatar",
    "wants a role": "the shortest invitation is enough",
    "registers without sender": "LEAGUE_REGISTER_REQUEST: sender",
    "no health": "GET /health answers",
    "breaks off on a batch": "a batch is answered as a batch",
    "changes its mind": "the same question gets the same answer",
    "no auth_token in GAME_JOIN_ACK": "GAME_JOIN_ACK: auth_token",
    "no arrival_timestamp in GAME_JOIN_ACK": "GAME_JOIN_ACK: arrival_timestamp",
}


@pytest.mark.parametrize("fault", WARNED)
async def test_what_the_seeds_leave_open_is_a_warning(fault: str) -> None:
    report = await checked(fault)
    assert found(report) == {}
    assert list(found(report, StepVerdict.WARNING)) == [WARNED[fault]]


async def test_a_player_that_takes_any_game_need_not_know_even_odd_by_its_own_words() -> None:
    report = await checked("takes any game")
    assert found(report) == found(report, StepVerdict.WARNING) == {}
    skipped = found(report, StepVerdict.SKIPPED)
    assert "asked with `make_move`" in skipped["choose_parity is answered"]
    passed = found(report, StepVerdict.PASS)
    assert "listed moves, and those of a schema" in passed["make_move is answered with a legal move"]


async def test_a_player_of_any_game_that_wants_a_list_is_warned() -> None:
    report = await checked("takes any game", "wants a list")
    assert found(report) == {}
    (warning,) = found(report, StepVerdict.WARNING).items()
    assert warning[0] == "make_move is answered with a legal move"
    assert "where the moves are told by a schema" in warning[1]
    assert "`move_schema`" in warning[1]


async def test_a_player_of_another_game_is_judged_in_that_game() -> None:
    report = await checked("takes tic_tac_toe", strict=True)
    assert found(report) == found(report, StepVerdict.SKIPPED) == {}
    assert found(report, StepVerdict.PASS)["GAME_MOVE_RESPONSE: move_data"] == "0 | "
    assert not [step.name for step in report.outcomes if "parity" in step.name.lower()]
    assert report.ok


async def test_a_wrong_move_in_another_game_is_found_and_named() -> None:
    report = await checked("takes tic_tac_toe", "moves by letters")
    assert list(found(report)) == ["GAME_MOVE_RESPONSE: move_data"]
    assert "'move_data' is \"A1\", asked for" in found(report)["GAME_MOVE_RESPONSE: move_data"]


async def test_a_player_of_a_game_that_is_not_here_is_told_so_and_not_judged_in_it() -> None:
    report = await checked("takes a game of its own")
    assert found(report) == {}
    why = "no game 'a_game_of_its_own' is installed"
    assert why in found(report, StepVerdict.PASS)["LEAGUE_REGISTER_REQUEST: player_meta.game_types"]
    assert why in found(report, StepVerdict.SKIPPED)["make_move is answered"]
    assert why in format_conclusion(report)
    assert "GAME_JOIN_ACK: accept is a boolean" in found(report, StepVerdict.PASS)
    assert not report.ok


async def test_a_clock_that_is_far_off_is_a_warning_at_every_message() -> None:
    report = await checked("yesterday")
    assert found(report) == {}
    assert all(step.endswith("timestamp is about now") for step in found(report, StepVerdict.WARNING))
    assert len(found(report, StepVerdict.WARNING)) == 3


async def test_a_token_of_somebody_else_in_an_answer_is_a_warning() -> None:
    report = await checked("other auth_token in GAME_JOIN_ACK")
    assert found(report) == {}
    assert list(found(report, StepVerdict.WARNING)) == ["GAME_JOIN_ACK: auth_token"]
    said = found(report, StepVerdict.WARNING)["GAME_JOIN_ACK: auth_token"]
    assert "something-else" not in said
    assert "'auth_token' is one that nobody was given" in said


TOKEN_KINDS = {
    "an empty token": "'auth_token' is empty",
    "the referee's token": "'auth_token' is the referee's: the one that came with the question",
    "another's token": "'auth_token' is another agent's",
}


@pytest.mark.parametrize("fault", TOKEN_KINDS)
async def test_it_is_told_which_kind_of_token_came(fault: str) -> None:
    report = await checked(fault)
    for kind in REPLIES:
        assert TOKEN_KINDS[fault] in found(report, StepVerdict.WARNING)[f"{kind}: auth_token"]


async def test_a_player_that_wants_an_invitation_first_gets_one_before_every_question() -> None:
    assert found(await checked("plays only where it is invited"), StepVerdict.FAIL) == {}


async def test_the_agent_s_own_error_is_quoted_before_anything_is_guessed() -> None:
    report = await checked("complains of the invitation", timeout=1)
    said = found(report)["handle_game_invitation is answered"]
    assert "The agent itself says: no table is free" in said


async def test_steps_that_compare_with_a_good_call_are_skipped_where_there_never_was_one() -> None:
    report = await checked("complains of the invitation", "complains of the question", timeout=1)
    skipped = found(report, StepVerdict.SKIPPED)
    for step in ('the reply says "jsonrpc": "2.0"', "an integer id comes back", "still answers after an empty body"):
        assert "answered no good call" in skipped[step]


async def test_where_nobody_listens_it_is_told_who_called() -> None:
    port = free_ports(3)
    with faulty_player(port, port + 1):
        report = await check_port(port + 2, port + 1, wait_seconds=1)
    (failure,) = found(report).values()
    assert f"An agent registered here and gave the address http://localhost:{port}/mcp" in failure
    assert report.exit_code == 2


async def test_where_nobody_listens_it_is_told_what_was_refused() -> None:
    port = free_ports(3)
    with faulty_player(port, port + 1, "registers as P01"):
        report = await check_port(port + 2, port + 1, wait_seconds=1)
    (failure,) = found(report).values()
    assert "tried to register here and was refused: Duplicate display name" in failure
