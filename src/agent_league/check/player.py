"""The steps for a player: the checker plays its referee and its manager."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any

from agent_league.check.fields import HINTS, envelope_steps, judge_timestamp, judge_value, look_up, name_hint, on
from agent_league.check.frames import json_rpc_steps, no_json, server_steps
from agent_league.check.hostile_input import hostile_steps, survival_step
from agent_league.check.http_probe import quoted, show
from agent_league.check.notices import (
    ACKNOWLEDGED,
    RESULT,
    SHUT_OUT,
    handler_of,
    league_completed,
    notice,
    notice_step,
    round_completed,
    standings_update,
    tell,
    why_refused,
)
from agent_league.check.player_subject import JOIN, REPLY_TYPES, Match, PlayerBench, games_named
from agent_league.check.questions import CHOICES, CHOOSE, EVEN_ODD, MOVE, PARITY, Question
from agent_league.check.registration import registration_steps
from agent_league.check.steps import (
    AnyStep,
    Finding,
    NoReply,
    Skip,
    Step,
    Verdict,
    failed,
    judge_like_league,
    passed,
    tolerate,
    tolerate_all,
    warned,
)
from agent_league.check.subject import Exchange
from agent_league.games.base import allows
from agent_league.protocol import v2
from agent_league.protocol.envelope import Sender
from agent_league.referee.answers import unwrap_move

ANNOUNCED = 100
"""Matches of the round; more than a check needs."""
MANY_MOVES: dict[str, Any] = {"type": "integer", "minimum": 1, "maximum": 1_000_000}
REPEATS = 8
"""How often a question is repeated: often enough that a random choice would differ at least once."""
UNWRAPPED = 'Put the move itself into "move_data", without an object around it: not every league unwraps it.'
NO_MOVES = "the player doesn't serve `make_move`, which only games other than Even/Odd need"
STRANGE_IDS = ("conv ü/ö?&=% 你好", "CONV-" + "x" * 200, "0", "conv-r1m1-001 ")
"""Unusual conversation ids that are valid strings."""


def player_steps(question: Question = PARITY) -> list[AnyStep]:
    """Build all steps in order; LEAGUE_COMPLETED comes last, because a player may exit then."""
    method = question.method
    return [
        *server_steps(),
        *registration_steps("player"),
        *_round_steps(),
        *_question_steps(JOIN, "handle_game_invitation", PlayerBench.league_invitation),
        *_join_steps(),
        *_question_steps(method, method, PlayerBench.league_call),
        *(_choice_steps() if method == CHOOSE else _move_steps()),
        *json_rpc_steps(),
        *_conversation_steps(),
        *_lenience_steps(),
        *_result_steps(),
        *_several_steps(REPLY_TYPES[method]),
        *_token_steps(),
        *hostile_steps(),
        *_end_steps(),
    ]


def _question_steps(method: str, step: str, write: Callable[[PlayerBench, Match], Mapping[str, Any]]) -> list[AnyStep]:
    """Build the steps on a question: whether it is answered, and the answer's frame, envelope, ids and latency."""
    kind = REPLY_TYPES[method]

    def reply(bench: PlayerBench) -> Mapping[str, Any]:
        return _reply(bench, method).answer or {}

    async def asks(bench: PlayerBench) -> Finding:
        if method == MOVE and bench.question.missing:
            raise Skip(bench.question.missing)
        match = bench.new_match()
        if method != JOIN and JOIN in bench.styles:
            await bench.asked(JOIN, bench.invitation(match), match)
            bench.sent = bench.sent[:0]
        with handler_of(method):
            exchange = bench.keep(method, await bench.learn(method, write(bench, match), kind, bench.pass_for(match)))
        if method == CHOOSE and exchange.answer is None and _games(bench) and EVEN_ODD not in _games(bench):
            raise Skip("the player doesn't name even_odd, so that it is asked with `make_move`")
        if method == JOIN:
            _take_name(bench, exchange)
        return _judge_understood(bench, exchange, kind)

    async def stands(bench: PlayerBench) -> Finding:
        place = _reply(bench, method).place
        right = place in bench.styles[method].answers
        return passed(place) if right else tolerate(warned(f"it is in {place}"))

    async def names(bench: PlayerBench) -> Finding:
        noted = _reply(bench, method).noted
        if problem := bench.find_problem(method):
            return failed(f"a league refuses it: {problem}")
        return tolerate(warned(", ".join(noted), name_hint(noted))) if noted else passed()

    async def takes(bench: PlayerBench) -> Finding:
        return judge_latency(_reply(bench, method).reply.seconds, bench.limit(method))

    def field(name: str, expected: str, judge: Callable[[Any, Mapping[str, Any]], Finding]) -> AnyStep:
        return _read_by_league(method, Step(f"{kind}: {name}", expected, HINTS[name], on(reply, judge)))

    envelope = envelope_steps(kind, reply, "player", lambda bench: bench.agent_id if bench.registration else None)
    return [
        Step(
            f"{step} is answered",
            f"a {kind}",
            f"Serve the method `{method}` and answer it with a {kind}.",
            asks,
        ),
        Step(
            f"{kind}: it is the result",
            f"the {kind} itself as `result` of the JSON-RPC reply",
            f'Return {{"jsonrpc": "2.0", "result": {{"message_type": "{kind}", ...}}, "id": ...}}, without anything '
            "around it.",
            stands,
        ),
        Step(f"{kind}: the names of its fields", "the protocol's names", f"Use the protocol's names in {kind}.", names),
        *(_read_by_league(method, one) for one in envelope),
        *(field(name, "the one of the question", _as_asked(method, name)) for name in ("conversation_id", "match_id")),
        field("player_id", "the id that the player was given", _judge_player_id),
        field("auth_token", "the token from the player's own registration", _judge_token),
        Step(
            f"{kind}: in time",
            "less than half of the limit",
            f"Answer {method} faster: over the limit the match is lost. Decide before you are asked, or cut long "
            "thinking off.",
            takes,
        ),
    ]


def _read_by_league(method: str, step: AnyStep) -> AnyStep:
    """Make a step on a field of an answer fail only if a referee of ours refuses such an answer."""
    name = step.name.partition(": ")[2].partition(" ")[0]
    return judge_like_league(step, lambda bench: bench.find_problem(method, name))


def _reply(bench: PlayerBench, method: str) -> Exchange:
    return bench.need(method, REPLY_TYPES[method])


def _take_name(bench: PlayerBench, exchange: Exchange) -> None:
    """Take over the id in the answer of a player that has not registered with the checker."""
    if bench.registration or exchange.answer is None:
        return
    sender = Sender.parse(str(exchange.answer.get("sender")))
    claimed = exchange.answer.get("player_id") or (sender.agent_id if sender else None)
    bench.agent_id = claimed if isinstance(claimed, str) else bench.agent_id


def _judge_understood(bench: PlayerBench, exchange: Exchange, kind: str) -> Finding:
    method = exchange.method
    if exchange.answer is not None:
        style = bench.styles[method]
        if style.name == "seeds":
            return passed(f"a {kind}")
        said = style.says.replace("`", "")
        return warned(
            f"a {kind}, but only when asked in another form: {said}",
            f"Serve the method `{method}` with the message as `params`; not every league knows this form ({said}).",
        )
    if exchange.league_error is not None:
        return failed(exchange.came, why_refused(bench, exchange), ends=exchange.league_code in SHUT_OUT)
    if exchange.unknown_method:
        return failed(
            exchange.came,
            f"{exchange.own_words}The agent doesn't know the method `{method}`, nor another usual name of it: name it "
            f"exactly `{method}`.",
        )
    return failed(exchange.came, no_json(exchange) or exchange.own_words.rstrip())


def judge_latency(seconds: float, limit: float) -> Finding:
    """Judge the seconds an answer took against its limit; more than half is a warning."""
    said = f"{seconds:.2f} s of {limit:g} s"
    if seconds > limit:
        return failed(f"too slow: {said}")
    return warned(f"slow: {said}") if seconds > limit / 2 else passed(said)


def _as_asked(method: str, name: str) -> Callable[[Any, Mapping[str, Any]], Finding]:
    return lambda bench, answer: judge_value(answer, name, bench.kept[method].message[name])


def _judge_player_id(bench: PlayerBench, answer: Mapping[str, Any]) -> Finding:
    found = judge_value(answer, "player_id", bench.agent_id)
    own = bench.own_name is not None and answer.get("player_id") == bench.own_name
    return warned(found.came) if own and found.verdict is Verdict.FAIL else found


def _judge_token(bench: PlayerBench, answer: Mapping[str, Any]) -> Finding:
    found = answer.get("auth_token")
    if bench.token is not None:
        judged = judge_value(answer, "auth_token", bench.token, Verdict.WARNING)
        if judged.verdict is Verdict.PASS or not isinstance(found, str):
            return judged
        return replace(judged, came=f"'auth_token' is {_kind_of_token(bench, found)}")
    if isinstance(found, str) and found:
        return passed("a token; whether it is the right one can't be told without a registration")
    return warned("'auth_token' is missing")


def _kind_of_token(bench: PlayerBench, token: str) -> str:
    """Describe the token that came in place of the player's own."""
    if not token.strip():
        return "empty"
    if token in bench.match_tokens:
        return "the referee's: the one that came with the question"
    owner = bench.manager.token_owners.get(token) if bench.manager else None
    if owner == bench.agent_id:
        return "one of an earlier registration of its own"
    if owner or (token.startswith("tok-") and not token.startswith(f"tok-{bench.agent_id.lower()}-")):
        return "another agent's"
    return "one that nobody was given"


def _join_steps() -> list[AnyStep]:
    kind = REPLY_TYPES[JOIN]

    def reply(bench: PlayerBench) -> Mapping[str, Any]:
        return _reply(bench, JOIN).answer or {}

    def accepts(_: PlayerBench, answer: Mapping[str, Any]) -> Finding:
        if not isinstance(answer.get("accept"), bool):
            raise Skip("'accept' is no boolean")
        return passed("true") if answer["accept"] else failed("'accept' is false")

    def is_boolean(_: PlayerBench, answer: Mapping[str, Any]) -> Finding:
        found = look_up(answer, "accept")
        return passed(str(found).lower()) if isinstance(found, bool) else judge_value(answer, "accept", True)

    return [
        Step(
            f"{kind}: accept is a boolean",
            "true or false",
            'Put "accept": true into GAME_JOIN_ACK, as a JSON boolean: not "true", "yes" or 1.',
            on(reply, is_boolean),
        ),
        Step(
            f"{kind}: the invitation is accepted",
            "true",
            "A player that declines loses the match technically: accept every invitation to a game you registered for.",
            on(reply, accepts),
        ),
        _read_by_league(
            JOIN,
            Step(
                f"{kind}: arrival_timestamp",
                "UTC, such as 2025-01-15T10:30:00Z",
                'Put "arrival_timestamp" into GAME_JOIN_ACK: the time at which the invitation arrived, in UTC.',
                on(reply, lambda _, answer: judge_timestamp(answer, "arrival_timestamp", Verdict.WARNING)),
            ),
        ),
    ]


def _choice_steps() -> list[AnyStep]:
    kind = REPLY_TYPES[CHOOSE]

    def reply(bench: PlayerBench) -> Mapping[str, Any]:
        return _reply(bench, CHOOSE).answer or {}

    return [
        Step(
            f"{kind}: parity_choice",
            '"even" or "odd", in small letters',
            'Put "parity_choice" into the answer: exactly "even" or "odd", in small letters and without blanks. '
            "Anything else is refused with E004, and the match is lost after three tries.",
            on(reply, lambda _, answer: _judge_choice(answer)),
        ),
        _again_step("parity_choice"),
        Step(
            "make_move is answered with a legal move",
            'a GAME_MOVE_RESPONSE with one of valid_options in "move_data"',
            'Answer `make_move` with "move_data": one of "valid_options" of "move_request", unchanged.',
            _moves,
        ),
    ]


def _move_steps() -> list[AnyStep]:
    kind = REPLY_TYPES[MOVE]

    def reply(bench: PlayerBench) -> Mapping[str, Any]:
        return _reply(bench, MOVE).answer or {}

    return [
        Step(
            f"{kind}: move_data",
            "one of valid_options, or what move_schema allows",
            'Answer `make_move` with "move_data": one of "valid_options" of "move_request", unchanged. Anything else '
            "is refused, and the match is lost after three tries.",
            on(reply, _judge_move),
        ),
        _again_step("move_data"),
    ]


def _judge_move(bench: PlayerBench, answer: Mapping[str, Any]) -> Finding:
    if "move_data" not in answer:
        return failed("'move_data' is missing")
    move = answer["move_data"]
    if allows(bench.question.legal, move):
        return passed(show(move, 40))
    if unwrap_move(move, lambda one: allows(bench.question.legal, one))[1]:
        return warned(f"'move_data' is {quoted(move, 80)}", UNWRAPPED)
    return failed(f"'move_data' is {quoted(move, 80)}, asked for {show(bench.question.move_request, 200)}")


def _again_step(name: str) -> AnyStep:
    return Step(
        "the same question gets the same answer",
        f"the same {name} when the question is repeated",
        "A referee may ask again when an answer was lost: remember your choice by match_id (and step) and give the "
        "same one.",
        lambda bench: _asked_again(bench, name),
    )


def _judge_choice(answer: Mapping[str, Any]) -> Finding:
    found = judge_value(answer, "parity_choice", "even")
    choice = answer.get("parity_choice")
    if choice in CHOICES:
        return passed(str(choice))
    if isinstance(choice, str) and choice.strip().lower() in CHOICES:
        return failed(
            f"'parity_choice' is {quoted(choice)}",
            f"Write 'parity_choice' in small letters and without blanks: \"{choice.strip().lower()}\". No league "
            "tolerates another case: it is refused with E004.",
        )
    return found


async def _asked_again(bench: PlayerBench, name: str) -> Finding:
    method = bench.question.method
    first = _reply(bench, method)
    match = Match(str(first.message["match_id"]), str(first.message["conversation_id"]))
    before = (first.answer or {}).get(name)
    for _ in range(REPEATS):
        again = await bench.asked(method, first.message, match)
        if again.answer is None:
            return failed(again.came, "A repeated question must be answered like the first one.")
        now = again.answer.get(name)
        if now != before:
            return warned(f"first {show(before, 40)}, then {show(now, 40)}")
    return passed(f"{show(before, 40)}, each of {REPEATS} more times")


async def _moves(bench: PlayerBench) -> Finding:
    match = bench.new_match()
    await bench.asked(JOIN, bench.invitation(match), match)
    try:
        exchange = await bench.learn(MOVE, bench.move_call(match), REPLY_TYPES[MOVE], bench.pass_for(match))
    except NoReply:
        if _other_games(bench):
            raise
        raise Skip(NO_MOVES) from None
    is_needed = _other_games(bench)
    if exchange.answer is None and not is_needed:
        raise Skip(NO_MOVES)
    if exchange.answer is None:
        return failed(exchange.came, exchange.own_words.rstrip())
    said = exchange.answer.get("move_data")
    move, unwrapped = unwrap_move(said, lambda one: one in CHOICES)
    if unwrapped:
        return warned(f"'move_data' is {show(said, 80)}", UNWRAPPED)
    if move not in CHOICES:
        came = f"'move_data' is {show(move, 80)}"
        return failed(came) if is_needed else warned(f"{came}; {NO_MOVES}")
    return await _moves_by_schema(bench) if is_needed else passed(show(move, 40))


async def _moves_by_schema(bench: PlayerBench) -> Finding:
    """Judge the move of a player of other games when `move_schema` stands in place of listed moves."""
    match = bench.new_match()
    await bench.asked(JOIN, bench.invitation(match), match)
    exchange = await bench.asked(MOVE, bench.move_call(match, move_schema=MANY_MOVES), match)
    move = (exchange.answer or {}).get("move_data")
    if type(move) is int and MANY_MOVES["minimum"] <= move <= MANY_MOVES["maximum"]:
        return passed("listed moves, and those of a schema")
    came = exchange.came if exchange.answer is None else f"'move_data' is {show(move, 80)}"
    return warned(
        f"{came}, where the moves are told by a schema",
        "Where the moves are too many to be listed, `move_request` has a JSON Schema, `move_schema`, in place of "
        "`valid_options`: answer with a number from its `minimum` to its `maximum`.",
    )


def _other_games(bench: PlayerBench) -> bool:
    """Whether the player names other games than Even/Odd."""
    return any(game != EVEN_ODD for game in _games(bench))


def _games(bench: PlayerBench) -> list[str]:
    """List the games that the player named when it registered; empty if it has not."""
    return games_named(bench.registration)


def _conversation_steps() -> list[AnyStep]:
    def echo(title: str, ids: tuple[str, ...]) -> AnyStep:
        async def judge(bench: PlayerBench) -> Finding:
            _reply(bench, JOIN)
            bench.sent = []
            for conversation_id in ids:
                match = bench.new_match(conversation_id)
                exchange = await bench.asked(JOIN, bench.invitation(match), match)
                asked = f"asked with {quoted(conversation_id, 120)}"
                if exchange.answer is None:
                    return failed(f"{asked}: {exchange.came}")
                found = judge_value(exchange.answer, "conversation_id", conversation_id)
                if found.verdict is not Verdict.PASS:
                    return tolerate(failed(f"{asked}: {found.came}"))
            return passed(f"all {len(ids)}")

        is_league_like = ids is not STRANGE_IDS
        judged = judge if is_league_like else tolerate_all(judge)
        return Step(title, "each comes back as it was sent", HINTS["conversation_id"], judged)

    return [
        echo("three conversation ids come back, each with its answer", ("conv-a-001", "conv-b-002", "conv-c-003")),
        echo("unusual conversation ids come back", STRANGE_IDS),
    ]


def _lenience_steps() -> list[AnyStep]:
    return [
        Step(
            "unknown fields are ignored",
            "a GAME_JOIN_ACK",
            "Ignore fields that you don't know: leagues add their own, and later versions of the protocol will.",
            _joins(lambda bench, match: {**bench.invitation(match), "weather": {"sunny": [True, None]}, "x-9": 1.5}),
        ),
        Step(
            "the shortest invitation is enough",
            "a GAME_JOIN_ACK",
            "Only the envelope and match_id are sure to come: don't demand game_type, role_in_match or opponent_id.",
            _joins(_shortest),
        ),
        Step(
            "a timestamp with fractions and +00:00 is accepted",
            "a GAME_JOIN_ACK",
            "Read timestamps as ISO-8601 in UTC: Z and +00:00 mean the same, and seconds may have fractions.",
            _joins(_other_timestamp),
        ),
    ]


def _shortest(bench: PlayerBench, match: Match) -> Mapping[str, Any]:
    extras = ("game_type", "role_in_match", "opponent_id")
    return {name: value for name, value in bench.invitation(match).items() if name not in extras}


def _other_timestamp(bench: PlayerBench, match: Match) -> Mapping[str, Any]:
    invitation = bench.invitation(match)
    return {**invitation, "timestamp": invitation["timestamp"].replace("Z", ".250+00:00")}


def _joins(write: Callable[[PlayerBench, Match], Mapping[str, Any]]) -> Callable[[Any], Awaitable[Finding]]:
    """Make a judge on an unusual invitation; a refusal is only a warning, because our league never sends such."""

    async def judge(bench: PlayerBench) -> Finding:
        _reply(bench, JOIN)
        bench.sent = []
        match = bench.new_match()
        exchange = await bench.asked(JOIN, write(bench, match), match)
        return passed("a GAME_JOIN_ACK") if exchange.answer is not None else failed(exchange.came)

    return tolerate_all(judge)


def _round_steps() -> list[AnyStep]:
    return [notice_step("ROUND_ANNOUNCEMENT", "notify_round", _announcement)]


def _announcement(bench: PlayerBench) -> Mapping[str, Any]:
    matches = [
        {
            "match_id": f"R9M{number}",
            "game_type": bench.question.game_type,
            "player_A_id": bench.agent_id,
            "player_B_id": bench.opponent,
            "referee_endpoint": bench.referee_endpoint,
        }
        for number in range(1, ANNOUNCED + 1)
    ]
    return notice(bench, v2.RoundAnnouncement, "conv-round-9-announce", round_id=9, matches=matches)


def _standings(bench: PlayerBench) -> Mapping[str, Any]:
    return standings_update(bench, bench.agent_id, bench.opponent)


def _result_steps() -> list[AnyStep]:
    return [
        _error_step(),
        survival_step("GAME_ERROR"),
        *(_game_over_step(title) for title in ("a win", "a loss", "a draw", "a technical loss")),
        survival_step("GAME_OVER"),
        notice_step("LEAGUE_STANDINGS_UPDATE", "update_standings", _standings),
        notice_step("ROUND_COMPLETED", "notify_round_completed", round_completed),
    ]


def _ended(bench: PlayerBench, title: str, choice: str) -> dict[str, Any]:
    """Make a game result that agrees with the player's choice."""
    return _ended_by_parity(bench, title, choice) if bench.question.method == CHOOSE else _ended_plainly(bench, title)


def _ended_plainly(bench: PlayerBench, title: str) -> dict[str, Any]:
    """Make a result for any game, without moves."""
    loss = {"a loss": "WIN", "a technical loss": "TECHNICAL_LOSS"}
    winner = bench.opponent if title in loss else bench.agent_id if title == "a win" else None
    status = "DRAW" if winner is None else loss.get(title, "WIN")
    reason = f"{winner} won" if winner else "draw"
    return {"status": status, "winner_player_id": winner, "choices": {}, "reason": reason}


def _ended_by_parity(bench: PlayerBench, title: str, choice: str) -> dict[str, Any]:
    other = "odd" if choice == "even" else "even"
    if title == "a technical loss":
        unknown: dict[str, Any] = {"drawn_number": None, "number_parity": None, "choices": {}}
        reason = f"{bench.agent_id} did not answer"
        return {"status": "TECHNICAL_LOSS", "winner_player_id": bench.opponent, **unknown, "reason": reason}
    parity = other if title == "a loss" else choice
    number = 8 if parity == "even" else 7
    return {
        "status": "DRAW" if title == "a draw" else "WIN",
        "winner_player_id": {"a win": bench.agent_id, "a loss": bench.opponent}.get(title),
        "drawn_number": number,
        "number_parity": parity,
        "choices": {bench.agent_id: choice, bench.opponent: choice if title == "a draw" else other},
        "reason": f"the number was {number} ({parity})",
    }


def _error_step() -> AnyStep:
    async def judge(bench: PlayerBench) -> Finding:
        match = bench.new_match()
        return await tell(bench, "GAME_ERROR", "notify_game_error", bench.game_error(match), bench.pass_for(match))

    return Step(
        "GAME_ERROR is acknowledged",
        ACKNOWLEDGED,
        'Serve the method `notify_game_error` and return {"status": "ok"}.',
        judge,
    )


def _game_over_step(title: str) -> AnyStep:
    async def judge(bench: PlayerBench) -> Finding:
        match, choice, method = bench.new_match(), "even", bench.question.method
        if JOIN in bench.styles and method in bench.styles:
            await bench.asked(JOIN, bench.invitation(match), match)
            answer = (await bench.asked(method, bench.call(match), match)).answer or {}
            choice = "odd" if answer.get("parity_choice") == "odd" else "even"
        bench.sent = []
        over = bench.game_over(match, **_ended(bench, title, choice))
        return await tell(bench, "GAME_OVER", RESULT, over, bench.pass_for(match))

    return Step(
        f"GAME_OVER after {title} is acknowledged",
        ACKNOWLEDGED,
        'Serve the method `notify_match_result`, note the result, and return {"status": "ok"}.',
        judge,
    )


def _several_steps(kind: str) -> list[AnyStep]:
    return [
        Step(
            "an invitation that comes twice is accepted twice",
            "the same GAME_JOIN_ACK again",
            "A referee repeats an invitation when the answer was lost: answer it again like the first one.",
            _invited_twice,
        ),
        Step(
            "two matches at once are kept apart",
            "each answer with match_id and conversation_id of its own question",
            "Take match_id and conversation_id from the request that you answer, not from a variable that the next "
            "request overwrites.",
            tolerate_all(_two_at_once),
        ),
        Step(
            "eight questions at once are all answered",
            f"eight {kind}",
            "A league may ask you in several matches at the same time: let one request not wait for another.",
            tolerate_all(_eight_at_once),
        ),
    ]


async def _invited_twice(bench: PlayerBench) -> Finding:
    _reply(bench, JOIN)
    bench.sent = []
    match = bench.new_match()
    answers = [(await bench.asked(JOIN, bench.invitation(match), match)).answer or {} for _ in range(2)]
    accepted = [answer.get("accept") for answer in answers]
    if accepted[0] == accepted[1] and answers[1]:
        return passed(f"accept is {show(accepted[1], 20)}, twice")
    return failed(f"accept is first {show(accepted[0], 20)}, then {show(accepted[1], 20)}")


async def _two_at_once(bench: PlayerBench) -> Finding:
    _reply(bench, JOIN)
    _reply(bench, bench.question.method)
    bench.sent = []
    matches = [bench.new_match(), bench.new_match()]
    for method, write in ((JOIN, bench.invitation), (bench.question.method, bench.call)):
        answers = await asyncio.gather(*(bench.asked(method, write(match), match) for match in matches))
        for match, exchange in zip(matches, answers, strict=True):
            for name, wanted in (("match_id", match.match_id), ("conversation_id", match.conversation_id)):
                found = (exchange.answer or {}).get(name)
                if exchange.answer is None or (found != wanted and not _loses(bench, method, name)):
                    return failed(f"asked in {match.match_id} ({match.conversation_id}): {exchange.came}")
    return passed("each answer belongs to its question")


def _loses(bench: PlayerBench, method: str, name: str) -> bool:
    """Whether the player gets this field wrong even in a single match, which has a step of its own."""
    alone = bench.kept[method]
    return bool((alone.answer or {}).get(name) != alone.message[name])


async def _eight_at_once(bench: PlayerBench) -> Finding:
    method = bench.question.method
    _reply(bench, method)
    bench.sent = []
    matches = [bench.new_match() for _ in range(8)]
    for match in matches:
        await bench.asked(JOIN, bench.invitation(match), match)
    bench.sent = []
    answers = await asyncio.gather(*(bench.asked(method, bench.call(match), match) for match in matches))
    silent = [exchange for exchange in answers if exchange.answer is None]
    return failed(silent[0].came) if silent else passed("eight answers")


def _token_steps() -> list[AnyStep]:
    hint = (
        "Optional for players. Anybody who knows your address can ask you in advance: check 'auth_token', a JWT signed "
        "with Ed25519, with the manager's 'public_key' from your registration (match, referee and player must be "
        "right), and refuse others with E012. docs/reliability.md says what is in it."
    )

    def refuses(token: Callable[[PlayerBench, Match], str]) -> Callable[[Any], Awaitable[Finding]]:
        async def judge(bench: PlayerBench) -> Finding:
            _must_be_registered(bench)
            match = bench.new_match()
            await bench.asked(JOIN, bench.invitation(match), match)
            bench.sent = []
            wrong = {**bench.call(match), "auth_token": token(bench, match)}
            method = bench.question.method
            exchange = await bench.ask(method, wrong, wanted=REPLY_TYPES[method])
            if exchange.answer is not None:
                return warned(f"it was answered: {exchange.came}")
            return passed(exchange.league_code or "refused") if exchange.refused else failed(exchange.came)

        return tolerate_all(judge)

    async def refuses_manager(bench: PlayerBench) -> Finding:
        _must_be_registered(bench)
        exchange = await bench.ask("update_standings", _standings(bench))
        if exchange.acknowledged:
            return warned("it was acknowledged")
        return passed(exchange.league_code or "refused") if exchange.refused else failed(exchange.came)

    return [
        Step(
            "a wrong token is refused",
            "LEAGUE_ERROR E012 to a question with a made-up auth_token",
            hint,
            refuses(lambda *_: "tok-ref01-made-up"),
        ),
        Step(
            "a token of another match is refused",
            "LEAGUE_ERROR E012 to a question with the auth_token of another match",
            hint,
            refuses(lambda bench, _: bench.pass_for(bench.new_match())),
        ),
        Step(
            "a stranger in the manager's name is refused",
            "LEAGUE_ERROR E011 to a notice without the manager's signed token in `Authorization: Bearer`",
            'Optional for players. Anybody can write "sender": "league_manager": check the token in the header '
            "`Authorization: Bearer`, a JWT signed with Ed25519, with the manager's 'public_key' from your "
            "registration (docs/reliability.md).",
            tolerate_all(refuses_manager),
        ),
    ]


def _must_be_registered(bench: PlayerBench) -> None:
    if bench.token is None:
        raise Skip("the player has not registered with the checker, so it can't know whose tokens are good")
    _reply(bench, bench.question.method)
    bench.sent = []


def _end_steps() -> list[AnyStep]:
    return [
        notice_step(
            "LEAGUE_COMPLETED", "notify_league_completed", lambda bench: league_completed(bench, bench.agent_id)
        )
    ]
