"""The page of a match: its players, its result, the game step by step, and the conversation.

A match that is not over shows only its players and state, since its moves are still secret.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from agent_league.clock import format_duration, format_time_taken, format_utc, parse_utc
from agent_league.errors import Refusal
from agent_league.games.base import CHANCE
from agent_league.games.registry import find_game_title
from agent_league.games.view import add_moves, build_rounds_table, build_scene, format_amount
from agent_league.league.match_file_reader import read_match
from agent_league.model.result_words import TERMINATION_TEXTS, describe_ending, label_result
from agent_league.model.results import MatchResult, Termination
from agent_league.referee.replay import MatchReplay, ReplayStep, replay_match, to_match_content
from agent_league.referee.transcript import filter_objects
from agent_league.text import MAX_SENTENCE, MAX_WORD, capitalise, format_move, quote, redact_addresses, shorten
from agent_league.web.conversation import read_conversation
from agent_league.web.league_reader import LeagueReader
from agent_league.web.page import Page, PageData, PageNotFound
from agent_league.web.pages.audit import build_audit_line
from agent_league.web.thinking_times import MatchClock, describe_round_times, read_match_clock

MOST_STEPS = 301
"""Maximum positions in a page."""
MAX_LIMIT = 10**6
"""Seconds; more isn't shown as a limit."""


def read_match_data(reader: LeagueReader, key: str) -> PageData:
    season = reader.state
    try:
        match = reader.queries.get_match(key)
    except Refusal:
        raise PageNotFound(_no_match_sentence(reader, key)) from None
    result, names = reader.queries.view_match(season.get_pairing(key)).result, reader.player_names
    state = match["state"]
    if state == "RUNNING" and match["referee_id"] is None:
        state = "PENDING"
    sides = [
        {
            "player_id": player["player_id"],
            "name": player["display_name"],
            "role": player["role_in_match"],
            "side": side,
            "sign": label_result(result, player["player_id"], is_playing=state == "RUNNING"),
            "points": season.scoring.points_for(result, player["player_id"]) if result else None,
            "ending": _describe_ending(result, player["player_id"]),
        }
        for side, player in zip("ab", match["players"], strict=True)
    ]
    return {
        **match,
        "page_title": f"{sides[0]['name']} against {sides[1]['name']}, {key}",
        **_find_neighbours(reader, key),
        "state": state,
        "sides": sides,
        "why_they_meet": season.get_pairing(key).reason,
        "referee_name": _referee_name(reader, match["referee_id"]),
        "told": describe_ending(result, names) if result else "",
        "recorded": result,
        "own_parameters": dict(season.config.game_parameters),
        "paths": reader.paths,
        "hides_names": season.hides_names,
        "corrections": [build_audit_line(reader, entry) for entry in season.list_corrections(key)],
        "replaces": season.get_pairing(key).replaces,
        "replaced_by": match.get("replaced_by"),
    }


def complete_match_data(told: PageData) -> PageData:
    """Read the match file and replay the match."""
    result: MatchResult | None = told["recorded"]
    if result is None:
        return {**told, "file": None}
    paths, league_id, referee_id = told["paths"], told["league_id"], told["referee_id"]
    filed = read_match(paths, league_id, result, referee_id)
    found = filed.content
    content = found or to_match_content(result, told["game_type"], told["own_parameters"])
    names = [side["name"] for side in told["sides"]]
    return {
        **told,
        "file": found,
        "place": filed.relative_path,
        "no_file": filed.missing_reason,
        **replay_game(content, result.players, names),
        "reason": _name_players(
            _describe_reason(None if told["hides_names"] else found, result, told["told"]), result.players, names
        ),
        "timing": _read_timing(found),
        "draw": _read_draw(found),
        "move_limit": _read_move_limit(found),
        "entries": read_conversation(found) if found and not told["hides_names"] else [],
        "messages": sum(entry["direction"] != "drawn" for entry in found["transcript"]) if found else 0,
    }


def replay_game(content: Mapping[str, Any], players: Iterable[str], names: Sequence[str]) -> dict[str, Any]:
    """Replay a match file's content for `_match_game.html`: title, parameters, steps with their clocks, rounds.

    `players` are the ids and `names` the names by seat.
    """
    again = replay_match(content)
    steps, shortened = again.select_steps(MOST_STEPS)
    clock = read_match_clock(content, players, again.steps)
    return {
        "game_title": find_game_title(again.game_type),
        "parameters": ", ".join(
            f"{name} {format_move(value, MAX_WORD)}" for name, value in _game_parameters(content).items()
        ),
        "steps": [_build_step(again, step, names, clock) for step in steps],
        "clocks": clock.describe_sums(steps[-1].number) if steps else [],
        "shortfall": " ".join(filter(None, (shortened, again.shortfall))),
        "rounds": build_rounds_table(again.rounds, again.round_payoffs, MOST_STEPS) if again.rounds else None,
        "round_ends": {step.round: step.number for step in steps if step.totals},
        "round_times": describe_round_times(clock, again.steps) if again.rounds else {},
        "side_names": names,
    }


def list_match_keys(reader: LeagueReader) -> Iterable[str]:
    return [*(pairing.match_id for pairing in reader.state.schedule.pairings), *reader.state.replaced_matches]


def _no_match_sentence(reader: LeagueReader, key: str) -> str:
    known = reader.state.schedule.pairings
    there_are = f"they are {known[0].match_id} to {known[-1].match_id}" if known else "the league has not begun"
    return f"There is no match {quote(key)} in this league: {there_are}."


def _find_neighbours(reader: LeagueReader, key: str) -> dict[str, Any]:
    """Find the matches before and after one in the schedule, each with the names of its players."""
    pairings, names = reader.state.schedule.pairings, reader.player_names
    at = next((at for at, pairing in enumerate(pairings) if pairing.match_id == key), None)
    before, after = (None, None) if at is None else (at - 1, at + 1)

    def tell(place: int | None) -> dict[str, Any] | None:
        if place is None or not 0 <= place < len(pairings):
            return None
        pairing = pairings[place]
        return {"match_id": pairing.match_id, "players": [names.get(one, one) for one in pairing.players]}

    return {"previous_match": tell(before), "next_match": tell(after)}


def _name_players(sentence: str, players: Sequence[str], names: Sequence[str]) -> str:
    """Call players by their names in a sentence that has their ids."""
    by_id = dict(zip(players, names, strict=True))
    ids = "|".join(map(re.escape, by_id))
    return re.sub(rf"(?<!\w)(?:{ids})(?!\w)", lambda found: by_id[found[0]], sentence)


def _read_move_limit(found: Mapping[str, Any] | None) -> str:
    """Return how long a player may think about a move; empty if the file doesn't tell."""
    limits = (found or {}).get("limits")
    seconds = limits.get("move_sec") if isinstance(limits, dict) else None
    if not isinstance(seconds, int | float) or isinstance(seconds, bool):
        return ""
    return format_duration(seconds) if 0 < seconds < MAX_LIMIT else ""


def _referee_name(reader: LeagueReader, referee_id: str | None) -> str:
    member = reader.state.roster.get(referee_id) if referee_id else None
    return member.agent.display_name if member else referee_id or ""


def _describe_ending(result: MatchResult | None, player_id: str) -> str:
    how = result.terminations.get(player_id, Termination.NORMAL) if result else Termination.NORMAL
    return "" if how is Termination.NORMAL else TERMINATION_TEXTS[how]


def _describe_reason(found: Mapping[str, Any] | None, result: MatchResult, told: str) -> str:
    """Return how the match ended: in the match file's words if its result counts, otherwise in the league's."""
    counts = found and result.reported_outcome == (str(result.outcome), result.winner)
    said = (found["result"].get("reason") if found and counts else None) or told
    return capitalise(redact_addresses(shorten(said, MAX_SENTENCE)))


def _game_parameters(content: Mapping[str, Any]) -> Mapping[str, Any]:
    found = content.get("game_parameters")
    return {name: value for name, value in found.items() if value is not None} if isinstance(found, dict) else {}


def _read_timing(found: Mapping[str, Any] | None) -> dict[str, str] | None:
    """Return when a match began and how long it took."""
    states = filter_objects((found or {}).get("lifecycle"))
    moments = [moment for item in states if (moment := parse_utc(str(item.get("at"))))]
    if not moments:
        return None
    return {"began": format_utc(moments[0]), "took": format_time_taken(moments[0], moments[-1])}


def _read_draw(found: Mapping[str, Any] | None) -> dict[str, str] | None:
    """Return the commitment and the revealed seed of the match's draws."""
    told = (found or {}).get("draw")
    if not isinstance(told, dict):
        return None
    return {name: shorten(told.get(name)) for name in ("commitment", "seed")}


def _build_step(again: MatchReplay, step: ReplayStep, names: Sequence[str], clock: MatchClock) -> dict[str, Any]:
    scene = build_scene(again.game_type, step.view, None, step.moves)
    if scene and not step.is_whole:
        scene = add_moves(scene, step.moves)
    return {
        "number": step.number,
        "moves": _list_moves(step, names, clock),
        "clocks": clock.describe_sums(step.number),
        "round": step.round if again.is_repeated and step.number else None,
        "totals": " : ".join(map(format_amount, step.totals)) if step.totals else "",
        "is_whole": step.is_whole,
        "picture": scene,
        "text": "" if scene else again.render_step(step),
    }


def _list_moves(step: ReplayStep, names: Sequence[str], clock: MatchClock) -> list[dict[str, Any]]:
    return [
        {"side": None, "who": "draw", "move": format_move(move, MAX_WORD), "took": "", "bar": 0}
        if seat == CHANCE
        else {
            "side": "ab"[seat],
            "who": names[seat],
            "move": format_move(move, MAX_WORD),
            **clock.describe_move(step.number, seat),
        }
        for seat, move in sorted(step.moves.items())
    ]


def is_match_settled(reader: LeagueReader, key: str) -> bool:
    """Whether a match is over and nobody has corrected it: then it is cached until somebody does."""
    return key in reader.state.results and not reader.state.list_corrections(key)


MATCH_PAGE = Page(
    "matches/{key}",
    "match.html",
    read_match_data,
    complete_match_data,
    list_keys=list_match_keys,
    is_settled=is_match_settled,
    section="Matches",
)
