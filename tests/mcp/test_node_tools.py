"""Setting up the tools of others: once, by one process at a time, and in a sentence where it can't be done."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import BOUND

ROOT = Path(__file__).parents[2]

INSTALLS = """#!/bin/sh
echo "$@" >> calls
sleep 0.2
"""
CANT_REACH_IT = """#!/bin/sh
echo "npm error code ENOTFOUND" >&2
exit 1
"""


class Shell:
    """A shell whose only programs are a Node that is too old and, perhaps, an npm that does as the script says."""

    def __init__(self, folder: Path, npm: str | None = None) -> None:
        self.tools = folder / "tools"
        self._programs = folder / "programs"
        self._programs.mkdir()
        self._add("node", "#!/bin/sh\necho v18.19.0\n")
        if npm:
            self._add("npm", npm)

    def _add(self, name: str, script: str) -> None:
        path = self._programs / name
        path.write_text(script, encoding="utf-8")
        path.chmod(0o755)

    def start(self) -> "subprocess.Popen[str]":
        path = (
            os.pathsep.join([str(self._programs), "/bin"]) if (self._programs / "npm").exists() else str(self._programs)
        )
        return subprocess.Popen(
            [sys.executable, "-m", "tests.mcp.node_tools"],
            cwd=ROOT,
            env={"PATH": path, "LEAGUE_NODE_TOOLS": str(self.tools)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self) -> tuple[int, str]:
        with self.start() as process:
            out, err = process.communicate(timeout=BOUND)
            return process.returncode, out + err

    def installed(self) -> list[str]:
        return (self.tools / "calls").read_text(encoding="utf-8").splitlines()


def test_the_tools_are_installed_once_however_many_ask_at_the_same_time(tmp_path: Path) -> None:
    shell = Shell(tmp_path, INSTALLS)
    processes = [shell.start() for _ in range(3)]
    ends = [(process.communicate(timeout=BOUND), process.returncode) for process in processes]
    assert [code for _, code in ends] == [0, 0, 0], ends
    assert shell.run()[0] == 0
    (command,) = shell.installed()
    for package in (
        "@modelcontextprotocol/conformance@0.2.0-alpha.12",
        "@modelcontextprotocol/inspector@2.12.0",
        "@22",
    ):
        assert package in command


@pytest.mark.parametrize(
    ("npm", "sentence"),
    [
        (None, "npm is missing, and with it the official MCP conformance suite"),
        (CANT_REACH_IT, "(npm error code ENOTFOUND)"),
    ],
)
def test_what_can_t_be_installed_is_told_in_a_sentence(tmp_path: Path, npm: str | None, sentence: str) -> None:
    code, said = Shell(tmp_path, npm).run()
    assert code == 1
    assert sentence in said
    assert "Traceback" not in said
