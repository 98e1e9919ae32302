"""docs/test-results.md is true: each command makes the table below it."""

import re
import shlex
from pathlib import Path

import pytest

from tests.cli.command import league

PAGE = (Path(__file__).parents[1] / "docs" / "test-results.md").read_text(encoding="utf-8")
RESULTS = re.findall(r"^```bash\n(.*?)\n```\n\n```text\n(.*?)\n```$", PAGE, re.DOTALL | re.MULTILINE)


def test_every_command_of_the_page_has_a_result() -> None:
    assert len(RESULTS) == PAGE.count("```bash") == 4


@pytest.mark.parametrize(("command", "table"), RESULTS)
def test_a_command_makes_the_table_below_it(command: str, table: str, tmp_path: Path) -> None:
    done = league(*shlex.split(command)[1:], cwd=tmp_path)
    assert table.splitlines() == [line.rstrip() for line in done.stdout.splitlines()][1 : len(table.splitlines()) + 1]
