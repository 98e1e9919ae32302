"""The table of methods: who serves each, who may call it, its request and reply, its timeout, and its words.

The words are written for a language model that decides which tool to call and with what.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum, auto

from agent_league.errors import ErrorCode
from agent_league.model.agents import Role
from agent_league.protocol import v2
from agent_league.protocol.envelope import Message, MessagePart, StatusReply
from agent_league.protocol.v2 import answers
from agent_league.protocol.v2.league import ManagedLeague, RequestedMatch


class Caller(StrEnum):
    """Who may call a method."""

    ANYBODY = "anybody"
    APPLICANT = "an agent that registers"
    AGENT = "a registered player or referee, with its own token"
    REFEREE = "a registered referee, with its own token"
    ADMIN = "the organiser, with the admin token"
    MANAGER = "the league manager"
    MATCH_REFEREE = "the referee of a match"
    MATCH_PLAYER = "a player of a match, with its own token"


class Effect(Enum):
    """What a call of a method does to the agent's state."""

    CHANGES = auto()
    REPEATABLE = auto()
    """The same call again changes nothing more."""
    READS = auto()


GENERIC_TIMEOUT = "generic_response_timeout_sec"
JOIN_TIMEOUT = "game_join_ack_timeout_sec"
MOVE_TIMEOUT = "move_timeout_sec"
GAME_OVER_TIMEOUT = "game_over_timeout_sec"


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """One method: what it does, when to call it and what comes back."""

    name: str
    served_by: frozenset[Role]
    title: str
    description: str
    caller: Caller = Caller.ANYBODY
    request: type[Message] | None = None
    reply: type[Message] | None = None
    question: type[MessagePart] = answers.Nothing
    """The arguments of a method without a request message."""
    answer: type[MessagePart] = StatusReply
    """The answer where there is no reply message, or one that describes the reply more exactly."""
    timeout_setting: str = GENERIC_TIMEOUT
    """The name of its setting in `timeouts` of system.json."""
    errors: tuple[ErrorCode, ...] = ()
    """Its own error codes, beside those of every message."""
    effect: Effect = Effect.CHANGES


_MANAGER = frozenset({Role.LEAGUE_MANAGER})
_REFEREE = frozenset({Role.REFEREE})
_PLAYER = frozenset({Role.PLAYER})
_BOTH = _REFEREE | _PLAYER
_ALL = _MANAGER | _BOTH
_MATCHES_RUN_BY_THEMSELVES = (
    " Matches run by themselves, so this changes nothing: with `match_id` it tells the state of that match, without one"
    " the states of all matches of this referee."
)

_TABLE: Iterable[Method] = (
    Method(
        name="register_referee",
        served_by=_MANAGER,
        caller=Caller.APPLICANT,
        request=v2.RefereeRegisterRequest,
        reply=v2.RefereeRegisterResponse,
        timeout_setting="register_referee_timeout_sec",
        title="Register a referee",
        description=(
            "Registers a referee that serves the protocol at `referee_meta.contact_endpoint`. Call it once before"
            " the league starts; call it again with the old token to come back or to renew it. Answers status"
            " ACCEPTED with `referee_id` and `auth_token` (keep it secret), or status REJECTED with `reason`."
        ),
        errors=(ErrorCode.PROTOCOL_VERSION_MISMATCH, ErrorCode.AUTH_TOKEN_INVALID),
    ),
    Method(
        name="register_player",
        served_by=_MANAGER,
        caller=Caller.APPLICANT,
        request=v2.LeagueRegisterRequest,
        reply=v2.LeagueRegisterResponse,
        timeout_setting="register_player_timeout_sec",
        title="Register a player",
        description=(
            "Registers a player that serves the protocol at `player_meta.contact_endpoint`: the league will call"
            " it there, so a client without a server of its own can't play this way (use `league join`). Call it"
            " once before the league starts; call it again with the old token to come back or to renew it. Answers"
            " status ACCEPTED with `player_id` and `auth_token` (keep it secret), or status REJECTED with `reason`."
        ),
        errors=(ErrorCode.PROTOCOL_VERSION_MISMATCH, ErrorCode.AUTH_TOKEN_INVALID),
    ),
    Method(
        name="start_league",
        served_by=_MANAGER,
        caller=Caller.ADMIN,
        request=v2.StartLeague,
        title="Start the league",
        description=(
            "Closes registration, makes the schedule and plays all rounds. Call it once, when all who should take"
            " part are registered. This can't be undone. Answers {status: ok}."
        ),
        errors=(ErrorCode.SERVICE_UNAVAILABLE,),
    ),
    Method(
        name="manage_league",
        served_by=_MANAGER,
        caller=Caller.ADMIN,
        request=v2.ManageLeague,
        answer=ManagedLeague,
        title="Manage the league",
        description=(
            "What an organiser may do while a league lives, by `action`. CLOSE_REGISTRATION lets in no new player,"
            " and the league doesn't start by itself; OPEN_REGISTRATION ends that; both only before the start."
            " PAUSE lets no further match begin, those in play end and count; RESUME goes on; both only while it"
            " runs. FREEZE_AGENTS lets no player be admitted or replaced, until UNFREEZE_AGENTS. PLAY_ROUND begins the"
            " next round before its time. SUSPEND_PLAYER makes the player of `player_id` lose its matches technically,"
            " those in play too,"
            " until REINSTATE_PLAYER. Corrections need a `reason`, and may come after the end: RERUN_MATCH has the"
            " match of `match_id` played again under another id, VOID_MATCH makes it count for nobody, AWARD_MATCH"
            " decides it for `player_id` or as a `draw`, WITHDRAW_PLAYER takes a player out, ADMIT_PLAYER lets it in"
            " again, or lets one of that name enter late. What is so already is answered ok and changes nothing."
            " `reason` and what changed stand in the league's public audit log. Answers {status: ok} with `change`."
        ),
        errors=(ErrorCode.SERVICE_UNAVAILABLE, ErrorCode.PLAYER_NOT_REGISTERED, ErrorCode.MATCH_NOT_FOUND),
    ),
    Method(
        name="request_match",
        served_by=_MANAGER,
        caller=Caller.AGENT,
        request=v2.RequestMatch,
        answer=RequestedMatch,
        title="Ask for a match",
        description=(
            "Asks for a match against `opponent_id` in a practice ladder. It is played as soon as both are free or,"
            " where the league file says so, once the opponent asks for it too; house bots always agree. So many"
            " requests an hour as the league file allows. Answers {status: ok} with `message`, a sentence."
        ),
        errors=(ErrorCode.SERVICE_UNAVAILABLE, ErrorCode.RATE_LIMIT_EXCEEDED, ErrorCode.PLAYER_NOT_REGISTERED),
    ),
    Method(
        name="report_match_result",
        served_by=_MANAGER,
        caller=Caller.REFEREE,
        request=v2.MatchResultReport,
        title="Report a match result",
        description=(
            "Records the result of a match that was given to the calling referee. The same report again is"
            " answered ok and changes nothing; another result for a finished match is refused. Answers {status:"
            " ok}."
        ),
        errors=(ErrorCode.MATCH_NOT_FOUND,),
        effect=Effect.REPEATABLE,
    ),
    Method(
        name="league_query",
        served_by=_MANAGER,
        caller=Caller.AGENT,
        request=v2.LeagueQuery,
        reply=v2.LeagueQueryResponse,
        answer=answers.LeagueQueryAnswer,
        title="Ask about the league",
        description=(
            "Answers a registered agent's question: GET_STANDINGS, GET_SCHEDULE, GET_NEXT_MATCH,"
            " GET_PLAYER_STATS or, in a practice ladder, GET_LADDER; the last three take `query_params.player_id` and"
            " are about the caller where it is left out. `success` says whether there is an answer in `data` or a fault"
            " in `error`. Without a token, use get_standings, get_schedule, get_match or get_player instead."
        ),
        errors=(ErrorCode.PLAYER_NOT_REGISTERED, ErrorCode.REFEREE_NOT_REGISTERED),
        effect=Effect.READS,
    ),
    Method(
        name="get_assigned_matches",
        served_by=_MANAGER,
        caller=Caller.REFEREE,
        question=answers.OwnQuestion,
        answer=answers.AssignedMatches,
        title="Get the matches that wait for this referee",
        description=(
            "For a referee that can't be told to start a match: the matches that were given to it and wait for it,"
            " each with the fields of a START_MATCH. A match is listed until its result is reported; it is to be"
            " played once."
        ),
        errors=(ErrorCode.REFEREE_NOT_REGISTERED,),
        effect=Effect.READS,
    ),
    Method(
        name="get_standings",
        served_by=_MANAGER,
        answer=answers.StandingsAnswer,
        title="Get the standings",
        description=(
            "The table of the league as it stands now, best first, with the phase of the league (REGISTRATION,"
            " RUNNING, COMPLETED) and the round it is in. Call it to see who leads or whether the league is over."
        ),
        effect=Effect.READS,
    ),
    Method(
        name="get_schedule",
        served_by=_MANAGER,
        answer=answers.ScheduleAnswer,
        title="Get the schedule",
        description=(
            "All rounds with their matches, referees and results. Before the start it is what the schedule would"
            " be with those who are registered now. Call it to find match ids."
        ),
        effect=Effect.READS,
    ),
    Method(
        name="create_schedule",
        served_by=_MANAGER,
        answer=answers.ScheduleAnswer,
        title="Get the schedule, by its older name",
        description="The same as get_schedule, under the name that the protocol's documents have; nothing is created.",
        effect=Effect.READS,
    ),
    Method(
        name="get_round",
        served_by=_MANAGER,
        question=answers.RoundQuestion,
        answer=answers.RoundAnswer,
        title="Get a round",
        description=(
            "One round of the schedule: whether it is PENDING, RUNNING or COMPLETED, and its matches with results."
        ),
        errors=(ErrorCode.INVALID_MESSAGE_FORMAT, ErrorCode.MISSING_REQUIRED_FIELD),
        effect=Effect.READS,
    ),
    Method(
        name="get_match",
        served_by=_MANAGER,
        question=answers.MatchQuestion,
        answer=answers.MatchAnswer,
        title="Get a match",
        description=(
            "One match: players, referee, state (PENDING, RUNNING, FINISHED), result and, once it is finished, the"
            " transcript of all that was said where this manager has it. `transcript` is null where it hasn't;"
            " `transcript_note` then says why or where it is kept. Call it to explain how a match was decided."
        ),
        errors=(ErrorCode.MATCH_NOT_FOUND, ErrorCode.INVALID_MESSAGE_FORMAT, ErrorCode.MISSING_REQUIRED_FIELD),
        effect=Effect.READS,
    ),
    Method(
        name="get_player",
        served_by=_MANAGER,
        question=answers.PlayerQuestion,
        answer=answers.PlayerDetailsAnswer,
        title="Get a player",
        description=(
            "One player: name, state, row of the table, all its matches with results, and what in its messages was"
            " put up with."
        ),
        errors=(ErrorCode.PLAYER_NOT_REGISTERED, ErrorCode.INVALID_MESSAGE_FORMAT, ErrorCode.MISSING_REQUIRED_FIELD),
        effect=Effect.READS,
    ),
    Method(
        name="start_match",
        served_by=_REFEREE,
        caller=Caller.MANAGER,
        request=v2.StartMatch,
        title="Start a match",
        description=(
            "Gives a match to this referee, which then invites both players, asks for their moves, and reports the"
            " result to the manager. Answers {status: ok} at once; the same order again changes nothing."
        ),
        errors=(ErrorCode.SERVICE_UNAVAILABLE,),
        effect=Effect.REPEATABLE,
    ),
    Method(
        name="get_match_state",
        served_by=_REFEREE,
        question=answers.MatchStateQuestion,
        answer=answers.MatchStateAnswer,
        title="Get the state of a match",
        description=(
            "Tells of a match that this referee runs or has run: state, players, when it entered which state, and"
            " the transcript. While it runs the transcript shows who was asked and when, never what was said;"
            " messages, draw and result are shown once it is FINISHED. With `match_ids` in place of `match_id` it"
            " answers only `matches`: the state of each one that is running here, null for the others; with `positions`"
            " also what both players see of their games."
        ),
        errors=(ErrorCode.MATCH_NOT_FOUND, ErrorCode.MISSING_REQUIRED_FIELD),
        effect=Effect.READS,
    ),
    Method(
        name="register_to_league",
        served_by=_REFEREE,
        caller=Caller.MANAGER,
        question=answers.StepQuestion,
        answer=answers.StepAnswer,
        title="Tell of the registration",
        description="A referee registers with its manager by itself." + _MATCHES_RUN_BY_THEMSELVES,
        errors=(ErrorCode.MATCH_NOT_FOUND,),
        effect=Effect.READS,
    ),
    Method(
        name="collect_choices",
        served_by=_REFEREE,
        caller=Caller.MANAGER,
        question=answers.StepQuestion,
        answer=answers.StepAnswer,
        title="Tell of the choices",
        description="A referee collects the players' choices by itself." + _MATCHES_RUN_BY_THEMSELVES,
        errors=(ErrorCode.MATCH_NOT_FOUND,),
        effect=Effect.READS,
    ),
    Method(
        name="draw_number",
        served_by=_REFEREE,
        caller=Caller.MANAGER,
        question=answers.StepQuestion,
        answer=answers.StepAnswer,
        title="Tell of the draw",
        description="A referee draws the number by itself." + _MATCHES_RUN_BY_THEMSELVES,
        errors=(ErrorCode.MATCH_NOT_FOUND,),
        effect=Effect.READS,
    ),
    Method(
        name="finalize_match",
        served_by=_REFEREE,
        caller=Caller.MANAGER,
        question=answers.StepQuestion,
        answer=answers.StepAnswer,
        title="Tell of the end",
        description="A referee ends and reports its matches by itself." + _MATCHES_RUN_BY_THEMSELVES,
        errors=(ErrorCode.MATCH_NOT_FOUND,),
        effect=Effect.READS,
    ),
    Method(
        name="game_join_ack",
        served_by=_REFEREE,
        caller=Caller.MATCH_PLAYER,
        request=v2.GameJoinAck,
        timeout_setting=JOIN_TIMEOUT,
        title="Hand in an answer to an invitation",
        description=(
            "For a player that answered handle_game_invitation with a mere status: it hands in its GAME_JOIN_ACK"
            " here before the deadline. One that comes when nobody waits for it changes nothing. Answers {status:"
            " ok}."
        ),
        errors=(ErrorCode.MATCH_NOT_FOUND,),
    ),
    Method(
        name="choose_parity_response",
        served_by=_REFEREE,
        caller=Caller.MATCH_PLAYER,
        request=v2.ChooseParityResponse,
        timeout_setting=MOVE_TIMEOUT,
        title="Hand in a choice",
        description=(
            "For a player that answered choose_parity with a mere status: it hands in its choice here before the"
            " deadline. One that comes when nobody waits for it changes nothing. Answers {status: ok}."
        ),
        errors=(ErrorCode.MATCH_NOT_FOUND, ErrorCode.INVALID_PARITY_CHOICE),
    ),
    Method(
        name="game_move_response",
        served_by=_REFEREE,
        caller=Caller.MATCH_PLAYER,
        request=v2.GameMoveResponse,
        timeout_setting=MOVE_TIMEOUT,
        title="Hand in a move",
        description=(
            "For a player that answered make_move with a mere status: it hands in its move here before the"
            " deadline. One that comes when nobody waits for it changes nothing. Answers {status: ok}."
        ),
        errors=(ErrorCode.MATCH_NOT_FOUND, ErrorCode.INVALID_MOVE),
    ),
    Method(
        name="handle_game_invitation",
        served_by=_PLAYER,
        caller=Caller.MATCH_REFEREE,
        request=v2.GameInvitation,
        reply=v2.GameJoinAck,
        timeout_setting=JOIN_TIMEOUT,
        title="Invite to a match",
        description=(
            "A referee invites this player to a match. Answers GAME_JOIN_ACK; `accept` false means that the player"
            " declines and loses the match technically."
        ),
        effect=Effect.REPEATABLE,
    ),
    Method(
        name="choose_parity",
        served_by=_PLAYER,
        caller=Caller.MATCH_REFEREE,
        request=v2.ChooseParityCall,
        reply=v2.ChooseParityResponse,
        timeout_setting=MOVE_TIMEOUT,
        title="Ask for even or odd",
        description=(
            "A referee asks this player for its choice in a match of Even/Odd. Answers CHOOSE_PARITY_RESPONSE with"
            " `parity_choice`, exactly `even` or `odd`, before `deadline`. To try a player by hand, start it with"
            " --practice."
        ),
    ),
    Method(
        name="make_move",
        served_by=_PLAYER,
        caller=Caller.MATCH_REFEREE,
        request=v2.GameMoveCall,
        reply=v2.GameMoveResponse,
        timeout_setting=MOVE_TIMEOUT,
        title="Ask for a move",
        description=(
            "A referee asks this player for a move in any game: one of `move_request.valid_options`, or what"
            " `move_request.move_schema` allows. Answers GAME_MOVE_RESPONSE with the move in `move_data`, before"
            " `deadline`."
        ),
    ),
    Method(
        name="notify_match_result",
        served_by=_PLAYER,
        caller=Caller.MATCH_REFEREE,
        request=v2.GameOver,
        timeout_setting=GAME_OVER_TIMEOUT,
        title="Tell the result",
        description="A referee tells this player how a match ended. Answers {status: ok}.",
        effect=Effect.REPEATABLE,
    ),
    Method(
        name="notify_game_error",
        served_by=_PLAYER,
        caller=Caller.MATCH_REFEREE,
        request=v2.GameError,
        timeout_setting=GAME_OVER_TIMEOUT,
        title="Tell of an error",
        description=(
            "A referee tells this player what went wrong with its answer, and what follows. Answers {status: ok}."
        ),
        effect=Effect.REPEATABLE,
    ),
    Method(
        name="notify_round",
        served_by=_BOTH,
        caller=Caller.MANAGER,
        request=v2.RoundAnnouncement,
        title="Announce a round",
        description="The manager announces a round: who meets whom, and where. Answers {status: ok}.",
        effect=Effect.REPEATABLE,
    ),
    Method(
        name="update_standings",
        served_by=_BOTH,
        caller=Caller.MANAGER,
        request=v2.LeagueStandingsUpdate,
        title="Tell the standings",
        description="The manager tells the table after a round. Answers {status: ok}.",
        effect=Effect.REPEATABLE,
    ),
    Method(
        name="notify_round_completed",
        served_by=_BOTH,
        caller=Caller.MANAGER,
        request=v2.RoundCompletedNotice,
        title="Tell the end of a round",
        description="The manager tells that a round is over. Answers {status: ok}.",
        effect=Effect.REPEATABLE,
    ),
    Method(
        name="notify_league_completed",
        served_by=_BOTH,
        caller=Caller.MANAGER,
        request=v2.LeagueCompletedNotice,
        title="Tell the end of the league",
        description="The manager tells the champion and the final table. Answers {status: ok}.",
        effect=Effect.REPEATABLE,
    ),
    Method(
        name="get_player_state",
        served_by=_PLAYER,
        question=answers.OwnStateQuestion,
        answer=answers.PlayerStateAnswer,
        title="Get this player's state",
        description=(
            "What this player remembers: its state, its statistics, its latest games (up to 200) with both sides'"
            " moves, and what it has learnt of each opponent. It tells of itself alone."
        ),
        errors=(ErrorCode.PLAYER_NOT_REGISTERED,),
        effect=Effect.READS,
    ),
    Method(
        name="get_rules",
        served_by=_ALL,
        question=answers.RulesQuestion,
        answer=answers.RulesAnswer,
        title="Get the rules of a game",
        description=(
            "How a game is played, in plain words, with its parameters and the messages in which moves are asked"
            " for and answered. Call it before you choose a move or judge one."
        ),
        errors=(ErrorCode.INVALID_MESSAGE_FORMAT,),
        effect=Effect.READS,
    ),
    Method(
        name="get_protocol",
        served_by=_ALL,
        question=answers.ProtocolQuestion,
        answer=answers.ProtocolAnswer,
        title="Get the protocol",
        description=(
            "Version, methods (who serves them, who may call them) and message types of the league protocol. With"
            " `message_type`, `schemas` holds that message's JSON Schema; with `schemas` true, those of all"
            " messages."
        ),
        errors=(ErrorCode.INVALID_MESSAGE_FORMAT,),
        effect=Effect.READS,
    ),
)

METHODS: Mapping[str, Method] = {method.name: method for method in _TABLE}


def methods_served_by(role: Role) -> tuple[Method, ...]:
    """The methods that agents of a role serve."""
    return tuple(method for method in METHODS.values() if role in method.served_by)
