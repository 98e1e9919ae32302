"""The words of the tools, as data: what each method is for, and what its fields mean.

Written for a language model that decides which tool to call and with what.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agent_league.errors import ErrorCode
from agent_league.protocol.methods import Caller


@dataclass(frozen=True, slots=True)
class Words:
    """What a method does, when to call it and what comes back; `errors` are its own, beside those of every message."""

    title: str
    says: str
    errors: tuple[ErrorCode, ...] = ()
    reads_only: bool = False
    idempotent: bool = False


def _question(title: str, says: str, *errors: ErrorCode) -> Words:
    return Words(title, says, errors, reads_only=True, idempotent=True)


def _notice(title: str, says: str, *errors: ErrorCode) -> Words:
    return Words(title, f"{says} Answers {{status: ok}}.", errors, idempotent=True)


_STEP = (
    " Matches run by themselves, so this changes nothing: with `match_id` it tells the state of that match, without one"
    " the states of all matches of this referee."
)

WORDS: Mapping[str, Words] = {
    "register_referee": Words(
        "Register a referee",
        "Registers a referee that serves the protocol at `referee_meta.contact_endpoint`. Call it once before the"
        " league starts; call it again with the old token to come back or to renew it. Answers status ACCEPTED with"
        " `referee_id` and `auth_token` (keep it secret), or status REJECTED with `reason`.",
        (ErrorCode.PROTOCOL_VERSION_MISMATCH, ErrorCode.AUTH_TOKEN_INVALID),
    ),
    "register_player": Words(
        "Register a player",
        "Registers a player that serves the protocol at `player_meta.contact_endpoint`: the league will call it there,"
        " so a client without a server of its own can't play this way (use `league join`). Call it once before the"
        " league starts; call it again with the old token to come back or to renew it. Answers status ACCEPTED with"
        " `player_id` and `auth_token` (keep it secret), or status REJECTED with `reason`.",
        (ErrorCode.PROTOCOL_VERSION_MISMATCH, ErrorCode.AUTH_TOKEN_INVALID),
    ),
    "start_league": Words(
        "Start the league",
        "Closes registration, makes the schedule and plays all rounds. Call it once, when all who should take part are"
        " registered. This can't be undone. Answers {status: ok}.",
        (ErrorCode.SERVICE_UNAVAILABLE,),
    ),
    "manage_league": Words(
        "Manage the league",
        "What an organiser may do while a league lives, by `action`. CLOSE_REGISTRATION lets in no new player, and"
        " the league doesn't start by itself; OPEN_REGISTRATION ends that; both only before the start. PAUSE lets no"
        " further match begin, those in play end and count; RESUME goes on; both only while it runs. SUSPEND_PLAYER"
        " makes the player of `player_id` lose its matches technically, those in play too, until REINSTATE_PLAYER. What"
        " is so already is answered ok and changes nothing. Answers {status: ok}.",
        (ErrorCode.SERVICE_UNAVAILABLE, ErrorCode.PLAYER_NOT_REGISTERED),
        idempotent=True,
    ),
    "report_match_result": Words(
        "Report a match result",
        "Records the result of a match that was given to the calling referee. The same report again is answered ok and"
        " changes nothing; another result for a finished match is refused. Answers {status: ok}.",
        (ErrorCode.MATCH_NOT_FOUND,),
        idempotent=True,
    ),
    "league_query": _question(
        "Ask about the league",
        "Answers a registered agent's question: GET_STANDINGS, GET_SCHEDULE, GET_NEXT_MATCH or GET_PLAYER_STATS; the"
        " last two take `query_params.player_id` and are about the caller where it is left out. `success` says whether"
        " there is an answer in `data` or a fault in `error`. Without a token, use get_standings, create_schedule,"
        " get_match or get_player instead.",
        ErrorCode.PLAYER_NOT_REGISTERED,
        ErrorCode.REFEREE_NOT_REGISTERED,
    ),
    "get_standings": _question(
        "Get the standings",
        "The table of the league as it stands now, best first, with the phase of the league (REGISTRATION, RUNNING,"
        " COMPLETED) and the round it is in. Call it to see who leads or whether the league is over.",
    ),
    "create_schedule": _question(
        "Get the schedule",
        "All rounds with their matches, referees and results. Before the start it is what the schedule would be with"
        " those who are registered now; nothing is created. Call it to find match ids.",
    ),
    "get_assigned_matches": _question(
        "Get the matches that wait for this referee",
        "For a referee that can't be told to start a match: the matches that were given to it and wait for it, each"
        " with the fields of a START_MATCH. A match is listed until its result is reported; it is to be played once.",
        ErrorCode.REFEREE_NOT_REGISTERED,
    ),
    "get_round": _question(
        "Get a round",
        "One round of the schedule: whether it is PENDING, RUNNING or COMPLETED, and its matches with results.",
        ErrorCode.INVALID_MESSAGE_FORMAT,
        ErrorCode.MISSING_REQUIRED_FIELD,
    ),
    "get_match": _question(
        "Get a match",
        "One match: players, referee, state (PENDING, RUNNING, FINISHED), result and, once it is finished, the"
        " transcript of all that was said where this manager has it. `transcript` is null where it hasn't;"
        " `transcript_note` then says why or where it is kept. Call it to explain how a match was decided.",
        ErrorCode.MATCH_NOT_FOUND,
        ErrorCode.INVALID_MESSAGE_FORMAT,
        ErrorCode.MISSING_REQUIRED_FIELD,
    ),
    "get_player": _question(
        "Get a player",
        "One player: name, state, row of the table, all its matches with results, and what in its messages was put up"
        " with.",
        ErrorCode.PLAYER_NOT_REGISTERED,
        ErrorCode.INVALID_MESSAGE_FORMAT,
        ErrorCode.MISSING_REQUIRED_FIELD,
    ),
    "start_match": Words(
        "Start a match",
        "Gives a match to this referee, which then invites both players, asks for their moves, and reports the result"
        " to the manager. Answers {status: ok} at once; the same order again changes nothing.",
        (ErrorCode.SERVICE_UNAVAILABLE,),
        idempotent=True,
    ),
    "get_match_state": _question(
        "Get the state of a match",
        "Tells of a match that this referee runs or has run: state, players, when it entered which state, and the"
        " transcript. While it runs the transcript shows who was asked and when, never what was said; messages, draw"
        " and result are shown once it is FINISHED. With `match_ids` in place of `match_id` it answers only `matches`:"
        " the state of each one that is running here, null for the others.",
        ErrorCode.MATCH_NOT_FOUND,
        ErrorCode.MISSING_REQUIRED_FIELD,
    ),
    "register_to_league": _question(
        "Tell of the registration", "A referee registers with its manager by itself." + _STEP, ErrorCode.MATCH_NOT_FOUND
    ),
    "collect_choices": _question(
        "Tell of the choices", "A referee collects the players' choices by itself." + _STEP, ErrorCode.MATCH_NOT_FOUND
    ),
    "draw_number": _question(
        "Tell of the draw", "A referee draws the number by itself." + _STEP, ErrorCode.MATCH_NOT_FOUND
    ),
    "finalize_match": _question(
        "Tell of the end", "A referee ends and reports its matches by itself." + _STEP, ErrorCode.MATCH_NOT_FOUND
    ),
    "game_join_ack": Words(
        "Hand in an answer to an invitation",
        "For a player that answered handle_game_invitation with a mere status: it hands in its GAME_JOIN_ACK here"
        " before the deadline. One that comes when nobody waits for it changes nothing. Answers {status: ok}.",
        (ErrorCode.MATCH_NOT_FOUND,),
    ),
    "choose_parity_response": Words(
        "Hand in a choice",
        "For a player that answered choose_parity with a mere status: it hands in its choice here before the deadline."
        " One that comes when nobody waits for it changes nothing. Answers {status: ok}.",
        (ErrorCode.MATCH_NOT_FOUND, ErrorCode.INVALID_PARITY_CHOICE),
    ),
    "game_move_response": Words(
        "Hand in a move",
        "For a player that answered make_move with a mere status: it hands in its move here before the deadline. One"
        " that comes when nobody waits for it changes nothing. Answers {status: ok}.",
        (ErrorCode.MATCH_NOT_FOUND, ErrorCode.INVALID_MOVE),
    ),
    "handle_game_invitation": Words(
        "Invite to a match",
        "A referee invites this player to a match. Answers GAME_JOIN_ACK; `accept` false means that the player declines"
        " and loses the match technically.",
        idempotent=True,
    ),
    "choose_parity": Words(
        "Ask for even or odd",
        "A referee asks this player for its choice in a match of Even/Odd. Answers CHOOSE_PARITY_RESPONSE with"
        " `parity_choice`, exactly `even` or `odd`, before `deadline`. To try a player by hand, start it with"
        " --practice.",
    ),
    "make_move": Words(
        "Ask for a move",
        "A referee asks this player for a move in any game: one of `move_request.valid_options`, or what"
        " `move_request.move_schema` allows. Answers GAME_MOVE_RESPONSE with the move in `move_data`, before"
        " `deadline`.",
    ),
    "notify_match_result": _notice("Tell the result", "A referee tells this player how a match ended."),
    "notify_game_error": _notice(
        "Tell of an error", "A referee tells this player what went wrong with its answer, and what follows."
    ),
    "notify_round": _notice("Announce a round", "The manager announces a round: who meets whom, and where."),
    "update_standings": _notice("Tell the standings", "The manager tells the table after a round."),
    "notify_round_completed": _notice("Tell the end of a round", "The manager tells that a round is over."),
    "notify_league_completed": _notice(
        "Tell the end of the league", "The manager tells the champion and the final table."
    ),
    "get_player_state": _question(
        "Get this player's state",
        "What this player remembers: its state, its statistics, its latest games (up to 200) with both sides' moves,"
        " and what it has learnt of each opponent. It tells of itself alone.",
        ErrorCode.PLAYER_NOT_REGISTERED,
    ),
    "get_rules": _question(
        "Get the rules of a game",
        "How a game is played, in plain words, with its parameters and the messages in which moves are asked for and"
        " answered. Call it before you choose a move or judge one.",
        ErrorCode.INVALID_MESSAGE_FORMAT,
    ),
    "get_protocol": _question(
        "Get the protocol",
        "Version, methods (who serves them, who may call them) and message types of the league protocol. With"
        " `message_type`, `schemas` holds that message's JSON Schema; with `schemas` true, those of all messages.",
        ErrorCode.INVALID_MESSAGE_FORMAT,
    ),
}

MEANINGS: Mapping[ErrorCode, str] = {
    ErrorCode.INVALID_MESSAGE_FORMAT: "a field has a wrong type or value; `context` names it and what was expected",
    ErrorCode.MISSING_REQUIRED_FIELD: "fields are missing; `context.missing_fields` names them",
    ErrorCode.INVALID_PARITY_CHOICE: "the choice is not exactly `even` or `odd`",
    ErrorCode.PLAYER_NOT_REGISTERED: "no such player here",
    ErrorCode.MATCH_NOT_FOUND: "no such match here, or it was not given to you",
    ErrorCode.LEAGUE_NOT_FOUND: "`league_id` names another league; leave it out",
    ErrorCode.INVALID_MOVE: "the rules don't allow this move",
    ErrorCode.AUTH_TOKEN_MISSING: "a token is needed: `auth_token`, or the header Authorization: Bearer",
    ErrorCode.AUTH_TOKEN_INVALID: "the token is unknown, expired or somebody else's",
    ErrorCode.REFEREE_NOT_REGISTERED: "no such referee here",
    ErrorCode.SERVICE_UNAVAILABLE: "not now: `message` says what is in the way",
    ErrorCode.PROTOCOL_VERSION_MISMATCH: "not `league.v2`, or a version below 2.0.0",
}

TOKEN_ERRORS = (ErrorCode.AUTH_TOKEN_MISSING, ErrorCode.AUTH_TOKEN_INVALID)
MESSAGE_ERRORS = (
    ErrorCode.INVALID_MESSAGE_FORMAT,
    ErrorCode.MISSING_REQUIRED_FIELD,
    ErrorCode.LEAGUE_NOT_FOUND,
)
WITHOUT_TOKEN = frozenset({Caller.ANYBODY, Caller.APPLICANT})

_TIME: Mapping[str, Any] = {"format": "date-time"}
_ADDRESS: Mapping[str, Any] = {"format": "uri"}

FIELDS: Mapping[str, Mapping[str, Any] | str] = {
    "protocol": "Always league.v2.",
    "message_type": "The type of the message.",
    "sender": "Who says it: league_manager, referee:ID or player:ID.",
    "timestamp": {"description": "When it was said: ISO-8601 in UTC, ending in Z.", **_TIME},
    "conversation_id": "What ties an answer to its question; an answer repeats it.",
    "auth_token": "The token of whoever says it.",
    "LEAGUE_REGISTER_RESPONSE.auth_token": "The token to show from now on; a secret. Null where it was rejected.",
    "REFEREE_REGISTER_RESPONSE.auth_token": "The token to show from now on; a secret. Null where it was rejected.",
    "league_id": "The league.",
    "round_id": "The number of the round, from 1.",
    "StandingsAnswer.round_id": "The round that is being played; 0 before the first.",
    "match_id": "The match, such as R1M1 (round 1, match 1).",
    "match_ids": "Several matches; the answer then is `matches` alone.",
    "player_id": "The player, such as P01.",
    "OwnStateQuestion.player_id": "This player's own id, or leave it out; any other is refused.",
    "referee_id": "The referee, such as REF01; null where none has the match yet.",
    "opponent_id": "The other player of the match.",
    "game_type": "The game, such as even_odd.",
    "RulesQuestion.game_type": "The game; leave it out for the one that is played here.",
    "ProtocolQuestion.message_type": "A message type whose JSON Schema is wanted, such as GAME_INVITATION.",
    "ProtocolQuestion.schemas": "Whether the schemas of all messages are wanted; that is a long answer.",
    "ProtocolAnswer.schemas": "Message type -> its JSON Schema.",
    "display_name": "The name that is shown; 1 to 100 printable characters, nobody else's.",
    "player_meta": "What the player says of itself.",
    "referee_meta": "What the referee says of itself.",
    "version": "A version number, such as 1.0.0.",
    "game_types": "The games it knows, such as even_odd; with * among them, any other one too.",
    "contact_endpoint": {"description": "Where it is called: http://HOST:PORT/mcp.", **_ADDRESS},
    "endpoint": {"description": "Where it is called.", **_ADDRESS},
    "referee_endpoint": {"description": "Where the referee is called.", **_ADDRESS},
    "player_A_endpoint": {"description": "Where player A is called.", **_ADDRESS},
    "player_B_endpoint": {"description": "Where player B is called.", **_ADDRESS},
    "protocol_version": "The protocol version it speaks: 2.0.0 or newer.",
    "match_tokens": "Whether it knows match tokens.",
    "match_keys": "Whether it takes match tokens under a match key as well.",
    "max_concurrent_matches": "How many matches it takes at once.",
    "application_key": "A secret of the applicant's own, by which it is known again without its token.",
    "public_key": "The manager's public key as a JWK.",
    "match_key": "What match tokens for this player are signed with; a secret.",
    "action": "What is to be done.",
    "MANAGE_LEAGUE.player_id": "Who is to be suspended or reinstated, by id or name; not for the other actions.",
    "query_type": "What is asked for.",
    "query_params": "`player_id` for GET_NEXT_MATCH and GET_PLAYER_STATS; the caller where it is left out.",
    "success": "Whether there is an answer.",
    "data": "The answer, by `query_type`; null where there is none.",
    "error": "Why there is no answer.",
    "TranscriptEntry.error": "What was wrong, in a sentence.",
    "error_code": "The code of the error, such as E004.",
    "error_name": "The name that belongs to the code.",
    "error_description": "The name that belongs to the code.",
    "message": "The sentence that says what is wrong.",
    "TranscriptEntry.message": "What was said.",
    "league_status": "REGISTRATION, RUNNING or COMPLETED.",
    "phase": "Where the league stands.",
    "rounds_completed": "How many rounds are over.",
    "standings": "The table, best first.",
    "MatchPlayer.standings": "What the player has won, drawn and lost so far.",
    "your_standings": "What the player has won, drawn and lost so far.",
    "rank": "The place in the table, from 1.",
    "points": "By the league's rule: 3 for a win, 1 for a draw unless its file says otherwise.",
    "total_rounds": "Rounds in all.",
    "total_matches": "Matches in all.",
    "rounds": "All rounds, in order.",
    "matches": "The matches.",
    "MatchStateAnswer.matches": "Match id -> its state where it runs here, else null.",
    "StepAnswer.matches": "Match id -> its state.",
    "PlayerStateAnswer.matches": "The latest games, oldest first.",
    "status": "How it stands or how it ended: TECHNICAL_LOSS where a player failed to answer.",
    "StepAnswer.status": "Always ok.",
    "Status.status": "Always ok.",
    "RoundAnswer.status": "Whether the round is yet to come, is played, or is over.",
    "LEAGUE_REGISTER_RESPONSE.status": "Whether the application is accepted; `reason` says why not.",
    "REFEREE_REGISTER_RESPONSE.status": "Whether the application is accepted; `reason` says why not.",
    "winner_player_id": "Who won; null after a draw, or where both failed.",
    "winner": "The player who won, or null.",
    "player_A_id": "The player with role PLAYER_A.",
    "player_B_id": "The player with role PLAYER_B.",
    "player_A": "What the referee must know of player A.",
    "player_B": "What the referee must know of player B.",
    "match_token": "What vouches for the referee at a player; a secret.",
    "token_sha256": "The hash of the player's token.",
    "scoring": "Points for a win, a draw, a loss and a technical loss.",
    "limits": "The league's limits, in place of the referee's own.",
    "join_sec": "Seconds to answer an invitation.",
    "v1_join_sec": "The same for a player of league.v1, where that differs.",
    "move_sec": "Seconds to answer a question.",
    "attempts": "How often a question is asked, in all.",
    "base_delay_sec": "Seconds before the second attempt.",
    "league_uuid": "What this league is called in league.v1; no other league has it.",
    "players": "The two players.",
    "state": "The state it is in.",
    "lifecycle": "When the match entered which state.",
    "transcript": "What was said, in order.",
    "transcript_note": "Why the transcript is missing or cut, and where all of it is; null where it is whole.",
    "result": "How it ended; null while it runs.",
    "MATCH_RESULT_REPORT.result": "How it ended.",
    "score": "Player id -> points of this match.",
    "details": "The game's own facts, such as the drawn number and the choices.",
    "terminations": "Player id -> how it ended for that player: normal, move_timeout, illegal_move, ...",
    "tolerated": "What in an agent's messages differed from the protocol and was accepted.",
    "at": {"description": "When.", **_TIME},
    "direction": "sent by the referee, received from a player, failed (no usable answer), or drawn by chance.",
    "latency_ms": "How long the player took.",
    "token": "Whether the answer carried its player's own token.",
    "attempt": "Which attempt it was, from 1.",
    "outcome": "What came of it.",
    "technical_losses": "Matches lost because no usable answer came.",
    "next_match": "The next match without a result; null where there is none.",
    "role_in_match": "The seat in the match.",
    "draw_commitment": "The hash of the seed that the draw follows from.",
    "draw_seed": "The seed that was committed to.",
    "game_parameters": "The parameters of the game.",
    "accept": "Whether the player comes; false means that it loses the match technically.",
    "arrival_timestamp": {"description": "When the invitation arrived.", **_TIME},
    "context": "What else is known of the situation.",
    "MoveRequest.context": "What this seat may see of the game.",
    "deadline": {"description": "When the answer must be in.", **_TIME},
    "parity_choice": "The choice, in small letters.",
    "usage": "What a language model spent on the move: tokens, cost, time.",
    "move_request": "What is asked for.",
    "valid_options": "The legal moves: answer with exactly one of them.",
    "move_schema": "A JSON Schema of the legal moves, where they are too many to be listed.",
    "move_method": "make_move where the player is asked in no game's own words.",
    "move_type": "The kind of move.",
    "step": "The step of the game, from 0.",
    "your_role": "The seat of the player who is asked.",
    "move_data": "The move: exactly one of the valid options.",
    "game_result": "How the match ended.",
    "choices": "Player id -> what it chose.",
    "reason": "Why, in a sentence.",
    "affected_player": "The player whom it concerns, or null.",
    "action_required": "The message that this player should send to mend it, or null.",
    "game_state": "The state of the match.",
    "retryable": "Whether the same call may succeed when it is tried again.",
    "retry_info": "Which attempt it was, and when the next one comes.",
    "retry_count": "Attempts so far.",
    "max_retries": "Attempts in all.",
    "next_retry_at": {"description": "When the next attempt comes.", **_TIME},
    "consequence": "What follows.",
    "next_round_id": "The next round; null after the last.",
    "matches_completed": "Matches of the round that are over.",
    "void": "Matches that count for nobody: no referee reported them.",
    "void_match_ids": "The ids of the void matches, where there are any.",
    "refusals": "The latest calls about matches that the player refused, with code and sentence.",
    "matches_played": "Matches of the round that are over.",
    "summary": "The round in numbers.",
    "champion": "Who won the league.",
    "final_standings": "The final table.",
    "stats": "What the player has played, won, drawn and lost.",
    "total": "Games that were ever remembered.",
    "opponents": "Opponent id -> what the player has learnt of it.",
    "my_moves": "What this player played.",
    "opponent_moves": "What the opponent played.",
    "season": "What tells this league from another one under the same id.",
    "how_to_play": "The rules in plain words.",
    "parameters": "As this agent's configuration has them; what counts in a match comes with its invitation.",
    "method": "The method that asks for a move.",
    "TranscriptEntry.method": "The method that was called.",
    "question": "The message that asks for a move.",
    "answer": "The message that holds a move.",
    "illegal_move": "The error code of a move that the rules don't allow.",
    "minimum_version": "The oldest version that is accepted.",
    "methods": "All methods of all agents.",
    "message_types": "The types of all messages.",
    "caller": "Who may call it.",
    "served_by": "The agents that answer it.",
}
"""What a field means, by its name or, where that differs, by `Model.name`."""

FILLED = "Filled in where it is left out."
TAKEN_FROM = "The caller's token; also taken from the header Authorization: Bearer."
_OWNER = "Left out, it is the owner of the token; give it where no token tells who you are."
SENDERS: Mapping[Caller, str] = {
    Caller.ANYBODY: FILLED,
    Caller.APPLICANT: "Left out, it is made of the display name; a free id that it names (player:P07) is given.",
    Caller.AGENT: _OWNER,
    Caller.REFEREE: _OWNER,
    Caller.ADMIN: FILLED,
    Caller.MANAGER: FILLED,
    Caller.MATCH_REFEREE: _OWNER,
    Caller.MATCH_PLAYER: _OWNER,
}
"""What becomes of a `sender` that is left out."""
