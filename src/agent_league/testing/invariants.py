"""Invariants of every simulated league, whatever faults it had: one small function each.

Each yields a sentence for every violation that it finds. They recompute what they check themselves, so that they share
no mistake with the agents.
"""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import orjson
from pydantic import ValidationError

from agent_league.config.models import LadderConfig
from agent_league.errors import Refusal
from agent_league.formats.base import PlayerGroups, TournamentRecord
from agent_league.formats.play_off import pair_play_off, split_leaders
from agent_league.league.ladder_record import LadderRecord
from agent_league.league.stored_rows import result_from_row
from agent_league.league.tournament import counts_byes
from agent_league.model.results import MatchResult, Scoring
from agent_league.model.schedule import LeagueRound
from agent_league.protocol.checks import check_envelope, parse_fields
from agent_league.protocol.methods import METHODS
from agent_league.protocol.v2 import MESSAGES, LeagueError
from agent_league.storage.base import MatchRow
from agent_league.testing.faults import MANAGER_NAME, IncidentKind
from agent_league.testing.league_evidence import LeagueEvidence, RecordedCall
from agent_league.text import MAX_PHRASE, MAX_SENTENCE, shorten

Invariant = Callable[[LeagueEvidence], Iterator[str]]
PlayerRows = dict[str, dict[str, Any]]
PointsAgainst = Counter[tuple[str, str]]
"""By player and opponent."""

REGISTRATIONS = {"register_player": "player_id", "register_referee": "referee_id"}
OUR_FAULTS = frozenset(
    {
        "handler_failed",
        "match_failed",
        "match_aborted",
        "answer_not_json",
        "watcher_failed",
        "strategy_failed",
        "strategy_chose_illegal_move",
    }
)
"""Log events that indicate a bug in our own code."""
LARGEST_NUMBER = 10
DRAW_STEP = 1
STEPS_A_ROUND = 2
"""Both choose at once, and a number is drawn."""
GRACE_SECONDS = 60
"""Seconds after a fault during which it may still have consequences."""
REPORTING_SECONDS = 20
"""Seconds within which a referee must repeat an unanswered report."""
INTERNAL_ERROR = -32603
LEAST_ORDERS = 2
"""Requests to a referee before its match may become void."""
VOID_REASON = "void: counts for nobody"


def league_is_completed(evidence: LeagueEvidence) -> Iterator[str]:
    """Every league is completed once faults have ended."""
    saved = evidence.saved_league
    if saved is None:
        yield "no league was ever begun"
    elif not saved.season.announced:
        missing = sum(row.result is None for row in saved.matches)
        yield f"the league is {saved.season.phase}, {missing} of {len(saved.matches)} matches have no result"


def each_pairing_has_one_result(evidence: LeagueEvidence) -> Iterator[str]:
    """Each pairing has exactly one result; in a round robin, each pair has."""
    players = (
        sorted(row.agent_id for row in evidence.saved_league.agents if row.role == "player")
        if evidence.saved_league
        else []
    )
    if len(players) != evidence.scenario.players:
        yield f"{len(players)} players are registered, not {evidence.scenario.players}: {players}"
    if missing := [match_id for match_id, row in evidence.match_rows.items() if row.result is None]:
        yield f"matches without a result: {missing}"
    if evidence.scenario.format != "round_robin":
        return
    rows = [row for match_id, row in evidence.match_rows.items() if match_id not in evidence.play_off_matches]
    met = Counter(tuple(sorted((row.player_a, row.player_b))) for row in rows if row.result)
    for pair in combinations(players, 2):
        if met[pair] != 1:
            yield f"{pair[0]} and {pair[1]} have {met[pair]} results"
    if extra := set(met) - set(combinations(players, 2)):
        yield f"results of pairs that don't exist: {sorted(extra)}"


def rounds_follow_from_the_results(evidence: LeagueEvidence) -> Iterator[str]:
    """Each round is the one that the format pairs from the results before it, and none is missing at the end."""
    whole = evidence.rebuild_tournament()
    # a round that was paired before a result was corrected stays as it is
    for number, round_ in enumerate(() if evidence.is_corrected else whole.rounds):
        before = replace(whole, rounds=whole.rounds[:number], results=_select_results(whole.results, number))
        paired = _pair_next_round(evidence, before)
        if paired != round_:
            yield f"round {number + 1} has {round_}, expected {paired}"
    if whole.rounds and (further := _pair_next_round(evidence, whole)):
        yield f"the league ended before {further}"


def _pair_next_round(evidence: LeagueEvidence, before: TournamentRecord) -> LeagueRound | None:
    """Pair the round that has to follow: by the format, then for first place if that is asked for."""
    has_play_off = bool(before.rounds) and before.rounds[-1].is_play_off
    round_ = None if has_play_off else evidence.chosen_format.next_round(before)
    is_void = all(result.is_void for result in before.results.values())
    if round_ is not None or is_void or not evidence.scenario.play_off:
        return round_
    return pair_play_off(before, _rank_without_play_off(evidence, *_count_points(evidence), before)[0])


def _select_results(results: Mapping[str, MatchResult], until: int) -> dict[str, MatchResult]:
    return {match_id: result for match_id, result in results.items() if result.round_id <= until}


def standings_follow_from_the_matches(evidence: LeagueEvidence) -> Iterator[str]:
    """The standings in every place equal those recomputed from the matches, and have the same order."""
    expected = _compute_standings(evidence)
    if manager := evidence.world.manager:
        rows = [row.to_json() for row in manager.state.standings()]
        yield from _compare_standings("the manager's table", rows, expected)
    ends = sorted(evidence.calls_of("notify_league_completed"), key=lambda said: said.call.sent_at)
    for said in ends[-1:]:
        yield from _compare_standings("LEAGUE_COMPLETED", said.params["final_standings"], expected)
    filled = {
        incident.agent_name for incident in evidence.scenario.incidents if incident.kind is IncidentKind.FILL_DISK
    }
    path = evidence.world.agents[MANAGER_NAME].home / "data" / "leagues" / "league_simulated" / "standings.json"
    if not filled and evidence.world.manager and path.exists():
        yield from _compare_standings("standings.json", orjson.loads(path.read_bytes())["standings"], expected)


def updates_tell_the_table_of_their_round(evidence: LeagueEvidence) -> Iterator[str]:
    """A standings update after a round contains the results up to that round, and none of later ones."""
    for said in () if evidence.is_corrected else evidence.calls_of("update_standings"):
        round_id = said.params["round_id"]
        yield from _compare_standings(
            f"the update after round {round_id}", said.params["standings"], _compute_standings(evidence, round_id)
        )


def only_what_a_silent_referee_took_is_void(evidence: LeagueEvidence) -> Iterator[str]:
    """A match is void only if its referee is silent and was asked at least twice."""
    orders = Counter((said.call.target, said.params["match_id"]) for said in evidence.calls_of("start_match"))
    for match_id, row in evidence.match_rows.items():
        if not _is_void_match(row) or _is_corrected_match(row):
            continue
        referee = evidence.referee_agents[str(row.referee_id)]
        if referee not in evidence.scenario.silent_referees:
            yield f"{match_id} is void, though {referee} reports what it has played"
        elif orders[referee, match_id] < LEAST_ORDERS:
            yield f"{match_id} is void, though {referee} was asked to play it {orders[referee, match_id]} times"


def acknowledged_registrations_are_kept(evidence: LeagueEvidence) -> Iterator[str]:
    """An agent whose registration was accepted is stored under that id, name and address, and keeps its id."""
    rows = {row.agent_id: row for row in evidence.saved_league.agents} if evidence.saved_league else {}
    ids: dict[str, str] = {}
    accepted: set[int] = set()
    for said in evidence.calls_of(*REGISTRATIONS):
        result = said.result
        is_heard = said.call.number not in accepted and not said.call.has_failed  # neither doubled nor too late
        if result.get("status") == "REJECTED" and is_heard:
            yield f"{said.call.source} was rejected: {result.get('reason')} ({result.get('detail')})"
        if result.get("status") != "ACCEPTED":
            continue
        accepted.add(said.call.number)
        agent_id = result[REGISTRATIONS[said.method]]
        meta = said.params.get("player_meta") or said.params.get("referee_meta") or {}
        row = rows.get(agent_id)
        if row is None or (row.display_name, row.endpoint) != (meta["display_name"], meta["contact_endpoint"]):
            yield f"{said.call.source} was registered as {agent_id}, which the store doesn't know"
        if ids.setdefault(said.call.source, agent_id) != agent_id:
            yield f"{said.call.source} was {ids[said.call.source]} first and {agent_id} later"


def acknowledged_results_are_kept(evidence: LeagueEvidence) -> Iterator[str]:
    """An acknowledged result is stored as it was reported."""
    for said in evidence.calls_of("report_match_result"):
        if not said.is_ok:
            continue
        reported = said.params["result"]
        row = evidence.all_match_rows.get(said.params["match_id"])
        kept = (row.result or {}) if row else {}
        if overruled := kept.get("details", {}).get("overruled"):
            kept = {"outcome": overruled["status"], "winner": overruled["winner_player_id"]}
        if (kept.get("outcome"), kept.get("winner")) != (reported["status"], reported["winner"]):
            yield (
                f"{said.params['match_id']} was acknowledged as {reported['status']} of {reported['winner']} "
                f"and is kept as {kept.get('outcome')} of {kept.get('winner')}"
            )


def acknowledged_corrections_are_kept(evidence: LeagueEvidence) -> Iterator[str]:
    """A confirmed correction stands in the audit log, which has no gap; each rerun has one match that replaces it."""
    audit = evidence.saved_league.audit if evidence.saved_league else ()
    if [row.number for row in audit] != list(range(1, len(audit) + 1)):
        yield f"the audit log has the numbers {[row.number for row in audit]}"
    kept = Counter((row.entry["action"], row.entry["target"]) for row in audit)
    for what, count in Counter(evidence.world.acknowledged_corrections).items():
        if kept[what] < count:
            yield f"{what} was confirmed {count} times and stands in the audit log {kept[what]} times"
    replaced = Counter(row.replaces for row in evidence.all_match_rows.values() if row.replaces)
    for match_id in {row.entry["target"] for row in audit if row.entry["action"] == "RERUN_MATCH"} | set(replaced):
        if replaced[match_id] != 1 or kept["RERUN_MATCH", match_id] != 1:
            yield f"{match_id} was played again {replaced[match_id]} times by {kept['RERUN_MATCH', match_id]} commands"


def tokens_stay_good(evidence: LeagueEvidence) -> Iterator[str]:
    """The manager accepts the last token it gave to an agent, even after restarts."""
    given: defaultdict[str, list[RecordedCall]] = defaultdict(list)
    for said in evidence.calls_of(*REGISTRATIONS):
        given[said.call.source].append(said)
    for said in evidence.recorded_calls:
        token = said.params.get("auth_token")
        if said.call.target != MANAGER_NAME or said.result.get("error_code") != "E012" or token is None:
            continue
        mine = given[said.call.source]
        told = next((one for one in mine if one.result.get("auth_token") == token), None)
        if told and not any(_may_have_replaced(one, told, said) for one in mine):
            yield f"{said.call.source} was refused ({said.method}) though its token is the last one it was given"


def results_come_from_their_referees(evidence: LeagueEvidence) -> Iterator[str]:
    """A result is accepted only from the referee to which the match was assigned last."""
    if any(incident.kind is IncidentKind.SECOND_MANAGER for incident in evidence.scenario.incidents):
        return  # two managers may assign a match to two referees
    orders: defaultdict[str, list[RecordedCall]] = defaultdict(list)
    for said in evidence.calls_of("start_match"):
        orders[said.params["match_id"]].append(said)
    for said in evidence.calls_of("report_match_result"):
        earlier = [order for order in orders[said.params["match_id"]] if order.call.sent_at <= said.answered_at]
        if said.is_ok and earlier[-1].call.target != said.call.source:
            yield f"{said.params['match_id']} was taken from {said.call.source}, not from {earlier[-1].call.target}"


def results_are_reported_until_answered(evidence: LeagueEvidence) -> Iterator[str]:
    """A running referee repeats a report until the manager answers or the league is over."""
    moments = evidence.world.trace.entries
    over = min((moment.at for moment in moments if moment.event == "LeagueCompleted"), default=float("inf"))
    killed = {moment.source: moment.at for moment in moments if moment.event == "killed"}
    last = {(said.call.source, said.params["match_id"]): said.call for said in evidence.calls_of("report_match_result")}
    for (referee, match_id), call in last.items():
        if (row := evidence.all_match_rows.get(match_id)) and _is_void_match(row):
            continue  # the end of its round has told the referee so
        if call.has_failed and killed.get(referee, 0) < call.sent_at < over - REPORTING_SECONDS:
            yield f"{referee} reported {match_id} without an answer, and never again"


def ids_are_unique(evidence: LeagueEvidence) -> Iterator[str]:
    """No two agents share an id, a name or an address; no two matches share an id."""
    agents = evidence.saved_league.agents if evidence.saved_league else ()
    for what in ("agent_id", "display_name", "endpoint"):
        for value, count in Counter(getattr(row, what) for row in agents).items():
            if count > 1:
                yield f"{count} agents have the {what} {value}"
    given: defaultdict[str, set[str]] = defaultdict(set)
    for said in evidence.calls_of(*REGISTRATIONS):
        if said.result.get("status") == "ACCEPTED":
            given[said.result[REGISTRATIONS[said.method]]].add(said.call.source)
    for agent_id, owners in given.items():
        if len(owners) > 1:
            yield f"{agent_id} was given to {sorted(owners)}"


def no_match_has_two_winners(evidence: LeagueEvidence) -> Iterator[str]:
    """All acknowledged reports of a match name the same winner, one of its players; both players are told the same."""
    winners: defaultdict[str, set[Any]] = defaultdict(set)
    for said in evidence.calls_of("report_match_result"):
        if said.is_ok:
            winners[said.params["match_id"]].add(said.params["result"]["winner"])
    told: defaultdict[tuple[str, str], set[Any]] = defaultdict(set)
    for said in evidence.calls_of("notify_match_result"):
        key = (said.params["match_id"], said.params["draw_seed"])
        if said.params["game_result"]["reason"] == VOID_REASON:
            continue  # withdraws an earlier notice
        told[key].add(said.params["game_result"]["winner_player_id"])
    for match, found in [*winners.items(), *told.items()]:
        if len(found) > 1:
            yield f"{match} has the winners {sorted(map(str, found))}"
    for match_id, row in evidence.match_rows.items():
        winner = (row.result or {}).get("winner")
        if winner is not None and winner not in (row.player_a, row.player_b):
            yield f"{match_id} was won by {winner}, who didn't play in it"


def draws_match_their_commitments(evidence: LeagueEvidence) -> Iterator[str]:
    """The revealed seed matches the commitment, the drawn number follows from the seed, and the winner from that."""
    committed: defaultdict[tuple[str, str, str], set[str]] = defaultdict(set)
    for said in evidence.calls_of("handle_game_invitation", "choose_parity", "make_move"):
        shown = said.params.get("draw_commitment") or said.params["context"]["draw_commitment"]
        committed[_play_key(said)].add(shown)
    lives = Counter(moment.source for moment in evidence.world.trace.entries if moment.event == "start")
    for play, shown in committed.items():
        if len(shown) > lives[play[0]]:  # a restarted referee may begin the same match again
            yield f"{play[1]}: {len(shown)} commitments in one match"
    for said in evidence.calls_of("notify_match_result"):
        seed, result = said.params["draw_seed"], said.params["game_result"]
        if (shown := committed.get(_play_key(said))) and hashlib.sha256(seed.encode()).hexdigest() not in shown:
            yield f"{said.params['match_id']}: the seed doesn't fit its commitment"
        if result["status"] != "TECHNICAL_LOSS" and (problem := _find_draw_problem(seed, result)):
            yield f"{said.params['match_id']}: {problem}"


def only_known_rounds_are_left_out(evidence: LeagueEvidence) -> Iterator[str]:
    """A question leaves out rounds only if its player keeps them and has answered a question that had them."""
    keeping, answered = set(), set()
    for said in evidence.calls_of("handle_game_invitation"):
        if said.result.get("rounds_since") is True:
            keeping.add(_play_key(said))
    for said in sorted(evidence.calls_of("make_move"), key=lambda said: said.answered_at):
        if said.result.get("message_type") == "GAME_MOVE_RESPONSE":
            answered.add((_game_key(said), _count_rounds(said)))
    for said in evidence.calls_of("make_move"):
        since = said.params["context"].get("rounds_since")
        where = f"{said.params['match_id']}: {said.call.target} was asked without the first {since} rounds"
        if since is None:
            continue
        if _play_key(said) not in keeping:
            yield f"{where}, which it doesn't keep"
        elif (_game_key(said), since) not in answered:
            yield f"{where}, of which it never answered a question"


def players_see_all_rounds(evidence: LeagueEvidence) -> Iterator[str]:
    """What a strategy sees of a match are all its rounds so far, as the referee has shown them, in whatever parts."""
    shown: defaultdict[tuple[str, ...], dict[int, Any]] = defaultdict(dict)
    plays: defaultdict[tuple[str, str], set[tuple[str, ...]]] = defaultdict(set)
    for said in evidence.calls_of("make_move"):
        first = said.params["context"].get("rounds_since") or 0
        key = _game_key(said)
        plays[said.call.target, said.params["match_id"]].add(key)
        for number, pair in enumerate(said.params["move_request"]["context"]["rounds"], start=first):
            if shown[key].setdefault(number, pair) != pair:
                yield f"{key[1]}: round {number} was shown in two ways"
    for seen in evidence.world.seen_views:
        known = [shown[key] for key in plays[seen.agent_name, seen.match_id]]
        whole = [[rounds.get(number) for number in range(seen.step // STEPS_A_ROUND)] for rounds in known]
        if seen.rounds not in whole:
            yield f"{seen.match_id}: {seen.agent_name} saw {seen.rounds} at step {seen.step}, and was shown {whole}"


def messages_are_valid(evidence: LeagueEvidence) -> Iterator[str]:
    """Every message that our agents sent is valid against its model."""
    seen: set[int] = set()
    for said in evidence.recorded_calls:
        if id(said.params) not in seen:
            seen.add(id(said.params))
            yield from _check_request(said)
        if said.answer is not None and id(said.answer) not in seen:
            seen.add(id(said.answer))
            yield from _check_answer(said)


def nobody_raised(evidence: LeagueEvidence) -> Iterator[str]:
    """No agent lets an error escape, ends by itself, or reports an internal error."""
    yield from evidence.world.escaped_errors
    for said in evidence.recorded_calls:
        error = (said.answer or {}).get("error")
        if isinstance(error, dict) and error.get("code") == INTERNAL_ERROR:
            yield f"{said.call.target} answered {said.method} with an error of its own"
    for name, line in evidence.log_lines:
        if orjson.loads(line)["event_type"] in OUR_FAULTS:
            yield f"{name} logged {shorten(line, MAX_SENTENCE)}"


def everybody_knows_the_end(evidence: LeagueEvidence) -> Iterator[str]:
    """LEAGUE_COMPLETED has reached every running agent."""
    if evidence.world.manager is not None:
        yield from (f"{name} doesn't know that the league is over" for name in evidence.world.uninformed_agents())


def nobody_loses_without_a_fault(evidence: LeagueEvidence) -> Iterator[str]:
    """A player loses technically only after a fault that affected this player.

    An unanswered registration counts as such a fault, because the player can't know whom to answer.
    """
    unanswered = defaultdict(list)
    for said in evidence.calls_of("register_player"):
        if said.call.has_failed and said.call.arrivals:
            unanswered[said.call.source].append((said.call.sent_at, said.call.sent_at))
    begun: dict[str, float] = {}
    ended: dict[str, float] = {}
    for said in evidence.calls_of("handle_game_invitation", "start_match"):
        begun.setdefault(said.params["match_id"], said.call.sent_at)
    for said in evidence.calls_of("report_match_result"):
        if said.is_ok:
            ended.setdefault(said.params["match_id"], said.call.sent_at)
    for match_id, row in evidence.match_rows.items():
        result = row.result or {}
        if result.get("outcome") != "TECHNICAL_LOSS" or _is_void_match(row) or _is_corrected_match(row):
            continue
        for player_id in {row.player_a, row.player_b} - {result["winner"]}:
            how = result["terminations"].get(player_id, "nothing at all")
            since = 0.0 if how == "suspended" else begun.get(match_id, 0.0)
            seat = evidence.player_agents[player_id]
            touches = [*evidence.world.network.fault_intervals[seat], *unanswered[seat]]
            until = ended.get(match_id, float("inf"))
            if not any(start <= until and end + GRACE_SECONDS >= since for start, end in touches):
                yield f"{player_id} lost {match_id} ({how}), though nothing had happened to it"


def no_token_is_written(evidence: LeagueEvidence) -> Iterator[str]:
    """No token appears in a log line or in an error message."""
    refusals = {str(said.answer) for said in evidence.recorded_calls if said.refusal}
    text = "\n".join([*refusals, evidence.stderr_text, *(line for _, line in evidence.log_lines)])
    for token in sorted(token for token in evidence.sent_tokens if token in text):
        place = text.index(token)
        yield f"a token was written: {text[max(place - 300, 0) : place]}..."


INVARIANTS: Sequence[Invariant] = (
    nobody_raised,
    league_is_completed,
    each_pairing_has_one_result,
    rounds_follow_from_the_results,
    standings_follow_from_the_matches,
    updates_tell_the_table_of_their_round,
    only_what_a_silent_referee_took_is_void,
    acknowledged_registrations_are_kept,
    acknowledged_results_are_kept,
    acknowledged_corrections_are_kept,
    tokens_stay_good,
    results_come_from_their_referees,
    results_are_reported_until_answered,
    ids_are_unique,
    no_match_has_two_winners,
    draws_match_their_commitments,
    only_known_rounds_are_left_out,
    players_see_all_rounds,
    messages_are_valid,
    everybody_knows_the_end,
    nobody_loses_without_a_fault,
    no_token_is_written,
)


def ladder_sums_follow_from_the_matches(evidence: LeagueEvidence) -> Iterator[str]:
    """The sums of a practice ladder count each of its results once, for the right versions and seats."""
    saved = evidence.saved_league
    if saved is None:
        return
    rows = {row.key: row.value for row in saved.ladder}
    record = LadderRecord(LadderConfig(), save_row=lambda _: None)
    record.restore_rows(row for row in saved.ladder if not row.key.startswith(("pair/", "tally/")))
    for row in saved.matches:
        if (result := result_from_row(row)) is not None:
            record.add_result(result, Scoring())
    pairs = {f"pair/{one}/{other}": tally.to_json() for (one, other), tally in record.list_pairs().items()}
    for key in sorted({*pairs, *(key for key in rows if key.startswith("pair/"))}):
        if rows.get(key) != pairs.get(key):
            yield f"{key} is {rows.get(key)}, and the matches give {pairs.get(key)}"


def ladder_players_meet_one_at_a_time(evidence: LeagueEvidence) -> Iterator[str]:
    """The ladder goes on after all faults, and pairs nobody who still plays."""
    open_matches = Counter(
        player_id
        for row in evidence.match_rows.values()
        if row.result is None
        for player_id in (row.player_a, row.player_b)
    )
    for player_id, times in open_matches.items():
        if times > 1:
            yield f"{player_id} has {times} open matches"
    if not any(row.result for row in evidence.match_rows.values()):
        yield "no match has a result"


LADDER_INVARIANTS: Sequence[Invariant] = (
    nobody_raised,
    ladder_sums_follow_from_the_matches,
    ladder_players_meet_one_at_a_time,
    only_what_a_silent_referee_took_is_void,
    acknowledged_registrations_are_kept,
    acknowledged_results_are_kept,
    tokens_stay_good,
    results_come_from_their_referees,
    results_are_reported_until_answered,
    ids_are_unique,
    no_match_has_two_winners,
    draws_match_their_commitments,
    only_known_rounds_are_left_out,
    players_see_all_rounds,
    messages_are_valid,
    nobody_loses_without_a_fault,
    no_token_is_written,
)
"""Those of a practice ladder, which has neither rounds nor an end."""


def _compute_standings(evidence: LeagueEvidence, until: int | None = None) -> dict[str, dict[str, Any]]:
    """Compute each player's row after a round: points 3, 1, 0, and the rank that those who are level share."""
    rows, against = _count_points(evidence, until)
    tournament = evidence.rebuild_tournament(until)
    leaders, *others = _rank_without_play_off(evidence, rows, against, tournament)
    rank = 1
    for group in (*split_leaders(tournament, leaders), *others):
        for player in group:
            rows[player]["shared_rank"] = rank
        rank += len(group)
    return rows


def _count_points(evidence: LeagueEvidence, until: int | None = None) -> tuple[PlayerRows, PointsAgainst]:
    """Count the matches and points of each player, and its points against each opponent, without the play-off."""
    rows: PlayerRows = {}
    against: PointsAgainst = Counter()
    for player in evidence.player_agents:
        rows[player] = dict.fromkeys(("played", "wins", "draws", "losses", "points"), 0)
    for match in evidence.match_rows.values():
        if match.result is None or _is_void_match(match) or (until is not None and match.round_id > until):
            continue
        if match.match_id in evidence.play_off_matches:
            continue
        for player, other in ((match.player_a, match.player_b), (match.player_b, match.player_a)):
            row = rows[player]
            drawn, won = match.result["outcome"] == "DRAW", match.result["winner"] == player
            points = 1 if drawn else 3 * won
            row["played"] += 1
            row["draws" if drawn else "wins" if won else "losses"] += 1
            row["points"] += points
            against[player, other] += points
    for round_ in evidence.rebuild_tournament(until).rounds[:until]:
        if counts_byes(evidence.chosen_format, round_):
            for player in round_.byes:
                rows[player]["points"] += 3
    return rows, against


def _rank_without_play_off(
    evidence: LeagueEvidence, rows: PlayerRows, against: PointsAgainst, tournament: TournamentRecord
) -> PlayerGroups:
    rounds = [round_ for round_ in tournament.rounds if not round_.is_play_off]
    by_format = evidence.chosen_format.rank_players(replace(tournament, rounds=rounds)) if rounds else None
    return _rank_players(rows, against) if by_format is None else by_format


def _is_corrected_match(row: MatchRow) -> bool:
    """Whether an organiser decided its result."""
    return "corrected" in (row.result or {}).get("details", {})


def _is_void_match(row: MatchRow) -> bool:
    ends = (row.result or {}).get("terminations", {})
    return [ends.get(player) for player in (row.player_a, row.player_b)] == ["void", "void"]


def _rank_players(rows: PlayerRows, against: PointsAgainst) -> list[list[str]]:
    """Rank by points, wins, points among those who are level, draws; players of one group are level."""
    level: defaultdict[tuple[int, int], list[str]] = defaultdict(list)
    for player, row in rows.items():
        level[row["points"], row["wins"]].append(player)
    ranked: list[list[str]] = []
    for _, group in sorted(level.items(), reverse=True):
        meetings = {one: sum(against[one, other] for other in group) for one in group}
        keys = {one: (-meetings[one], -rows[one]["draws"]) for one in group}
        ranked += [[one for one in group if keys[one] == key] for key in sorted(set(keys.values()))]
    return ranked


def _compare_standings(
    where: str, rows: Sequence[dict[str, Any]], expected: Mapping[str, dict[str, Any]]
) -> Iterator[str]:
    if sorted(row["player_id"] for row in rows) != sorted(expected):
        yield f"{where} has {len(rows)} rows, expected {len(expected)}"
        return
    for rank, row in enumerate(rows, start=1):
        right = {**expected[row["player_id"]], "rank": rank}
        wrong = {key: (row[key], value) for key, value in right.items() if key in row and row[key] != value}
        if wrong:
            yield f"{where}, rank {rank}: found and expected differ in {wrong}"


def _may_have_replaced(one: RecordedCall, told: RecordedCall, refused: RecordedCall) -> bool:
    """Whether a registration may have replaced a token before that was refused."""
    if one.call.sent_at > refused.answered_at:
        return False
    if one.call.arrivals > len(one.call.replies):
        return True  # it was served, but perhaps not to the end
    return one is not told and one.answered_at >= told.answered_at


def _play_key(said: RecordedCall) -> tuple[str, str, str]:
    """Key of one playing of a match: referee, match id, player's token."""
    return (said.call.source, said.params["match_id"], said.params["auth_token"])


def _game_key(said: RecordedCall) -> tuple[str, ...]:
    """Key of one playing of a match, also where a restarted referee begins it again with the same token."""
    return (*_play_key(said), said.params["context"]["draw_commitment"])


def _count_rounds(said: RecordedCall) -> int:
    """Count the rounds of a question, with those that it leaves out."""
    shown = said.params["move_request"]["context"]["rounds"]
    return len(shown) + (said.params["context"].get("rounds_since") or 0)


def _find_draw_problem(seed: str, result: dict[str, Any]) -> str | None:
    if "drawn_number" not in result:
        return _find_rounds_problem(seed, result)
    number = _draw_number(seed, DRAW_STEP)
    if result["drawn_number"] != number:
        return f"{result['drawn_number']} was drawn, and the seed gives {number}"
    right = ("even", "odd")[number % 2]
    winners = [player for player, choice in result["choices"].items() if choice == right]
    winner = winners[0] if len(winners) == 1 else None
    if result["winner_player_id"] != winner:
        return f"{result['winner_player_id']} won, and {winner} was right"
    return None


def _find_rounds_problem(seed: str, result: dict[str, Any]) -> str | None:
    """The same of a match of several games, whose winner was right more often than the other."""
    count = max(map(len, result["choices"].values()))
    numbers = [_draw_number(seed, DRAW_STEP + STEPS_A_ROUND * number) for number in range(count)]
    right = {
        player: sum(choice == ("even", "odd")[number % 2] for choice, number in zip(made, numbers, strict=True))
        for player, made in result["choices"].items()
    }
    most = max(right.values())
    winners = [player for player, times in right.items() if times == most]
    winner = winners[0] if len(winners) == 1 else None
    if result["winner_player_id"] != winner:
        return f"{result['winner_player_id']} won, and the numbers {numbers} make {winner} the winner"
    return None


def _draw_number(seed: str, step: int) -> int:
    share = int.from_bytes(hashlib.sha256(f"{seed}:{step}".encode()).digest()[:8], "big") / 2**64
    return int(share * LARGEST_NUMBER) + 1


def _check_request(said: RecordedCall) -> Iterator[str]:
    method = METHODS.get(said.method)
    if method is None:
        yield f"{said.call.source} called {said.method}, which nobody knows"
    elif method.request is not None:
        try:
            check_envelope(said.params, method.request.TYPE)
            parse_fields(method.request, said.params)
        except Refusal as refusal:
            yield f"{said.call.source} sent {said.method}: {refusal}"


def _check_answer(said: RecordedCall) -> Iterator[str]:
    method, answer = METHODS.get(said.method), said.answer or {}
    where = f"{said.call.target} answered {said.method}"
    if answer.get("jsonrpc") != "2.0" or ("result" in answer) == ("error" in answer):
        yield f"{where} with no JSON-RPC frame: {shorten(answer, MAX_PHRASE)}"
    elif "result" in answer and method is not None:
        result = answer["result"]
        kind = result.get("message_type") if isinstance(result, dict) else None
        if kind is None and method.reply is None:
            return
        model = MESSAGES.get(str(kind))
        if model not in (method.reply, LeagueError) or model is None:
            yield f"{where} with {kind}"
            return
        try:
            model.model_validate(result)
        except ValidationError as error:
            yield f"{where}: {error}"
