"""The files of matches whose referee isn't ours: the manager writes what it was told, and every reader reads it."""

import json
from pathlib import Path

from agent_league.storage.paths import DataPaths
from agent_league.storage.repositories import MatchRepository
from tests.cli.leagues import said
from tests.conftest import PlanMaker
from tests.foreign.sample_referee import SampleReferee
from tests.foreign.stage import planned, play_with_referee
from tests.foreign.web import Message


async def test_every_match_of_a_foreign_referee_leaves_its_file(home: Path, plan: PlanMaker) -> None:
    made = planned(plan, referees=1)
    played, referee = await play_with_referee(made, SampleReferee)
    assert played.files.keys() == played.results.keys() == {game["match_id"] for game in referee.told}
    for game in referee.told:
        content, told = played.files[game["match_id"]], game["result"]
        assert (content["league_id"], content["match_id"]) == (made.league.league_id, game["match_id"])
        assert (content["game_type"], content["referee_id"]) == ("even_odd", "REF01")
        assert set(content["players"].values()) == set(told["choices"])
        for name in ("status", "winner_player_id", "choices", "drawn_number"):
            assert content["result"][name] == told[name]
        assert sum(content["result"]["score"].values()) in (2, 3)
        assert [state["state"] for state in content["lifecycle"]] == ["WAITING_FOR_PLAYERS", "FINISHED"]
        assert "tok-" not in json.dumps(content)
    checked = said("verify", home)
    assert (checked.code, "told by a referee that isn't ours" in checked.out) == (0, True)
    shown = said("replay", "R1M1", "--home", home)
    assert shown.code == 0
    assert str(played.files["R1M1"]["result"]["drawn_number"]) in shown.out
    assert "REF01, which isn't ours, told the manager" in said("show", "match", "R1M1", "--home", home).out


class SharingReferee(SampleReferee):
    """Shares the manager's folder, and writes its matches there as seed 000 has it."""

    name = "Sharing Referee"
    files: MatchRepository

    def report(self, report: Message) -> None:
        told = self.told[-1]
        content = {"referee_id": self.referee_id, "result": told["result"], "transcript": [], "own": "words"}
        self.files.save(report["match_id"], content)
        super().report(report)


async def test_what_a_foreign_referee_wrote_itself_stays(home: Path, plan: PlanMaker) -> None:
    made = planned(plan, players=2, referees=1)
    SharingReferee.files = MatchRepository(made.league.league_id, home)
    played, _ = await play_with_referee(made, SharingReferee)
    assert played.files["R1M1"]["own"] == "words"
    assert DataPaths(home).match_file(made.league.league_id, "R1M1").is_file()
