"""The documentation site builds, all its links lead somewhere, it needs no other server, and it can be searched."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from tools.site import SiteFailed, build_site, find_faults

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built") / "site"
    build_site(folder)
    return folder


def test_every_link_of_the_site_leads_somewhere_and_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    assert find_faults(site) == []


def test_the_menu_has_every_page() -> None:
    def list_files(entry: Any) -> list[str]:
        if isinstance(entry, str):
            return [entry]
        return [file for one in (entry.values() if isinstance(entry, dict) else entry) for file in list_files(one)]

    nav = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]
    assert sorted(list_files(nav)) == sorted(str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md"))


def test_the_search_finds_words_of_every_page(site: Path) -> None:
    items = json.loads((site / "search.json").read_text(encoding="utf-8"))["items"]
    found = {item["location"].partition("#")[0] for item in items}
    assert found == {str(page.relative_to(DOCS).with_suffix(".html")) for page in DOCS.rglob("*.md")}


def test_a_link_to_a_page_that_is_not_there_fails_the_build(tmp_path: Path) -> None:
    shutil.copytree(DOCS, tmp_path / "docs")
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    with (tmp_path / "docs" / "index.md").open("a") as page:
        page.write("\n[nowhere](nowhere.md)\n")
    with pytest.raises(SiteFailed, match="page does not exist"):
        build_site(tmp_path / "site", root=tmp_path)


def test_links_to_files_that_are_not_there_and_to_other_servers_scripts_are_found(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text(
        '<a id="here" href="#here">here</a><a href="#there">there</a><a href="gone.json">gone</a>'
        '<a href="https://example.org/">a link may lead out</a><script src="https://example.org/x.js"></script>'
    )
    assert find_faults(tmp_path) == [
        "index.html loads https://example.org/x.js",
        "index.html: #there leads nowhere",
        "index.html: gone.json leads nowhere",
    ]
