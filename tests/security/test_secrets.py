"""Attacks on secrets: after a league in which tokens were quoted back at every turn, they stand where they belong."""

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from agent_league.storage.paths import DataPaths
from agent_league.testing.peers import Params, RawReply
from tests.cli.command import LEAGUE, Running, environment, league, pids_of, ports
from tests.conftest import BOUND, free_ports
from tests.security.stage import Mallory, Stage, files_in, staged


class Parrot(Mallory):
    """Quotes every token that it has seen, each time in another place."""

    def __init__(self) -> None:
        super().__init__()
        self.released.set()
        self.tokens: set[str] = set()
        self.asked = 0

    async def answer(self, body: bytes, bearer: str | None = None) -> bytes | None:
        said = json.loads(body).get("params", {})
        self.tokens |= {token for token in (bearer, said.get("auth_token"), self.token) if token}
        return await super().answer(body, bearer)

    def chosen(self, params: Params) -> Any:
        quoted = sorted(self.tokens, key=len)  # the shortest first: long sentences are cut
        loud = " ".join(quoted)
        self.asked += 1
        match self.asked % 5:
            case 0:
                extra: dict[str, Any] = {token: {"deep": [[token], {"x": f"<{token}>"}]} for token in quoted}
                return {**super().chosen(params), **extra, "note": loud, "conversation_id": loud, "sender": loud}
            case 1:
                raise RawReply(loud.encode())
            case 2:
                raise RawReply(json.dumps({"jsonrpc": "2.0", "error": {"code": 1, "message": loud}, "id": 1}).encode())
            case 3:
                return {**super().chosen(params), "parity_choice": quoted[0], "timestamp": loud}
            case _:
                return {"message_type": "LEAGUE_ERROR", "error_code": loud, "message": loud, "x": "y" * 20_000 + loud}


def secrets_of(stage: Stage) -> dict[str, str]:
    """Every secret that there is in a league, by what it is."""
    found = {f"token of {agent_id}": stage.token_of(agent_id) for agent_id in (*stage.referees, *stage.players)}
    found |= {"token of Mallory": str(stage.mallory.token), "admin token": stage.admin_token}
    found["signing key"] = json.loads(stage.signing_key().private_jwk)["d"]
    for number, call in enumerate(stage.network.calls):
        said = {"bearer": call.bearer, **{name: call.params.get(name) for name in ("auth_token", "application_key")}}
        said |= {"match token": call.params.get("match_token")}
        for side in ("player_A", "player_B"):
            said[side] = (call.params.get(side) or {}).get("match_token")
        found |= {f"{name} of call {number}": str(value) for name, value in said.items() if value}
    return found


def files_with(home: Path, secrets: dict[str, str]) -> dict[Path, set[str]]:
    """The files that hold secrets, and which."""
    contents = {path: path.read_bytes() for path in files_in(home)}
    found = {
        path: {name for name, secret in secrets.items() if secret.encode() in content}
        for path, content in contents.items()
    }
    return {path: names for path, names in found.items() if names}


async def test_no_token_stands_anywhere_but_in_its_own_file(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        async with staged(tmp_path, {"logging.level": "DEBUG"}, guest=Parrot) as stage:
            await stage.manager.completed.wait()
            modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in files_in(tmp_path / "data")}
            assert {mode for name, mode in modes.items() if name.startswith("league.db")} == {0o600}
            for agent in stage.endpoints:  # each refusal is a line in a log
                method, kind = (
                    ("league_query", "LEAGUE_QUERY") if agent == "manager" else ("notify_round", "ROUND_ANNOUNCEMENT")
                )
                await stage.say(agent, method, kind, f"player:{stage.mallory.token}", auth_token=stage.mallory.token)
            secrets = secrets_of(stage)
            told = [stage.manager.health(), *(agent.health() for agent in stage.referees.values())]
            told += [await stage.call(player_id, "get_player_state", {}) for player_id in stage.players]
            for match_id, referee_id in stage.manager.state.assigned_referees.items():
                told.append(await stage.call(referee_id, "get_match_state", {"match_id": match_id}))
            told += [await stage.call("manager", name, {}) for name in ("get_standings", "create_schedule")]
            told += [call.params for call in stage.network.heard("notify_game_error")]
            assert isinstance(stage.mallory, Parrot)
            assert stage.mallory.asked > 5
    finally:
        os.umask(before)
    assert len(set(secrets.values())) > 20
    said = json.dumps(told)
    assert [name for name, secret in secrets.items() if secret in said] == []
    holding = files_with(tmp_path, secrets)
    data = DataPaths(tmp_path)
    own = {data.admin_token_file(stage.league_id), data.data_folder / "league.db", *data.credentials_folder.iterdir()}
    wal = {Path(f"{data.data_folder / 'league.db'}{end}") for end in ("-wal", "-shm")}
    assert set(holding) - own - wal == set()
    assert {path: oct(stat.S_IMODE(path.stat().st_mode)) for path in holding} == dict.fromkeys(holding, "0o600")
    assert len(holding) >= 2 + len(stage.referees) + len(stage.players)


async def test_the_database_holds_no_token_but_hashes(tmp_path: Path) -> None:
    async with staged(tmp_path, guest=Parrot) as stage:
        await stage.manager.completed.wait()
        secrets = secrets_of(stage)
    holding = files_with(tmp_path, secrets)
    held = {name for path, names in holding.items() if path.name.startswith("league.db") for name in names}
    assert held == {"signing key"}


def test_the_processes_of_a_run_show_no_secret_in_their_command_lines(tmp_path: Path) -> None:
    home = tmp_path / "SHARED"
    env = environment(LEAGUE_STORE=f"sqlite:///{tmp_path}/hunter2.db")
    slow = ["--set", "timeouts.move_timeout_sec=20", "--players", 8, "--home", home, "--json"]
    running = Running([*LEAGUE, "run", *slow, *ports(8, 2)], env=env)
    try:
        pids = [running.process.pid, *pids_of(home)]
        lines = {pid: _command_line(pid) for pid in pids}
    finally:
        running.process.terminate()
        running.process.wait(BOUND)
        running.close()
    assert len(lines) > 3
    assert [line for line in lines.values() if any(word in line for word in ("hunter2", "tok-", "eyJ", '"d"'))] == []


def _command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except FileNotFoundError:
        pytest.skip("there is no list of processes in /proc here, or the league was over too soon")


@pytest.mark.parametrize(
    "address",
    [
        "postgresql+psycopg://league:hunter2@127.0.0.1:{port}/league",
        "postgresql://league:hunter2@127.0.0.1:{port}/league?connect_timeout=1",
        "mysql://league:hunter2@127.0.0.1/league",
        "postgresql+psycopg://league:hunter2@[::1/league",
        "postgresql+psycopg://league:hunter2@x@127.0.0.1:{port}/league",
        "league:hunter2@127.0.0.1",
    ],
)
def test_a_password_of_the_store_is_in_no_error(tmp_path: Path, address: str) -> None:
    port = free_ports(1)
    env = environment(LEAGUE_STORE=address.format(port=port))
    ended = league("manager", "--port", port, "--home", tmp_path / "SHARED", env=env)
    assert ended.returncode in (1, 2)
    assert "store" in ended.stderr
    assert "hunter2" not in ended.stdout + ended.stderr
    written = [path.read_bytes() for path in files_in(tmp_path)]
    assert not [content for content in written if b"hunter2" in content]
