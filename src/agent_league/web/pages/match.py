"""The page of a match: its players, its result, the game step by step, and the conversation.

A match that is not over shows only its players and state, since its moves are still secret.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from agent_league.clock import duration, parse_utc
from agent_league.errors import Refusal
from agent_league.games.base import CHANCE
from agent_league.games.scene_view import rounds_table, staged, with_moves
from agent_league.games.shared_views import amount, move_text
from agent_league.league.match_files import read_match
from agent_league.model.addresses import without_addresses
from agent_league.model.result_words import ENDINGS, ending, sign_of
from agent_league.model.results import MatchResult, Termination
from agent_league.referee.replay import Replay, Step, known_of, replay
from agent_league.referee.transcript import objects
from agent_league.web.league_reader import Reader
from agent_league.web.match.conversation import conversation
from agent_league.web.match.drawing import draw_rounds, draw_scene
from agent_league.web.page import NoSuchThing, Page, Told

MOST_STEPS = 301
"""Maximum positions in a page."""


def read(reader: Reader, key: str) -> Told:
    season = reader.season
    try:
        match = reader.queries.match(key)
    except Refusal:
        raise NoSuchThing(_no_match(reader, key)) from None
    result, names = season.results.get(key), reader.names
    state = match["state"]
    if state == "RUNNING" and match["referee_id"] is None:
        state = "PENDING"
    sides = [
        {
            "player_id": player["player_id"],
            "name": player["display_name"],
            "role": player["role_in_match"],
            "side": side,
            "sign": sign_of(result, player["player_id"], is_playing=state == "RUNNING"),
            "points": season.scoring.points(result, player["player_id"]) if result else None,
            "ending": _ending(result, player["player_id"]),
        }
        for side, player in zip("ab", match["players"], strict=True)
    ]
    return {
        **match,
        "page_title": f"{key}: {sides[0]['name']} against {sides[1]['name']}",
        "state": state,
        "sides": sides,
        "referee_name": _name(reader, match["referee_id"]),
        "told": ending(result, names) if result else "",
        "recorded": result,
        "own_parameters": dict(season.league.game_parameters),
        "paths": reader.paths,
    }


def work(told: Told) -> Told:
    """Read the match file and replay the match."""
    result: MatchResult | None = told["recorded"]
    if result is None:
        return {**told, "file": None}
    paths, league_id, referee_id = told["paths"], told["league_id"], told["referee_id"]
    filed = read_match(paths, league_id, result, referee_id)
    found = filed.content
    content = found or known_of(result, told["game_type"], told["own_parameters"])
    names = [side["name"] for side in told["sides"]]
    again = replay(content)
    steps, shortened = again.digest(MOST_STEPS)
    ends = {step.round: step.number for step in steps if step.totals}
    return {
        **told,
        "file": found,
        "place": filed.place,
        "no_file": filed.shortfall,
        "game_title": again.game.title or again.game_type if again.game else again.game_type,
        "parameters": ", ".join(f"{name} {move_text(value)}" for name, value in _parameters(content).items()),
        "reason": _reason(found, result, told["told"]),
        "timing": _timing(found),
        "draw": _draw(found),
        "steps": [_step(again, step, names) for step in steps],
        "shortfall": " ".join(filter(None, (shortened, again.shortfall))),
        "rounds": draw_rounds(rounds_table(again.rounds, again.paid, MOST_STEPS), names, ends) if again.rounds else "",
        "entries": conversation(found) if found else [],
        "messages": sum(entry["direction"] != "drawn" for entry in found["transcript"]) if found else 0,
    }


def keys(reader: Reader) -> Iterable[str]:
    return [pairing.match_id for pairing in reader.season.schedule.pairings]


def _no_match(reader: Reader, key: str) -> str:
    known = reader.season.schedule.pairings
    there_are = f"they are {known[0].match_id} to {known[-1].match_id}" if known else "the league has not begun"
    return f"There is no match {key[:40]!r} in this league: {there_are}."


def _name(reader: Reader, referee_id: str | None) -> str:
    member = reader.season.roster.get(referee_id) if referee_id else None
    return member.agent.display_name if member else referee_id or ""


def _ending(result: MatchResult | None, player_id: str) -> str:
    how = result.terminations.get(player_id, Termination.NORMAL) if result else Termination.NORMAL
    return "" if how is Termination.NORMAL else ENDINGS[how]


def _reason(found: Mapping[str, Any] | None, result: MatchResult, told: str) -> str:
    """Return how the match ended: in the match file's words if its result counts, otherwise in the league's."""
    counts = found and result.reported == (str(result.outcome), result.winner)
    said = without_addresses(str((found["result"].get("reason") if found and counts else None) or told)[:500])
    return said[:1].upper() + said[1:]


def _parameters(content: Mapping[str, Any]) -> Mapping[str, Any]:
    found = content.get("game_parameters")
    return {name: value for name, value in found.items() if value is not None} if isinstance(found, dict) else {}


def _timing(found: Mapping[str, Any] | None) -> dict[str, str] | None:
    """Return when a match began and how long it took."""
    states = objects((found or {}).get("lifecycle"))
    moments = [moment for item in states if (moment := parse_utc(str(item.get("at"))))]
    if not moments:
        return None
    took = (moments[-1] - moments[0]).total_seconds()
    return {"began": f"{moments[0]:%Y-%m-%d %H:%M:%S} UTC", "took": duration(took)}


def _draw(found: Mapping[str, Any] | None) -> dict[str, str] | None:
    """Return the commitment and the revealed seed of the match's draws."""
    told = (found or {}).get("draw")
    if not isinstance(told, dict):
        return None
    return {name: str(told.get(name))[:100] for name in ("commitment", "seed")}


def _step(again: Replay, step: Step, names: Sequence[str]) -> dict[str, Any]:
    scene = staged(again.game_type, step.view, None, step.moves)
    if scene and not step.is_whole:
        scene = with_moves(scene, step.moves)
    return {
        "number": step.number,
        "moves": _moves(step, names),
        "round": step.round if again.is_repeated and step.number else None,
        "totals": " : ".join(map(amount, step.totals)) if step.totals else "",
        "is_whole": step.is_whole,
        "picture": draw_scene(scene, names) if scene else None,
        "text": "" if scene else again.text(step),
    }


def _moves(step: Step, names: Sequence[str]) -> list[dict[str, Any]]:
    return [
        {"side": None, "who": "draw", "move": move_text(move)}
        if seat == CHANCE
        else {"side": "ab"[seat], "who": names[seat], "move": move_text(move)}
        for seat, move in sorted(step.moves.items())
    ]


def is_settled(reader: Reader, key: str) -> bool:
    return key in reader.season.results


MATCH = Page("matches/{key}", "match.html", read, work, keys=keys, is_settled=is_settled)
