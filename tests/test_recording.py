"""The recording of a terminal as a picture: what was on the screen is drawn, for as long as it was there."""

import re
from pathlib import Path
from xml.etree import ElementTree as ET

from tools.screens import LAST_FRAME_SECONDS, NO_BREAK, draw_recording, read_frames, write_cast

OUTPUT = [
    (0.1, "one \x1b[32mtwo three\x1b[0m\r\n"),
    (0.2, "counts: 1"),
    (1.6, "\rcounts: 2"),
    (3.1, "\r\x1b[Kthe end"),
]


def test_a_recording_shows_what_was_on_the_screen(tmp_path: Path) -> None:
    write_cast(OUTPUT, tmp_path / "x.cast")
    frames = read_frames(tmp_path / "x.cast")
    assert [at for at, _ in frames] == [0.0, 1.5, 3.0]
    picture = ET.fromstring(draw_recording(frames))
    words = ["".join(text.itertext()).replace(NO_BREAK, " ") for text in picture.iter() if text.tag.endswith("}text")]
    assert sorted(words) == ["counts: 1", "counts: 2", "onetwo three", "the end"]
    assert 'fill="#6fd79c"' in draw_recording(frames)


def test_a_line_is_shown_as_long_as_it_was_there(tmp_path: Path) -> None:
    write_cast(OUTPUT, tmp_path / "x.cast")
    picture = draw_recording(read_frames(tmp_path / "x.cast"))
    total = 3.0 + LAST_FRAME_SECONDS
    assert f'dur="{total:g}s"' in picture
    (second,) = re.findall(rf'counts:{NO_BREAK}2.*?keyTimes="([^"]*)" values="([^"]*)"', picture)
    assert second == (f"0;{1.5 / total:.4g};{3.0 / total:.4g}", "0;1;0")
    assert re.search(r"<text y=\"\d+\"><tspan[^>]*>one<", picture), "what never changes isn't animated"


def test_a_recording_begins_with_the_first_line_and_a_still_picture_shows_the_last_frame(tmp_path: Path) -> None:
    write_cast([(0.1, "\x1b[2J"), *((at + 3, text) for at, text in OUTPUT)], tmp_path / "x.cast")
    frames = read_frames(tmp_path / "x.cast")
    assert [at for at, _ in frames] == [0.0, 1.5, 3.0]
    seen = re.findall(r'opacity="1"><tspan[^>]*>([^<]*)', draw_recording(frames))
    assert seen == [f"the{NO_BREAK}end"]


def test_the_picture_of_the_documentation_is_one() -> None:
    picture = (Path(__file__).parents[1] / "docs" / "demo.svg").read_text(encoding="utf-8")
    assert ET.fromstring(picture).tag.endswith("svg")
    assert f"Deep{NO_BREAK}Minimax" in picture
    assert 'keyTimes="0;' in picture
    assert 'opacity="1"' in picture
