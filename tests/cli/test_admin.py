"""`league admin`: what an organiser says to a manager that runs, and what the command answers."""

import json
import re
import shutil
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_league.cli.admin import AdminAction, admin
from agent_league.config.home import make_home
from agent_league.errors import LeagueFailed, UserError
from agent_league.testing.peers import utc_timestamp
from tests.cli.command import LEAGUE_ID, Waiting, home_with, league, ports, running
from tests.conftest import BOUND, free_ports
from tests.serve.stage import write_league


class Conducted(Waiting):
    """The same with what is said to it."""

    def register(self, name: str) -> Any:
        """Registers a player whom nobody has to call."""
        meta = {
            "display_name": name,
            "version": "1.0.0",
            "game_types": ["even_odd"],
            "contact_endpoint": f"http://localhost:{self.port + 1}/mcp",
        }
        message = {
            "protocol": "league.v2",
            "message_type": "LEAGUE_REGISTER_REQUEST",
            "sender": "player:new",
            "timestamp": utc_timestamp(),
            "conversation_id": "conv-1",
            "player_meta": meta,
        }
        frame = {"jsonrpc": "2.0", "method": "register_player", "params": message, "id": 1}
        headers = {"Content-Type": "application/json"}
        with urllib.request.urlopen(
            urllib.request.Request(self.url, json.dumps(frame).encode(), headers), timeout=BOUND
        ) as answer:
            return json.load(answer)["result"]

    def admin(self, action: AdminAction, player: str | None = None, **options: Any) -> None:
        admin(action, player, **{"manager": self.url, "home": self.home, **options})


@pytest.fixture(scope="module")
def waiting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Conducted]:
    home, port = tmp_path_factory.mktemp("home"), free_ports(3)
    with running(["manager", "--port", port, "--home", home]) as (manager,):
        manager.prints("Waiting for")
        here = Conducted(port, home, manager)
        assert here.register("Ann")["player_id"] == "P01"
        yield here


def test_an_organiser_closes_and_opens_registration_at_the_terminal(waiting: Conducted) -> None:
    where = ["--home", waiting.home, "--manager", waiting.url]
    closed = league("admin", "close", *where)
    assert (closed.returncode, closed.stdout) == (0, "")
    assert (
        closed.stderr
        == f"Registration to {LEAGUE_ID} is closed; `league admin start --home {waiting.home}` starts it.\n"
    )
    waiting.manager.prints("Registration is closed; `league admin open` opens it again.")
    assert waiting.register("Bob")["reason"] == "Registration closed"
    opened = league("admin", "open", *where)
    assert (opened.returncode, opened.stderr) == (0, f"Registration to {LEAGUE_ID} is open.\n")
    assert waiting.register("Cid")["status"] == "ACCEPTED"


def test_the_league_that_is_conducted_in_a_folder_is_found_with_its_port(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home, port = tmp_path / "SHARED", free_ports(2)
    with running(["manager", "--port", port, "--home", home, "--game", "nim"]) as (manager,):
        manager.prints(f"`league admin start --home {home}`")
        admin(AdminAction.CLOSE, home=home)
        assert "Registration to league_nim is closed" in capsys.readouterr().err
        with running(["manager", "--port", port + 1, "--home", home]) as (second,):
            second.prints(f"`league admin start --league-id {LEAGUE_ID} --home {home}`")
            with pytest.raises(UserError, match=f"choose with --league-id: {LEAGUE_ID}, league_nim"):
                admin(AdminAction.OPEN, home=home)
            admin(AdminAction.OPEN, home=home, manager=f"localhost:{port}")
            admin(AdminAction.OPEN, home=home, game="nim")
            again = "Nothing changed: registration is open already.\n"
            assert capsys.readouterr().err == f"Registration to league_nim is open.\n{again}"
            run = league("run", "--game", "kuhn_poker", "--home", home, *ports())
            assert run.returncode == 2
            assert "Play elsewhere with --home, or stop that one first." in run.stderr


def test_a_league_that_is_paused_already_or_goes_on_already_is_told_to_be_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home, port = tmp_path / "SHARED", free_ports(1)
    make_home(home)
    write_league(home, "practice", ladder={"house_bots": []})
    with running(["manager", "--port", port, "--home", home, "--league-id", "practice"]) as (manager,):
        manager.prints("The practice ladder is open")
        for action in (AdminAction.PAUSE, AdminAction.PAUSE, AdminAction.RESUME, AdminAction.RESUME):
            admin(action, home=home)
    assert capsys.readouterr().err.splitlines() == [
        "practice is paused: matches in play end, no other begins.",
        "Nothing changed: the league is paused already.",
        "practice goes on.",
        "Nothing changed: the league goes on already.",
    ]


@pytest.mark.parametrize("name", [f"{LEAGUE_ID}.lock", f"{LEAGUE_ID}.store.json"])
def test_a_folder_in_the_place_of_a_file_of_the_manager_gets_a_sentence(tmp_path: Path, name: str) -> None:
    home = tmp_path / "SHARED"
    make_home(home)
    place = home / "data" / name
    place.mkdir(parents=True)
    done = league("manager", "--home", home, "--port", free_ports(1))
    assert done.returncode == 1
    assert f"{place}: a folder is in the place of a file; move it away" in done.stderr
    assert "Errno" not in done.stderr


def test_an_organiser_suspends_and_reinstates_a_player(waiting: Conducted, capsys: pytest.CaptureFixture[str]) -> None:
    waiting.admin(AdminAction.SUSPEND, "P01")
    waiting.manager.prints("P01 is suspended: by the organiser")
    waiting.admin(AdminAction.REINSTATE, "P01")
    waiting.manager.prints("P01 is registered: reinstated by the organiser")
    said = capsys.readouterr().err
    suspended = "P01 is suspended, and loses its matches or isn't paired, until it is reinstated."
    assert said == f"{suspended}\nP01 plays again.\n"


@pytest.mark.parametrize(
    ("action", "player", "error", "sentence"),
    [
        (AdminAction.PAUSE, None, LeagueFailed, "refused: E016 the league has not started"),
        (AdminAction.RESUME, None, LeagueFailed, "refused: E016 the league has not started"),
        (AdminAction.SUSPEND, "P77", LeagueFailed, "refused: E005 no player 'P77' in this league"),
        (AdminAction.SUSPEND, None, UserError, "which player[?] expected `league admin suspend P01`"),
        (AdminAction.PAUSE, "P01", UserError, "league admin pause: takes no player"),
    ],
)
def test_what_can_not_be_done_ends_with_a_sentence(
    waiting: Conducted, action: AdminAction, player: str | None, error: type[Exception], sentence: str
) -> None:
    with pytest.raises(error, match=sentence):
        waiting.admin(action, player)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["rerun"], r'which match\? expected `league admin rerun R1M1 --reason "\.\.\."`'),
        (["void", "R1M1"], "league admin void: why[?] expected .*; the reason stands in the public audit log"),
        (["award", "R1M1", "--reason", "x"], "who wins[?] expected `league admin award R1M1 P01"),
        (["rerun", "R1M1", "P01", "--reason", "x"], "one name too many"),
        (["withdraw", "--reason", "x"], "which player[?] expected `league admin withdraw P01"),
        (["admit", "P01", "--reason", "  "], "league admin admit: why[?]"),
    ],
)
def test_a_correction_names_what_it_lacks(tmp_path: Path, arguments: list[str], sentence: str) -> None:
    done = league("admin", *arguments, "--home", tmp_path)
    assert done.returncode == 2
    assert re.search(sentence, done.stderr)


def test_a_wrong_token_another_league_and_a_manager_that_is_not_there_are_told(
    waiting: Conducted, tmp_path: Path
) -> None:
    guess = tmp_path / "token"
    guess.write_text("tok-admin-0000", encoding="utf-8")
    with pytest.raises(LeagueFailed, match="E012 this is not the admin token of this league"):
        waiting.admin(AdminAction.CLOSE, token_file=guess)
    with pytest.raises(LeagueFailed, match=f"nobody answers at http://localhost:{waiting.port + 2}/mcp"):
        waiting.admin(AdminAction.CLOSE, manager=f"localhost:{waiting.port + 2}")
    with pytest.raises(UserError, match=r"No manager conducts league_nim in "):
        waiting.admin(AdminAction.CLOSE, game="nim")
    other = home_with(tmp_path / "other", 2, 1, waiting.port)
    with pytest.raises(
        UserError, match=r"No manager conducts .*`league manager` starts one.*another folder's \(--home\)"
    ):
        waiting.admin(AdminAction.CLOSE, home=other)


def test_a_league_whose_manager_was_stopped_after_the_end_is_corrected_in_its_folder(
    played: Path, tmp_path: Path
) -> None:
    home = tmp_path / "SHARED"
    shutil.copytree(played, home)
    where = ["--league-id", "league_tic_tac_toe", "--home", home]
    match = json.loads(league("show", "match", "R1M1", "--json", *where).stdout)
    players = [one["player_id"] for one in match["players"]]
    loser = next(one for one in players if one != match["result"]["winner_player_id"])
    awarded = league("admin", "award", "R1M1", loser, "--reason", "stolen key", *where)
    assert (awarded.returncode, awarded.stdout) == (0, ""), awarded.stderr
    assert awarded.stderr.startswith(f"R1M1 is awarded to {loser}.\nleague_tic_tac_toe is over and nobody conducts it;")
    table = json.loads(league("show", "standings", "--json", *where).stdout)
    before = json.loads(
        league("show", "standings", "--json", "--league-id", "league_tic_tac_toe", "--home", played).stdout
    )
    points = {row["player_id"]: row["points"] for row in table["standings"]}
    assert points[loser] == 3 + next(row["points"] for row in before["standings"] if row["player_id"] == loser)
    assert "stolen key" in league("show", "audit", *where).stdout
    refused = league("admin", "rerun", "R1M1", "--reason", "again", *where)
    assert refused.returncode == 2
    assert "start `league manager --reopen` and them" in refused.stderr
    wrong = league("admin", "void", "R9M9", "--reason", "x", *where)
    assert (wrong.returncode, "no match 'R9M9'" in wrong.stderr) == (2, True)
    file = json.loads((home / "data/matches/league_tic_tac_toe/R1M1.json").read_text())
    assert [one["reason"] for one in file["corrections"]] == ["stolen key"]
