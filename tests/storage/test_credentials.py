"""Credentials: an agent's own secrets, for itself alone."""

import stat
import sys
from pathlib import Path

import pytest

from agent_league.errors import DamagedFile
from agent_league.storage.credentials import CredentialsFile
from tests.players.chair import chair

WHO = ("player", "Agent Alpha", "http://localhost:8101/mcp", "http://localhost:8000/mcp")
CONTENT = {"agent_id": "P01", "auth_token": "tok-p01-secret", "public_key": {"x": "abc"}}


def test_what_was_saved_is_there_in_the_next_life(tmp_path: Path) -> None:
    CredentialsFile(tmp_path, *WHO).save(CONTENT)
    assert CredentialsFile(tmp_path, *WHO).load() == CONTENT


@pytest.mark.parametrize("place", range(4))
def test_another_role_name_address_or_manager_is_somebody_else(tmp_path: Path, place: int) -> None:
    other = list(WHO)
    other[place] += "x"
    CredentialsFile(tmp_path, *WHO).save(CONTENT)
    assert CredentialsFile(tmp_path, *other).load() == {}


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")
def test_only_the_owner_can_read_them_also_where_the_file_was_open_to_all(tmp_path: Path) -> None:
    file = CredentialsFile(tmp_path, *WHO)
    file.save(CONTENT)
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600
    file.path.chmod(0o644)
    file.save(CONTENT)
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600


@pytest.mark.parametrize("name", ["../../etc/passwd", "Zoë 🎲", "", "x" * 500, "a\x00b\n\x1b[31m", ".", "CON"])
def test_any_name_gives_a_file_in_the_folder(tmp_path: Path, name: str) -> None:
    file = CredentialsFile(tmp_path, "player", name, *WHO[2:])
    file.save(CONTENT)
    assert file.path.parent == tmp_path / "data" / "credentials"
    assert [path.name for path in file.path.parent.iterdir()] == [file.path.name]
    assert file.path.name.isascii()


def test_names_that_look_alike_as_files_are_kept_apart(tmp_path: Path) -> None:
    first, second = (CredentialsFile(tmp_path, "player", name, *WHO[2:]) for name in ("A b", "A-b"))
    first.save(CONTENT)
    assert second.load() == {}


@pytest.mark.parametrize(
    ("spoilt", "why"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"[]", "no JSON object"),
        (b"\xff", "not JSON"),
        (b"null", "no JSON object"),
        (b'{"agent_id": 7}', "agent_id is no text"),
        (b'{"auth_token": ["tok-p01-secret"]}', "auth_token is no text"),
        (None, "directory"),
    ],
)
def test_a_spoilt_file_is_named(tmp_path: Path, spoilt: bytes | None, why: str) -> None:
    file = CredentialsFile(tmp_path, *WHO)
    file.save(CONTENT)
    if spoilt is None:
        file.path.unlink()
        file.path.mkdir()
    else:
        file.path.write_bytes(spoilt)
    with pytest.raises(DamagedFile) as raised:
        file.load()
    assert str(file.path) in str(raised.value)
    assert why in str(raised.value)
    assert "bring back a copy of the file" in str(raised.value)
    assert "tok-p01" not in str(raised.value)


@pytest.mark.parametrize("spoilt", [b"{", b'{"agent_id": 7}', b"\xff"])
async def test_damaged_credentials_are_named_and_the_agent_registers_without_them(home: Path, spoilt: bytes) -> None:
    async with chair(home) as seat:
        file = seat.player._settings.credentials
    file.path.write_bytes(spoilt)
    async with chair(home) as seat:
        assert seat.player._session.registered.is_set()
        assert any(f"The credentials in {file.path} can't be used" in remark for remark in seat.remarks)
    assert file.load()["agent_id"] == seat.player.agent_id
