"""Faces and colours of players: always the same, nothing of a stranger's text in them, and seen in both themes."""

import re
from importlib.resources import files
from itertools import product
from pathlib import Path

import pytest

from agent_league.model.looks import PlayerLook, is_sign, read_look
from agent_league.web.avatars import HUES, SIGN_SIZES, choose_ink, draw_avatar, find_hue
from agent_league.web.page import Page
from agent_league.web.pages.agents import PLAYER_PAGE, PLAYERS_PAGE
from agent_league.web.pages.cross_table import CROSS_TABLE_PAGE
from agent_league.web.pages.match import MATCH_PAGE
from agent_league.web.pages.overview import OVERVIEW_PAGE, ROUND_PAGE
from agent_league.web.pages.table import TABLE_PAGE
from tests.harm import IMAGE, QUOTED, SCRIPT
from tests.web.browsing import shown
from tests.web.seasons import reader_of, season_of

STYLE = (files("agent_league.web") / "static" / "base.css").read_text("utf-8")
READABLE = 4.5
"""Contrast that text needs; a player's colour may be that of text."""
THEMES = dict(zip(("light", "dark"), STYLE.split("@media (prefers-color-scheme: dark)")[:2], strict=True))


def read_colour(theme: str, name: str) -> str:
    found = re.search(rf"--{name}: (#[0-9a-f]{{6}});", THEMES[theme])
    assert found, f"{name} has no colour in the {theme} theme"
    return found[1]


def measure_luminance(colour: str) -> float:
    shares = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in shares)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def measure_contrast(one: str, other: str) -> float:
    darker, lighter = sorted(map(measure_luminance, (one, other)))
    return (lighter + 0.05) / (darker + 0.05)


def test_a_name_has_one_face_and_capitals_make_no_other() -> None:
    assert draw_avatar("Agent Alpha") == draw_avatar("agent ALPHA")
    assert draw_avatar("Agent Alpha") != draw_avatar("Agent Beta")
    assert f"hue-{find_hue('Agent Alpha')}" in draw_avatar("Agent Alpha")


def test_many_names_have_many_faces_in_all_colours() -> None:
    names = [f"Player {number}" for number in range(300)]
    assert {find_hue(name) for name in names} == set(range(HUES))
    assert len({draw_avatar(name) for name in names}) > 250


@pytest.mark.parametrize("name", ["", SCRIPT, IMAGE, QUOTED, "\ud800", "שלום", "x" * 100_000])
def test_nothing_of_a_name_is_in_its_face(name: str) -> None:
    words = r"<svg class=\"avatar hue-\d+\" viewBox=\"0 0 24 24\" aria-hidden=\"true\">"
    path = r"d=\"[MmLlHhVvAaZz0-9 .-]+\"/>"
    assert re.fullmatch(rf"{words}<path {path}<path class=\"face\" {path}</svg>", draw_avatar(name))


@pytest.mark.parametrize("theme", THEMES)
def test_every_colour_is_readable_on_what_it_stands(theme: str) -> None:
    names = [f"hue-{number}" for number in range(HUES)] + ["ink", "soft", "accent", "win", "loss", "draw", "live"]
    faint = [
        (name, ground)
        for name, ground in product(names, ("paper", "ground"))
        if measure_contrast(read_colour(theme, name), read_colour(theme, ground)) < READABLE
    ]
    assert faint == []
    for name in ("win", "draw", "loss", "accent"):
        assert measure_contrast(read_colour(theme, name), read_colour(theme, f"{name}-ground")) >= READABLE
    for name in ("gold", "silver", "bronze"):
        assert measure_contrast(read_colour(theme, name), read_colour(theme, "paper")) >= 3


def test_every_colour_has_its_class() -> None:
    assert all(f".hue-{number} {{ --player: var(--hue-{number}); }}" in STYLE for number in range(HUES))


SHADES = ("00", "33", "5a", "77", "88", "99", "cc", "ff")
FOX = PlayerLook("#c0392b", "🦊")


def test_a_sign_is_readable_on_any_colour_in_both_themes() -> None:
    colours = [f"#{''.join(parts)}" for parts in product(SHADES, repeat=3)]
    assert {choose_ink(colour) for colour in colours} == {"#ffffff", "#000000"}
    assert [colour for colour in colours if measure_contrast(colour, choose_ink(colour)) < READABLE] == []
    for colour in ("#c0392b", "#f1c40f"):
        drawn = draw_avatar("Fox", PlayerLook(colour, "FX"))
        assert f'<rect width="24" height="24" fill="{colour}"/>' in drawn
        assert f'font-size="{SIGN_SIZES[1]}" fill="{choose_ink(colour)}">FX</text>' in drawn
        face = draw_avatar("Fox", PlayerLook(colour))
        assert re.findall(r'fill="(#\w+)"', face) == [colour, choose_ink(colour), colour]
    assert ".avatar .face:not([fill]) { fill: var(--paper); }" in STYLE, "a sign alone is on the colour of its name"
    alone = draw_avatar("Fox", PlayerLook(sign="🦊"))
    assert "fill=" not in alone
    assert f'class="avatar hue-{find_hue("Fox")}"' in alone


@pytest.mark.parametrize("sign", ["🦊", "A", "AB", "ABC", "Ж", "שלו", "👩\u200d🚀", "❤\ufe0f", "🇮🇱", "<b>", "&", "\"'"])
def test_a_sign_is_shown_as_text(sign: str) -> None:
    look, noted = read_look(None, sign)
    assert (look, noted) == (PlayerLook("", sign), ())
    drawn = draw_avatar("Fox", look)
    assert drawn.unescape().count(f">{sign}</text>") == 1
    assert "<b>" not in drawn


@pytest.mark.parametrize(
    "sign",
    [
        *(
            "ABCD",
            "🦊🦊🦊🦊",
            " ",
            "A B",
            "\u200b",
            "A\u202e",
            "\u2066A",
            "\x1b[m",
            "A\n",
            "\u3164",
            "\ufe0f",
            "\ud800",
        ),
        *("data:image/png", "https://a.b/c.png", SCRIPT, IMAGE, "x" * 100_000, 7, True, ["🦊"], {"text": "🦊"}),
    ],
)
def test_what_is_no_sign_is_left_out_and_noted(sign: object) -> None:
    look, noted = read_look("#C0392B", sign)
    assert look == PlayerLook("#c0392b", "")
    (said,) = noted
    assert said.startswith("'avatar' ")
    assert said.isprintable()
    assert len(said) < 250
    assert not is_sign(sign)


@pytest.mark.parametrize(
    "colour",
    ["red", "#fff", "#c0392b ", "#c0392b\n", "#c0392bff", "c0392b", "#c0392g", "url(//a)", "#c0392b;x", 12, ["#"]],
)
def test_what_is_no_colour_is_left_out_and_noted(colour: object) -> None:
    look, noted = read_look(colour, "🦊")
    assert look == PlayerLook("", "🦊")
    assert [said.partition(" ")[0] for said in noted] == ["'color'"]


def test_nothing_told_is_no_look_and_no_deviation() -> None:
    for nothing in (None, ""):
        assert read_look(nothing, nothing) == (PlayerLook(), ())


@pytest.mark.parametrize(
    ("page", "key"),
    [
        (OVERVIEW_PAGE, ""),
        (TABLE_PAGE, ""),
        (CROSS_TABLE_PAGE, ""),
        (PLAYERS_PAGE, ""),
        (PLAYER_PAGE, "P01"),
        (MATCH_PAGE, "R1M1"),
        (ROUND_PAGE, "1"),
    ],
    ids=["overview", "table", "cross table", "players", "player", "match", "round"],
)
def test_the_look_that_was_told_is_shown_wherever_faces_are(page: Page, key: str, tmp_path: Path) -> None:
    season = season_of(2, looks=[FOX])
    drawn = shown(page, reader_of(season, tmp_path), key).all("svg", "avatar")
    told = [one for one in drawn if one.text == FOX.sign]
    assert told
    assert {one.one("rect").attributes["fill"] for one in told} == {FOX.color}
    rest = [one for one in drawn if one.text != FOX.sign]
    assert all(not one.all("rect") for one in rest), "the other one has the face of its name"
    assert rest
