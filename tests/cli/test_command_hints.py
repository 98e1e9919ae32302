"""A word that is no command is told with the command that is meant by it."""

import pytest

from agent_league.cli.app import COMMANDS, GROUPS
from agent_league.cli.command_hints import MEANT_COMMANDS
from agent_league.cli.new import NewKind
from agent_league.cli.old_spellings import OLD_COMMANDS
from agent_league.cli.show import ShowSubject
from tests.cli.leagues import said

KNOWN = {name for listed in COMMANDS.values() for name in listed}


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("standings", "'show standings'"),
        ("table", "'show standings'"),
        ("register", "'player'"),
        ("bracket", "'show bracket'"),
        ("pause", "'admin pause'"),
        ("wath", "'watch'"),
    ],
)
def test_a_word_that_is_no_command_is_told_with_the_one_that_is_meant(word: str, meant: str) -> None:
    done = said(word, "--json")
    assert done.code == 2
    assert f"No such command '{word}'. Did you mean {meant}" in done.error


def test_words_are_no_commands_themselves_and_lead_to_some() -> None:
    words = {"show": ShowSubject, "new": NewKind, **GROUPS}
    assert not {*MEANT_COMMANDS} & {*KNOWN, *OLD_COMMANDS}
    for meant in MEANT_COMMANDS.values():
        command, _, word = meant.partition(" ")
        assert command in KNOWN
        assert not word or word in list(words[command])
