"""What goes to workers on other machines: a folder's files, nothing that may be secret, and never too much."""

import os
from pathlib import Path

import pytest

from agent_league.errors import UserError
from agent_league.games.registry import FILES_VARIABLE
from agent_league.lab.experiment import sent_files
from agent_league.lab.experiment.contestants import PlayerKind, PlayerSpec
from agent_league.lab.experiment.sent_files import collect_files

SENT = ("mine.py", "below/weights.bin", "taste.py")
KEPT = (
    *(".env", ".git/config", "key.pem", "my_tokens.json", "Secrets.txt", "__pycache__/mine.pyc"),
    *("results/games.sqlite", "results/games.csv", "env/pyvenv.cfg", "env/lib/code.py"),
    *("SHARED/config/system.json", "SHARED/data/league.db"),
)


def make_files(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"# {name}\n")


def make_player(folder: Path, name: str = "mine.py") -> PlayerSpec:
    return PlayerSpec(name, PlayerKind.FILE, f"{name}:choose", home=str(folder))


def test_a_folder_is_sent_but_for_hidden_files_keys_environments_results_and_leagues(tmp_path: Path) -> None:
    home = tmp_path / "home"
    make_files(home, *SENT, *KEPT)
    make_files(tmp_path, "elsewhere.txt")
    (home / "link.txt").symlink_to(tmp_path / "elsewhere.txt")
    with collect_files([make_player(home), PlayerSpec("random", PlayerKind.STRATEGY, "random")]) as sent:
        assert sent.folder
        names = [path.relative_to(sent.folder).as_posix() for path in sent.folder.rglob("*") if path.is_file()]
        assert sorted(names) == sorted(SENT)
        assert (sent.folder / "mine.py").read_text() == "# mine.py\n"
        assert sent.to_runtime_env() == {"working_dir": str(sent.folder), "env_vars": {}}
    assert not sent.folder.exists()


def test_without_files_nothing_is_sent() -> None:
    with collect_files([PlayerSpec("random", PlayerKind.STRATEGY, "random")]) as sent:
        assert sent.to_runtime_env() == {}


def test_games_in_files_are_sent_with_their_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_files(tmp_path, "a/rules.py", "a/more.py", "a/.env", "b/rules.py")
    monkeypatch.setenv(FILES_VARIABLE, os.pathsep.join([str(tmp_path / "a/rules.py"), str(tmp_path / "b/rules.py")]))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    with collect_files([]) as sent:
        env = sent.to_runtime_env()
        first, second = env["env_vars"].pop(FILES_VARIABLE).split(os.pathsep)
        assert env == {"working_dir": str(sent.folder), "env_vars": {}}
        assert sent.folder
        assert (sent.folder / first).read_text() == "# a/rules.py\n"
        assert (sent.folder / second).read_text() == "# b/rules.py\n"
        assert (sent.folder / first).with_name("more.py").is_file()
        assert not list(sent.folder.rglob(".env"))


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("../mine.py", r"^\.\./mine\.py: \.\./mine\.py isn't below .*only the folder of the experiment's file is sent"),
        (".hidden/mine.py", r"^\.hidden/mine\.py: .* isn't sent to the workers, because of its name"),
    ],
)
def test_a_player_whose_file_stays_at_home_is_refused(tmp_path: Path, name: str, problem: str) -> None:
    home = tmp_path / "home"
    make_files(home, "other.py")
    make_files(home, name)
    with pytest.raises(UserError, match=problem), collect_files([make_player(home, name)]):
        pass


def test_a_folder_with_too_much_in_it_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_files(tmp_path, *SENT)
    monkeypatch.setattr(sent_files, "MAX_FILES", 2)
    wanted = r"has more than 2 files or .* into a folder of their own$"
    with pytest.raises(UserError, match=wanted), collect_files([make_player(tmp_path)]):
        pass
