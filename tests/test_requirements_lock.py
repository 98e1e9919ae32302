"""What a deployment installs: the versions that are tested, each known by its hashes, from whatever index."""

import re
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
NOT_PUBLIC = ("uvicorn",)
"""Of these we use more than their public names."""


def read_lock(lock: str) -> dict[str, tuple[Requirement, str]]:
    """The requirements of a lock by name, each with all that stands beside it; of several versions that for here."""
    text = (ROOT / lock).read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.strip() and not line.strip().startswith("#")]
    found: dict[str, tuple[Requirement, str]] = {}
    for line in lines:
        requirement = Requirement(line.partition(" --")[0])
        name = canonicalize_name(requirement.name)
        if name not in found or (requirement.marker and requirement.marker.evaluate()):
            found[name] = (requirement, line)
    return found


LOCK = read_lock("requirements.lock")


def version_of(requirement: Requirement) -> str:
    (pin,) = requirement.specifier
    assert pin.operator == "=="
    return pin.version


@pytest.mark.parametrize("name", LOCK)
def test_each_package_of_the_lock_has_one_version_its_hashes_and_no_address(name: str) -> None:
    requirement, line = LOCK[name]
    assert version_of(requirement)
    assert re.findall(r"--(\w[\w-]*)[= ]", line) == ["hash"] * line.count("--hash=sha256:")
    assert "--hash=sha256:" in line
    assert "://" not in line


def test_the_lock_names_no_index() -> None:
    lines = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    assert [
        line for line in lines if re.match(r"(-i|-f|--(extra-)?index-url|--find-links|--trusted-host)\b", line)
    ] == []


def test_the_lock_has_everything_that_the_project_and_its_packages_ask_for() -> None:
    wanted = list(map(Requirement, PROJECT["dependencies"]))
    seen: set[tuple[str, str]] = set()
    while wanted:
        requirement = wanted.pop()
        name, extras = canonicalize_name(requirement.name), ["", *sorted(requirement.extras)]
        assert name in LOCK, name
        assert requirement.specifier.contains(version_of(LOCK[name][0]), prereleases=True), requirement
        if (name, str(extras)) in seen:
            continue
        seen.add((name, str(extras)))
        try:
            asked = map(Requirement, distribution(name).requires or ())
        except PackageNotFoundError:  # for another system
            continue
        wanted += [one for one in asked if not one.marker or any(one.marker.evaluate({"extra": e}) for e in extras)]


def test_what_is_deployed_is_what_is_tested() -> None:
    tested = read_lock("requirements-dev.lock")
    assert {name: version_of(one) for name, (one, _) in LOCK.items()} == {
        name: version_of(tested[name][0]) for name in LOCK
    }


@pytest.mark.parametrize("name", NOT_PUBLIC)
def test_a_package_of_which_we_use_more_than_is_public_is_bounded_by_its_minor_version(name: str) -> None:
    (requirement,) = (one for one in map(Requirement, PROJECT["dependencies"]) if one.name == name)
    major, minor = version_of(LOCK[name][0]).split(".")[:2]
    assert not requirement.specifier.contains(f"{major}.{int(minor) + 1}")
