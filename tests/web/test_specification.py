"""`doc`, the protocol for readers: made from the models, and true to them and to what our agents send."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from agent_league.protocol.methods import METHODS
from agent_league.protocol.schemas import build_sent_schema
from agent_league.protocol.v2 import MESSAGES
from agent_league.web.protocol.specification import EXAMPLES, SPECIFICATION_FILE, write_specification
from tests.cli.command import league
from tests.protocol.examples import message_in
from tests.protocol.traffic import record_traffic, sent_messages

FOLDER = Path(__file__).parents[2] / "doc"
FILES = write_specification()
FRAMES: Mapping[str, dict[str, Any]] = {
    name: json.loads(text) for name, text in FILES.items() if name != SPECIFICATION_FILE
}
TYPE_OF = {name: message_in(frame)["message_type"] for name, frame in FRAMES.items()}


def test_the_files_in_doc_are_what_the_code_says() -> None:
    written = {str(path.relative_to(FOLDER)): path.read_text("utf-8") for path in FOLDER.rglob("*") if path.is_file()}
    assert written == FILES, "run `league dev spec doc`"


def test_every_message_has_an_example_in_the_folder_that_seed_004_names() -> None:
    assert set(TYPE_OF.values()) == set(MESSAGES)
    assert {name.split("/")[1] for name in FRAMES} == {"registration", "gameflow", "errors"}
    for name, message_type in TYPE_OF.items():
        kind = name.removeprefix(f"{EXAMPLES}/").partition("/")[0]
        assert (kind == "errors") == message_type.endswith("_ERROR")
        assert (kind == "registration") == ("_REGISTER_" in message_type)
        assert f"]({name})" in FILES[SPECIFICATION_FILE]


@pytest.mark.parametrize("name", sorted(FRAMES))
def test_an_example_is_a_message_that_the_code_reads_and_its_schema_allows(name: str) -> None:
    frame, model = FRAMES[name], MESSAGES[TYPE_OF[name]]
    message = message_in(frame)
    assert model.model_validate(message).to_wire() == message
    Draft202012Validator(build_sent_schema(model)).validate(message)
    assert frame["jsonrpc"] == "2.0"
    if "method" in frame:
        assert METHODS[frame["method"]].request is model


def test_an_example_has_no_field_that_our_agents_never_send(tmp_path: Path) -> None:
    seen: dict[str, set[str]] = {}
    for message in sent_messages(record_traffic(tmp_path)):
        seen.setdefault(message["message_type"], set()).update(message)
    compared = [name for name, message_type in TYPE_OF.items() if message_type in seen]
    assert len(compared) > 20
    for name in compared:
        assert set(message_in(FRAMES[name])) <= seen[TYPE_OF[name]], name


@pytest.mark.parametrize("message_type", sorted(MESSAGES))
def test_the_specification_has_a_chapter_with_the_fields_of_every_message(message_type: str) -> None:
    chapter = FILES[SPECIFICATION_FILE].partition(f"### {message_type}\n")[2].partition("\n#")[0]
    required = build_sent_schema(MESSAGES[message_type])["required"]
    for field in required:
        assert f"| `{field}` |" in chapter
    assert chapter.count("| yes |") >= len(required)


def test_the_command_writes_the_files(tmp_path: Path) -> None:
    done = league("dev", "spec", "protocol", cwd=tmp_path)
    assert (done.returncode, done.stdout + done.stderr) == (0, f"wrote {len(FILES)} files to protocol\n")
    assert (tmp_path / "protocol" / SPECIFICATION_FILE).read_text("utf-8") == FILES[SPECIFICATION_FILE]
