"""`league try`: a file with `choose` against a strategy, without servers, with its worst loss to replay."""

import json
import re
from base64 import b64encode
from hashlib import sha256
from pathlib import Path

import pytest

from agent_league.cli import try_
from agent_league.games.registry import load_game
from agent_league.lab.trial import Trial, find_draws
from tests.cli.command import league

FIRST = "def choose(game):\n    return game.legal_moves[0]\n"


@pytest.fixture
def player(tmp_path: Path) -> Path:
    path = tmp_path / "my_player.py"
    path.write_text(FIRST)
    return path


def test_a_file_is_tried_and_its_worst_loss_can_be_replayed(player: Path, tmp_path: Path) -> None:
    options = ["--against", "minimax", "--game", "tic_tac_toe", "--games", 20]
    done = league("try", player.name, *options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "my_player.py against minimax: 20 games of tic_tac_toe" in done.stdout
    assert f"{(tmp_path / 'worst-loss.html').as_uri()}, or `league replay worst-loss.json`" in done.stderr
    replayed = league("replay", "worst-loss.json", "--all", cwd=tmp_path)
    assert replayed.returncode == 0, replayed.stderr
    assert "Minimax won after" in replayed.stdout
    assert "is not told" not in replayed.stdout


def test_the_worst_loss_has_a_page_that_loads_nothing_and_runs_our_script_alone(player: Path, tmp_path: Path) -> None:
    evil = player.rename(tmp_path / "<script>x.py")
    league("try", evil.name, "--against", "minimax", "--game", "connect_four", "--games", 2, cwd=tmp_path)
    page = (tmp_path / "worst-loss.html").read_text(encoding="utf-8")
    assert page.count('class="step"') == page.count("<li data-step=") + 1 > 5
    assert "<script>x" not in page
    assert "&lt;script&gt;x.py" in page
    script = page.partition("<script>")[2].partition("</script>")[0]
    assert f"script-src 'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'" in page
    assert not re.search(r"(?:src|href)=\"(?!#)", page)
    league("replay", "worst-loss.json", "--html", "again.html", cwd=tmp_path)
    assert (tmp_path / "again.html").read_text(encoding="utf-8") == page


def test_the_game_is_one_that_the_file_plays_and_it_says_which_and_why(player: Path, tmp_path: Path) -> None:
    def told(*arguments: object) -> str:
        return league("try", *arguments, "--games", 2, cwd=tmp_path).stderr

    assert "The game is tic_tac_toe, a game of skill; --game NAME plays another." in told(player)
    assert "The game is prisoners_dilemma, which tit_for_tat is made for" in told(player, "--against", "tit_for_tat")
    (tmp_path / "even.py").write_text("def choose(game):\n    print('noise')\n    return 'even'\n")
    said = told("even.py")
    assert (
        "The game is even_odd, the first that even.py plays without a fault (in tic_tac_toe it chose 'even', "
        "which isn't legal)" in said
    )
    assert said.count("noise") == 2, "that of the games that count"
    (tmp_path / "fails.py").write_text("def choose(game):\n    return 1 / 0\n")
    assert "The game is tic_tac_toe, as fails.py breaks the rules in every game" in told("fails.py")


def test_the_same_seed_gives_the_same_games(player: Path, tmp_path: Path) -> None:
    def play(seed: int) -> tuple[object, bytes]:
        out = tmp_path / "loss.json"
        options = ["--against", "random", "--game", "nim", "--games", 30, "--seed", seed, "--out", out]
        done = league("try", player, *options, "--json", cwd=tmp_path)
        return json.loads(done.stdout), out.read_bytes()

    assert play(1) == play(1)
    assert play(1)[1] != play(2)[1]


def test_sides_alternate_and_all_games_are_counted() -> None:
    trial = Trial(load_game("tic_tac_toe"), ("first_legal", "last_legal"), "7")
    for _ in range(5):
        trial.play_game()
    told = trial.to_json()
    assert sum(told["as_first"].values()) == 3
    assert sum(told["as_second"].values()) == 2
    assert told["won"] + told["drawn"] + told["lost"] == told["games"] == 5


def test_the_worst_loss_is_the_one_by_most_and_then_the_shortest() -> None:
    trial = Trial(load_game("connect_four"), ("random", "minimax"), "7")
    steps = []
    for _ in range(12):
        trial.play_game()
        if trial._series.take_first_seat() is not None:
            steps.append(trial._series.last_steps)
    assert trial.worst_loss is not None
    assert trial.worst_loss.steps == min(steps)


@pytest.mark.parametrize("game", ["even_odd", "kuhn_poker"])
def test_what_was_drawn_is_found_again(game: str, tmp_path: Path) -> None:
    out = tmp_path / "loss.json"
    done = league("try", "random", "--game", game, "--games", 40, "--seed", 3, "--out", out, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    replayed = league("replay", out, "--all").stdout
    assert "is not told" not in replayed
    assert "drawn" in replayed


def test_a_game_of_no_chance_has_no_draws() -> None:
    game = load_game("nim")
    trial = Trial(game, ("first_legal", "minimax"), "7")
    trial.play_game()
    assert trial.worst_loss is not None
    assert find_draws(game, trial.worst_loss.state, trial.worst_loss.moves) == []


def test_a_file_that_thinks_for_long_does_so_not_without_a_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told, file = tmp_path / "told", tmp_path / "thinks.py"
    sentences: list[str] = []

    def tell(sentence: str) -> None:
        if "Ctrl-C" in sentence:
            sentences.append(sentence)
            told.write_text(sentence, encoding="utf-8")

    monkeypatch.setattr(try_, "SLOW_SECONDS", 0)
    monkeypatch.setattr(try_, "print_remark", tell)
    file.write_text(
        f"from pathlib import Path\ntold = Path({str(told)!r})\ndef choose(observation):\n"
        "    while not told.exists():\n        pass\n    return observation.legal_moves[0]\n",
        encoding="utf-8",
    )
    for game, sentence in (([], "After 0 s no game is known yet"), (["--game", "nim"], "After 0 s its first game")):
        told.unlink(missing_ok=True)
        sentences.clear()
        league("try", file, "--games", 1, "--out", tmp_path / "loss.json", *game)
        assert sentences[0].startswith(sentence)


def test_faults_are_counted_and_the_first_is_told(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text("def choose(game):\n    return 99\n")
    done = league("try", "bad.py", "--game", "nim", "--games", 4, cwd=tmp_path)
    assert done.returncode == 1
    first_line = done.stdout.partition("\n")[0]
    assert first_line.startswith("bad.py failed or broke the rules in 4 of 4 games, ")
    assert first_line.endswith("random moves were made instead. First: chose 99, which isn't legal")


def test_a_fault_in_our_code_is_told_with_the_line_of_the_player_that_led_there(tmp_path: Path) -> None:
    (tmp_path / "empty.py").write_text("def choose(game):\n    return game.random.choice([])\n")
    done = league("try", "empty.py", "--game", "nim", "--games", 1, cwd=tmp_path)
    assert "(empty.py:2)" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nofile.py"], "there is no file nofile.py"),
        (["random", "--against", "minmax"], "did you mean minimax?"),
        (["random", "--game", "chess"], "--game: "),
        (["http://localhost:8101/mcp"], "`league compare` takes"),
    ],
)
def test_what_cannot_be_tried_is_told(arguments: list[str], told: str, tmp_path: Path) -> None:
    done = league("try", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert told in done.stderr
