"""The files of a deployment: every command in them exists, and starts as written where that can be tried here."""

import json
import re
import shlex
import shutil
import signal
import subprocess
import tarfile
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
import yaml

from agent_league.cli.app import COMMANDS
from tests.cli.command import LEAGUE, Running, environment, league, league_process, running
from tests.cli.command import until as wait_until
from tests.conftest import free_ports
from tests.serve.nginx import CAN_RUN, MISSING, running_nginx
from tests.serve.stage import write_league

ROOT = Path(__file__).parents[2]
UNITS = sorted((ROOT / "deploy").glob("*.service"))
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text())
OWN_SERVICES = [name for name, service in COMPOSE["services"].items() if service.get("image") == "agent-league"]
DEPLOY_PAGE = (ROOT / "docs" / "deploy.md").read_text().replace("\\\n", " ")
DEFAULT_LEAGUE = "league_2025_even_odd"
TRUSTED_NETWORK = COMPOSE["networks"]["front"]["ipam"]["config"][0]["subnet"]


def read_exec_start(unit: Path) -> list[str]:
    (line,) = re.findall(r"^ExecStart=(.*)$", unit.read_text(), re.MULTILINE)
    return shlex.split(line.replace("%i", DEFAULT_LEAGUE).replace("%H", "here"))


def read_docker(instruction: str) -> list[str]:
    (words,) = re.findall(rf"^{instruction} (\[.*\])$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    return [str(word) for word in json.loads(words)]


def list_commands() -> Iterator[tuple[str, list[str]]]:
    """All commands of `league` in units, container files and the page, by where they stand."""
    for unit in UNITS:
        program, *words = read_exec_start(unit)
        assert program == "/opt/league/bin/league"
        yield unit.name, words
    yield "Dockerfile", read_docker("CMD")
    for name in OWN_SERVICES:
        yield f"compose.yaml {name}", COMPOSE["services"][name]["command"]
    for line in re.findall(r"^(?:.*-- )?(?:/opt/league/bin/)?league (.*)$", DEPLOY_PAGE, re.MULTILINE):
        yield f"deploy.md {line}", shlex.split(line)


COMMANDS_IN_FILES = dict(list_commands())


@pytest.mark.parametrize("place", COMMANDS_IN_FILES)
def test_every_command_and_option_in_the_files_exists(place: str) -> None:
    command, *words = COMMANDS_IN_FILES[place]
    assert any(command in listed for listed in COMMANDS.values())
    shown = league(command, "--help")
    options = {word.partition("=")[0] for word in words if word.startswith("--")}
    assert {option for option in options if option not in shown.stdout} == set()


def test_files_that_the_deployment_names_are_there() -> None:
    copied = re.findall(r"^COPY (.*)$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    ignored = (ROOT / ".dockerignore").read_text()
    for source in [source for line in copied for source in line.split()[:-1]]:
        assert (ROOT / source).exists(), source
        assert f"!{source.removeprefix('./')}\n" in ignored, source
    for name in re.findall(r"\]\(\.\./([^)#]+)\)", DEPLOY_PAGE):
        assert (ROOT / name).is_file(), name
    mounted = COMPOSE["services"]["proxy"]["volumes"][0].partition(":")[0]
    assert (ROOT / mounted).is_file()


def test_the_image_is_built_from_pinned_versions_and_runs_without_rights_of_root() -> None:
    dockerfile = (ROOT / "Dockerfile").read_text()
    assert "--require-hashes --requirement requirements.lock" in dockerfile
    assert re.search(r"^USER league$", dockerfile, re.MULTILINE)
    assert read_docker("ENTRYPOINT") == ["league"]


@pytest.mark.slow
def test_the_units_are_ones_that_systemd_understands() -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("there is no systemd here; install systemd")
    for unit in sorted((ROOT / "deploy").glob("*.service")) + sorted((ROOT / "deploy").glob("*.timer")):
        said = subprocess.run([analyze, "verify", unit], capture_output=True, text=True, check=False)
        found = [line for line in said.stderr.splitlines() if unit.name in line and "is not executable" not in line]
        assert found == [], said.stderr


def start_service(name: str, folder: Path, port: int, own_port: int | None = None, **env: str) -> Running:
    """Start a service of compose.yaml as it is written, on this machine: the server at `port`, others at their own."""
    here = {
        "--port=8000": f"--port={port}",
        "server:8000": f"localhost:{port}",
        TRUSTED_NETWORK: "127.0.0.1",
        "${LEAGUE_PUBLIC_URL:-http://localhost:8080}": env.pop("public_url", "http://localhost:8080"),
        "/tmp/SHARED": str(folder / "player"),
    }
    words = []
    for word in COMPOSE["services"][name]["command"]:
        changed = reduce(lambda text, pair: text.replace(*pair), here.items(), word)
        words.append(re.sub(r"^--port=8\d0\d$", f"--port={own_port}", changed) if own_port else changed)
    return Running([*LEAGUE, *words], cwd=folder, env=environment(LEAGUE_HOME=str(folder / "SHARED"), **env))


def test_only_the_proxy_is_believed_about_callers_and_no_service_has_an_address_that_another_may_get() -> None:
    services, networks = COMPOSE["services"], COMPOSE["networks"]
    (subnet,) = networks["front"]["ipam"]["config"]
    assert f'--set=network.trusted_proxies=["{subnet["subnet"]}"]' in services["server"]["command"]
    assert [name for name, service in services.items() if "front" in service["networks"]] == ["server", "proxy"]
    assert "ipv4_address" not in str(services), "containers that start earlier take the first addresses"


def test_the_referees_have_names_of_their_own() -> None:
    """They are named by their port: two of one name, with one SHARED folder, would keep each other out."""
    referees = [COMPOSE["services"][name]["command"] for name in ("referee-1", "referee-2")]
    ports = [
        next(word for word in command if word.startswith("--port=")).removeprefix("--port=") for command in referees
    ]
    listed = json.loads((ROOT / "SHARED" / "config" / "agents" / "agents_config.json").read_text())["referees"]
    names = [one["display_name"] for port in ports for one in listed if one["endpoint"].endswith(f":{port}/mcp")]
    assert len(set(names)) == len(ports)


@pytest.mark.slow
def test_the_containers_commands_start_as_written_and_the_referee_finds_the_key(tmp_path: Path) -> None:
    """Without containers: the server on all addresses, a referee and the player beside it on this machine."""
    port = free_ports(4)
    started = [start_service("server", tmp_path, port)]
    try:
        started[0].prints("Serving 1 league at http://localhost:8080/")
        started += [start_service("referee-1", tmp_path, port, port + 1)]
        started += [start_service("player", tmp_path, port, port + 2)]
        started[1].prints("Registered as REF01")
        started[2].prints("Registered as P01")
        check = read_docker("HEALTHCHECK --interval=30s --timeout=5s --start-period=30s \\\\\n    CMD")
        probe = [str(word).replace("8000", str(port)) for word in check]
        assert subprocess.run([shutil.which("python3") or probe[0], *probe[1:]], check=False).returncode == 0
        started[0].signal(signal.SIGTERM)
        assert started[0].ends() == 0
    finally:
        for one in started:
            one.close()


@pytest.mark.slow
@pytest.mark.skipif(not CAN_RUN, reason=MISSING)
def test_all_services_of_compose_together_play_a_league_through_the_proxy(tmp_path: Path, database: str) -> None:
    """Without containers: PostgreSQL, the server, both referees, the player, nginx; two teams dial in by the proxy."""
    inside, outside = (first := free_ports(6)), first + 1
    public = f"http://localhost:{outside}"
    replacements = {"server:8000": f"127.0.0.1:{inside}", "listen 80": f"listen 127.0.0.1:{outside}"}
    with ExitStack() as stack:

        def start(name: str, own_port: int | None = None, **env: str) -> Running:
            service = start_service(name, tmp_path, inside, own_port, **env)
            stack.callback(service.close)
            return service

        server = start("server", public_url=public, LEAGUE_STORE=database)
        server.prints(f"Serving 1 league at {public}/")
        assert not (tmp_path / "SHARED" / "data" / "league.db").exists(), "the store is PostgreSQL"
        referees = [start("referee-1", first + 2), start("referee-2", first + 3)]
        sample = start("player", first + 4)
        stack.enter_context(running_nginx(tmp_path, "nginx-compose.conf", replacements))
        for service in (*referees, sample):
            service.prints("Registered as ")
        address = f"{public}/leagues/{DEFAULT_LEAGUE}/"
        teams = [
            ["player", "--manager", address, "--dial-out", "--name", name, "--home", tmp_path / name]
            for name in ("Ann", "Bob")
        ]
        agents = [sample, *stack.enter_context(running(*teams, cwd=tmp_path))]
        for agent in agents:
            agent.prints("Registered as ")
        begun = league_process(
            "admin", "start", "--home", tmp_path / "SHARED", "--league-id", DEFAULT_LEAGUE, cwd=tmp_path
        )
        assert begun.returncode == 0, begun.stderr
        for agent in agents:
            agent.prints("The league is over")
        assert "Over after 3 matches" in read_page(f"{public}/")
        assert set(re.findall(r"Registered as (REF\d+)", "".join(one.text for one in referees))) == {"REF01", "REF02"}


@pytest.mark.slow
def test_a_backup_of_a_running_server_is_restored_and_its_leagues_go_on(home: Path, tmp_path: Path) -> None:
    write_league(home, "spring", participants={"start_with": 3})
    port, backups = free_ports(2), tmp_path / "backups"
    with running(["serve", "--home", home, "--port", port], cwd=tmp_path) as (server,):
        server.prints("Serving 2 leagues")
        asked = ["player", "--manager", f"http://localhost:{port}/leagues/spring/", "--port", port + 1, "--name", "Ann"]
        with running([*asked, "--home", tmp_path / "ann"], cwd=tmp_path) as (ann,):
            ann.prints("Registered as P01")
            for _ in range(3):
                done = league_process("backup", backups, "--home", home, "--keep", 2, cwd=tmp_path)
                assert done.returncode == 0, done.stderr
    kept = sorted(backups.iterdir())
    assert len(kept) == 2
    assert {path.stat().st_mode & 0o777 for path in kept} == {0o600}
    with tarfile.open(kept[-1]) as archive:
        names = archive.getnames()
    assert "data/league.db" in names
    assert [name for name in names if name.endswith((".lock", "-wal", "-shm"))] == []
    restored = tmp_path / "restored"
    assert league("restore", kept[-1], "--home", restored, cwd=tmp_path).returncode == 0
    again = league("restore", kept[-1], "--home", restored, cwd=tmp_path)
    assert (again.returncode, "isn't empty" in again.stderr) == (2, True)
    with running(["serve", "--home", restored, "--port", port], cwd=tmp_path) as (server,):
        server.prints("Serving 2 leagues")
        wait_until(lambda: "1 player" in read_page(f"http://localhost:{port}/"), "the restored player")


def read_page(address: str) -> str:
    with urllib.request.urlopen(address, timeout=10) as answer:
        text: Any = answer.read().decode()
    return str(text)


def test_a_file_that_is_no_backup_changes_nothing(tmp_path: Path) -> None:
    missing = league("restore", tmp_path / "missing.tar.gz", "--home", tmp_path / "new", cwd=tmp_path)
    assert "missing.tar.gz can't be restored: No such file or directory. Nothing was changed." in missing.stderr
    wrong = tmp_path / "wrong.tar.gz"
    for content in (b"", b"not a tar"):
        wrong.write_bytes(content)
        said = league("restore", wrong, "--home", tmp_path / "new", cwd=tmp_path)
        assert (said.returncode, "can't be restored" in said.stderr) == (2, True)
    link = tarfile.TarInfo("config/link")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc"
    for name, member in (("../evil.py", None), ("/evil.py", tarfile.TarInfo("/evil.py")), ("config/link", link)):
        with tarfile.open(wrong, "w:gz") as archive:
            if member is None:
                archive.add(__file__, name)
            else:
                archive.addfile(member)
        said = league("restore", wrong, "--home", tmp_path / "new", cwd=tmp_path)
        assert (said.returncode, f"it holds '{name}'" in said.stderr) == (2, True)
    assert not (tmp_path / "new").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["wrong.tar.gz"]
