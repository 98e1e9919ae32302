"""Names from outside: which may be shown, which are one to the eye, and how the rest is spelled."""

import pytest

from agent_league.cli.options import check_display_name
from agent_league.errors import UserError
from agent_league.model.names import is_displayable, is_reserved_name, normalise_confusables
from agent_league.text import to_printable

FAMILY = "\U0001f469\u200d\U0001f469\u200d\U0001f467"
HEART = "\u2764\ufe0f"


@pytest.mark.parametrize(
    "name", ["Agent Beta", f"{FAMILY} Zoo", f"{HEART}\u200d\U0001f525", "1\ufe0f\u20e3", "Žofie", "愛", "נועה"]
)
def test_a_name_that_people_can_see_is_shown_as_it_is(name: str) -> None:
    assert is_displayable(name)
    assert to_printable(name) == name
    check_display_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "",
        " ",
        "\u3164",
        "\u2800",
        "\u115f",
        "\uffa0",
        "a\u034f",
        "a\ufe0f",
        "a\u200db",
        f"{FAMILY}\u200d",
        "\u200d",
        "a\u202eb",
        "a\x1b[1m",
        "a\nb",
        "a\U000e0101",
    ],
)
def test_a_name_with_what_nobody_sees_is_refused_in_a_sentence(name: str) -> None:
    assert not is_displayable(name)
    with pytest.raises(UserError, match="expected 1 to 100 characters that people can see"):
        check_display_name(name)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Agent Beta", "agent  beta"),
        (HEART, "\u2764"),
        (FAMILY, FAMILY.replace("\u200d", "")),
        ("1\ufe0f", "1"),
        ("a\u3164b", "ab"),
        ("Agent Alpha", "\u0410gent \u0391lpha"),
        ("Bill 10", "BiII lO"),
    ],
)
def test_names_that_look_alike_are_one(one: str, other: str) -> None:
    assert normalise_confusables(one) == normalise_confusables(other)


def test_names_that_people_tell_apart_are_two() -> None:
    assert (
        len(
            {
                normalise_confusables(name)
                for name in ("Zoe", "Zo\u00eb", "Agent 1", "Agent 2", "\u0414\u0438\u043c\u0430")
            }
        )
        == 5
    )


@pytest.mark.parametrize("name", ["P01", "p1", "\u042001", "REF12", "League Manager", "league_manager", "player_001"])
def test_ids_and_roles_are_no_names(name: str) -> None:
    assert is_reserved_name(name, "player")


@pytest.mark.parametrize(
    ("name", "role"), [("Player", "player"), ("Referee", "referee"), ("Player 1", "player"), ("Pi", "player")]
)
def test_one_s_own_role_and_what_only_resembles_an_id_are_names(name: str, role: str) -> None:
    assert not is_reserved_name(name, role)


def test_a_joiner_outside_of_a_picture_is_spelled_out() -> None:
    assert to_printable(f"{FAMILY}a\u200db") == f"{FAMILY}a\\u200db"
