"""What must hold after a league whose processes were killed: complaints, none where all is well."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent_league.league.resume import open_store
from agent_league.storage.base import DISMISSED_PHASE, SavedSeason
from tests.cli.command import LEAGUE_ID, league, lines_of, ports
from tests.reliability.terminals import Terminal, Terminals, json_of, told_matches

Results = Mapping[str, Mapping[str, Any]]
COUNTED = ("played", "wins", "draws", "losses", "points", "shared_rank")
SECRET = re.compile(r"tok-\w+-|eyJ")
EXPECTED_ERRORS = ("no_referee",)
"""All referees may be dead at the same time; the league waits."""
CUT_OFF_RENEWALS = 2
"""A kill between the commit of a new token and its arrival makes the old one invalid; its owner comes by its key."""


@dataclass(frozen=True)
class Undisturbed:
    """The same league with nobody killed."""

    results: Results
    table: list[dict[str, Any]]


def undisturbed(folder: Path, *, seed: str, players: int, referees: int) -> Undisturbed:
    """Plays it with the same strategies, which take no time here."""
    home = folder / "undisturbed"
    who = ["--players", players, "--referees", referees, "--strategy", "always_even,always_odd", "--seed", seed]
    done = league("run", *who, "--home", home, "--json", *ports(players, referees))
    assert done.returncode == 0, done.stderr
    return Undisturbed(results_of(saved_in(home)), table_of(home))


def saved_in(home: Path) -> SavedSeason:
    """What the manager of this home has in its store."""
    saved = _read(home)
    assert saved is not None
    return saved


def is_over(home: Path) -> bool:
    """Whether the end of the league was told to all who listen."""
    saved = _read(home)
    return saved is not None and saved.season.announced


def played(home: Path) -> int:
    """How many matches have a result."""
    saved = _read(home)
    return sum(match.result is not None for match in saved.matches) if saved else 0


def _read(home: Path) -> SavedSeason | None:
    store = open_store(home, None)
    try:
        return store.read_season(LEAGUE_ID)
    finally:
        store.close()


def results_of(saved: SavedSeason) -> dict[str, Mapping[str, Any]]:
    """What counts of each result: a player that came back in mid-match has another token, which is noted."""
    return {
        match.match_id: {name: value for name, value in (match.result or {}).items() if name != "tolerated"}
        for match in saved.matches
    }


def table_of(home: Path) -> list[dict[str, Any]]:
    """The table by ids: names may differ, and so may the lot that orders those who share a rank."""
    rows = json_of(home / "data" / "leagues" / LEAGUE_ID / "standings.json").get("standings", [])
    told = ({name: row.get(name) for name in ("player_id", *COUNTED)} for row in rows)
    return sorted(told, key=lambda row: str(row["player_id"]))


def complaints(terminals: Terminals, expected: Undisturbed) -> list[str]:
    """All that doesn't hold, as sentences."""
    home = terminals.manager.home
    killed = {player.name for player in terminals.players if player.kills}
    saved = saved_in(home)
    return [
        *_ended_badly(terminals.all),
        *_strange_results(saved, expected, killed),
        *([] if killed or table_of(home) == expected.table else ["the final table is not the undisturbed one"]),
        *(f"{terminal.name} came back as somebody else" for terminal in terminals.agents if not _is_itself(terminal)),
        *(sentence for player in terminals.players for sentence in _forgotten(player, results_of(saved))),
        *wrong_files(home, [referee.home for referee in terminals.referees]),
        *(sentence for home in terminals.homes for sentence in logged_badly(home)),
    ]


def _ended_badly(terminals: Iterable[Terminal]) -> Iterator[str]:
    for terminal in terminals:
        code = terminal.lives[-1].process.poll()
        if code != 0:
            yield f"{terminal.name} ended with {code}: {terminal.lives[-1].text[-300:]}"
        if "Traceback" in terminal.text:
            yield f"{terminal.name} printed a traceback: {terminal.text[terminal.text.index('Traceback') :][:2000]}"


def _strange_results(saved: SavedSeason, expected: Undisturbed, killed: set[str]) -> Iterator[str]:
    if saved.season.phase not in ("COMPLETED", DISMISSED_PHASE) or not saved.season.announced:
        yield f"the league is {saved.season.phase}, its end announced: {saved.season.announced}"
    found = results_of(saved)
    if found.keys() != expected.results.keys():
        yield "these are not the matches of the undisturbed league"
    for match_id, result in found.items():
        missed = {player for player, how in result.get("terminations", {}).items() if how != "normal"}
        if missed - killed:
            yield f"{match_id}: {sorted(missed - killed)} lost technically without having been killed: {result}"
        if not missed and result != expected.results.get(match_id):
            yield f"{match_id}: {result} instead of {expected.results.get(match_id)}"


def _is_itself(terminal: Terminal) -> bool:
    return set(re.findall(r"Registered as (\S+)\.", terminal.text)) == {terminal.name}


def _forgotten(player: Terminal, results: Results) -> Iterator[str]:
    """A player remembers each match that it was told of, once, as it ended, and models its opponents on that."""
    history = json_of(player.home / "data" / "players" / player.name / "history.json")
    matches = history.get("matches", [])
    remembered = Counter(match["match_id"] for match in matches)
    if twice := [match_id for match_id, times in remembered.items() if times > 1]:
        yield f"{player.name} remembers {twice} more than once"
    if lost := told_matches(player) - remembered.keys():
        yield f"{player.name} was told of {sorted(lost)} and has forgotten it"
    if not player.kills and len(remembered) < len(results_with(player.name, results)):
        yield f"{player.name} was never killed and remembers only {len(remembered)} matches"
    for match in matches:
        result = results.get(match["match_id"], {})
        won = result.get("winner") == player.name
        if (match["outcome"] == "WIN") != won or (match["outcome"] == "DRAW") != (result.get("outcome") == "DRAW"):
            yield f"{player.name} remembers {match['match_id']} as {match['outcome']}, its result is {result}"
    modelled = {opponent: model["games"] for opponent, model in history.get("opponents", {}).items()}
    if modelled != Counter(match["opponent_id"] for match in matches):
        yield f"{player.name}'s opponent models don't follow from its games"


def results_with(player_id: str, results: Results) -> list[str]:
    return [match_id for match_id, result in results.items() if player_id in result.get("terminations", {})]


def wrong_files(home: Path, referee_homes: list[Path]) -> Iterator[str]:
    checked = league("verify", *{folder for folder in referee_homes if (folder / "data" / "matches").is_dir()})
    if checked.returncode != 0:
        yield f"league verify: {checked.stdout[-2000:]}"
    if {*referee_homes} == {home}:  # those of a referee elsewhere are its own
        matches = home / "data" / "matches" / LEAGUE_ID
        found = {path.stem for path in matches.glob("*.json") if "rebuilt" not in json_of(path)}
        if lost := results_of(saved_in(home)).keys() - found:
            yield f"these matches have a result and no file: {sorted(lost)}"
        if left := [path.name for path in matches.iterdir() if path.stem not in found]:
            yield f"this is left among the match files: {left}"
    standings = home / "data" / "leagues" / LEAGUE_ID / "standings.json"
    before = _lasting(standings)
    standings.unlink()
    rebuilt = league("rebuild", "--home", home)
    if rebuilt.returncode != 0 or _lasting(standings) != before:
        yield f"league rebuild makes other standings: {rebuilt.stderr[-500:]}"


def _lasting(standings: Path) -> dict[str, Any]:
    return {name: value for name, value in json_of(standings).items() if name not in ("last_updated", "version")}


def logged_badly(home: Path) -> Iterator[str]:
    """Errors, refused tokens, and secrets."""
    refused = []
    for path in sorted((home / "logs").rglob("*.jsonl")):
        if found := SECRET.search(path.read_text(encoding="utf-8")):
            yield f"{path.name} shows {found.group()}..."
        for line in lines_of(path):
            told = f"{path.name}: {json.dumps(line)[:400]}"
            if line.get("error_code") in ("E005", "E012", "E013"):
                refused.append(told)
            elif line["level"] == "ERROR" and line["event_type"] not in EXPECTED_ERRORS:
                yield told
    if len(refused) > CUT_OFF_RENEWALS:
        yield from refused
