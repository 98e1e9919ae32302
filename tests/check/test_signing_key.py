"""The checker's key: random, the same in every check of one user, and readable for nobody else."""

import stat
import sys
from pathlib import Path

import pytest

from agent_league.check.signing_key import NAME, checker_key, make_key
from agent_league.protocol.tokens import SigningKey


def test_the_next_check_has_the_same_key_and_another_user_another_one(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, remark = checker_key()
    assert remark is None
    assert checker_key()[0].saved == first.saved == (cache / NAME).read_text(encoding="utf-8")
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache / "another"))
    assert checker_key()[0].saved != first.saved


def test_without_a_cache_folder_of_its_own_it_is_kept_in_the_home_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    key, _ = checker_key()
    assert SigningKey.load((tmp_path / ".cache" / NAME).read_text(encoding="utf-8")).public == key.public


@pytest.mark.skipif(sys.platform == "win32", reason="files have no mode there")
def test_only_its_owner_can_read_it_and_nothing_else_is_left_behind(cache: Path) -> None:
    checker_key()
    assert stat.S_IMODE((cache / NAME).stat().st_mode) == 0o600
    assert [path.name for path in (cache / NAME).parent.iterdir()] == [NAME.name]


def test_of_two_checks_that_begin_at_once_the_faster_one_s_key_stays(cache: Path) -> None:
    key, _ = checker_key()
    make_key(cache / NAME)
    assert checker_key()[0].saved == key.saved


def test_where_it_cannot_be_kept_there_is_a_new_one_and_a_sentence(cache: Path) -> None:
    (cache / NAME.parent).write_text("a file where the folder should be", encoding="utf-8")
    first, remark = checker_key()
    assert remark is not None
    assert "can't be kept" in remark
    assert first.saved != checker_key()[0].saved


def test_a_file_that_holds_no_key_is_left_alone_and_told(cache: Path) -> None:
    (cache / NAME.parent).mkdir()
    (cache / NAME).write_text("no key", encoding="utf-8")
    _, remark = checker_key()
    assert remark is not None
    assert "not a private Ed25519 key" in remark
    assert (cache / NAME).read_text(encoding="utf-8") == "no key"
