"""`league verify`: check match files and print the findings."""

import sys
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer

from agent_league.cli.options import JsonOption
from agent_league.cli.terminal import EXIT_FAILED, EXIT_WRONG_INPUT, print_json
from agent_league.errors import UserError
from agent_league.text import to_printable

REPORTED_ONLY = "told by a referee that isn't ours: there is a result, but no transcript to check it by"
REBUILT_ONLY = "rebuilt from the database: there is a result, but no transcript to check it by"


def verify(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="Match files, or folders with match files in them.")
    ],
    json: JsonOption = False,
) -> None:
    """Check match files: the draw against its commitment, and the result against rules, moves and transcript.

    Exit code 0: all holds. 1: something doesn't. 2: not a match file.
    """
    reports = [_verify_file(path) for path in _find_match_files(files)]
    if json:
        print_json({"ok": all(report["ok"] for report in reports), "files": reports})
    else:
        for report in reports:
            sys.stdout.write(
                "".join(to_printable(line) + "\n" for line in _report_lines(report, in_full=len(reports) == 1))
            )
        if len(reports) > 1:
            sys.stdout.write(_summary_line(reports) + "\n")
    if any(report["findings"] and not report["ok"] for report in reports):
        raise typer.Exit(EXIT_FAILED)
    if not all(report["ok"] for report in reports):
        raise typer.Exit(EXIT_WRONG_INPUT)


def _find_match_files(paths: list[Path]) -> list[Path]:
    """List the match files: files as they are, all JSON files of a folder, the matches of a SHARED folder."""
    from agent_league.storage.match_segments import list_match_paths

    found: list[Path] = []
    for path in paths:
        if not path.is_dir():
            found.append(path)
            continue
        matches = path / "data" / "matches"
        inside = list_match_paths(matches if matches.is_dir() else path)
        if not inside:
            raise UserError(f"No match files in {path}.")
        found += inside
    return found


def _verify_file(path: Path) -> dict[str, Any]:
    from agent_league.referee.match_file import NotAMatchFile
    from agent_league.referee.verify import verify_match
    from agent_league.storage.match_segments import read_match_bytes

    try:
        content = orjson.loads(read_match_bytes(path))
        if not isinstance(content, dict):
            raise NotAMatchFile("not a match file: expected a JSON object")
        if content.get("rebuilt") is True:
            return {"file": str(path), "ok": True, "error": REBUILT_ONLY, "findings": []}
        if content.get("reported") is True:
            return {"file": str(path), "ok": True, "error": REPORTED_ONLY, "findings": []}
        findings = verify_match(content)
    except (OSError, orjson.JSONDecodeError, NotAMatchFile) as error:
        return {"file": str(path), "ok": False, "error": _error_sentence(error), "findings": []}
    return {
        "file": str(path),
        "ok": all(finding.ok for finding in findings),
        "error": None,
        "findings": [{"check": item.check, "ok": item.ok, "sentence": item.sentence} for item in findings],
    }


def _summary_line(reports: list[dict[str, Any]]) -> str:
    right = sum(report["ok"] for report in reports)
    if right == len(reports):
        return f"{right} match files: all hold"
    wrong = sum(not report["ok"] and bool(report["findings"]) for report in reports)
    return f"{len(reports)} files: {right} right, {wrong} wrong, {len(reports) - right - wrong} no match files"


def _error_sentence(error: Exception) -> str:
    if isinstance(error, OSError):
        return f"can't be read: {error.strerror}"
    if isinstance(error, orjson.JSONDecodeError):
        return f"not a match file: not JSON ({error})"
    return str(error)


def _report_lines(report: dict[str, Any], *, in_full: bool) -> list[str]:
    """Format a line for the file and one for each check; without `in_full` only failed checks are listed."""
    if report["error"]:
        return [f"{report['file']}: {report['error']}"]
    findings = report["findings"]
    checks = [f"  {'ok   ' if item['ok'] else 'WRONG'} {item['check']}: {item['sentence']}" for item in findings]
    shown = [line for line, item in zip(checks, findings, strict=True) if in_full or not item["ok"]]
    return [f"{report['file']}: {'all holds' if report['ok'] else 'something does not hold'}", *shown]
