"""The checker's key: random, the same in every check of one user, and readable for nobody else."""

import stat
import sys
from pathlib import Path

import pytest

from agent_league.check.signing_key import KEY_FILE, create_key_file, load_checker_key
from agent_league.protocol.tokens import SigningKey


def test_the_next_check_has_the_same_key_and_another_user_another_one(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, remark = load_checker_key()
    assert remark is None
    assert load_checker_key()[0].private_jwk == first.private_jwk == (cache / KEY_FILE).read_text(encoding="utf-8")
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache / "another"))
    assert load_checker_key()[0].private_jwk != first.private_jwk


def test_without_a_cache_folder_of_its_own_it_is_kept_in_the_home_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    key, _ = load_checker_key()
    assert SigningKey.load((tmp_path / ".cache" / KEY_FILE).read_text(encoding="utf-8")).public_jwk == key.public_jwk


@pytest.mark.skipif(sys.platform == "win32", reason="files have no mode there")
def test_only_its_owner_can_read_it_and_nothing_else_is_left_behind(cache: Path) -> None:
    load_checker_key()
    assert stat.S_IMODE((cache / KEY_FILE).stat().st_mode) == 0o600
    assert [path.name for path in (cache / KEY_FILE).parent.iterdir()] == [KEY_FILE.name]


def test_of_two_checks_that_begin_at_once_the_faster_one_s_key_stays(cache: Path) -> None:
    key, _ = load_checker_key()
    create_key_file(cache / KEY_FILE)
    assert load_checker_key()[0].private_jwk == key.private_jwk


def test_where_it_cannot_be_kept_there_is_a_new_one_and_a_sentence(cache: Path) -> None:
    (cache / KEY_FILE.parent).write_text("a file where the folder should be", encoding="utf-8")
    first, remark = load_checker_key()
    assert remark is not None
    assert "can't be kept" in remark
    assert first.private_jwk != load_checker_key()[0].private_jwk


def test_a_file_that_holds_no_key_is_left_alone_and_told(cache: Path) -> None:
    (cache / KEY_FILE.parent).mkdir()
    (cache / KEY_FILE).write_text("no key", encoding="utf-8")
    _, remark = load_checker_key()
    assert remark is not None
    assert "not a private Ed25519 key" in remark
    assert (cache / KEY_FILE).read_text(encoding="utf-8") == "no key"
