"""The documentation site: built by Zensical from `docs` and `mkdocs.yml`, then every link of every page is followed.

    python -m tools.site [FOLDER]

writes it to `build/site`. Zensical checks the links between pages itself; those to files, and whether a page loads
something from another server, are checked here, on the pages as they are built.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import yaml

ROOT = Path(__file__).parents[1]
MARK = ROOT / "src" / "agent_league" / "web" / "static" / "icon.svg"
LOADING_TAGS = {"script": "src", "img": "src", "iframe": "src", "source": "src", "video": "src", "link": "href"}
"""Elements whose address a browser loads by itself."""
LINKS_NOT_LOADED = {"canonical", "prev", "next", "alternate"}


class SiteFailed(Exception):
    """The site could not be built, or a link of it leads nowhere."""


@dataclass(slots=True)
class BuiltPage:
    """What a page of the built site names and holds."""

    ids: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)


class _PageParser(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.page = BuiltPage()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = {name: value or "" for name, value in attrs}
        if "id" in named:
            self.page.ids.add(named["id"])
        if tag == "a" and "href" in named:
            self.page.links.append(named["href"])
        address = named.get(LOADING_TAGS.get(tag, ""))
        if address and not (tag == "link" and named.get("rel") in LINKS_NOT_LOADED):
            self.page.loaded.append(address)


def build_site(folder: Path, *, root: Path = ROOT) -> None:
    """Build the site of a checkout into a folder. Raises SiteFailed with what Zensical says of links that are wrong."""
    settings = yaml.safe_load((root / "mkdocs.yml").read_text(encoding="utf-8"))
    settings["site_dir"] = "site"
    with tempfile.TemporaryDirectory() as scratch:  # Zensical wants all below its configuration, its cache too
        shutil.copytree(root / "docs", Path(scratch, "docs"))
        shutil.copy(MARK, Path(scratch, "docs", "assets", "mark.svg"))
        file = Path(scratch, "mkdocs.yml")
        file.write_text(yaml.safe_dump(settings, sort_keys=False), encoding="utf-8")
        command = [sys.executable, "-m", "zensical", "build", "--strict", "--config-file", str(file)]
        done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"NO_COLOR": "1"}, check=False)
        if done.returncode:
            raise SiteFailed(done.stdout + done.stderr)
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(Path(scratch, "site"), folder)


def find_faults(folder: Path) -> list[str]:
    """List the links of a built site that lead nowhere, and what its pages load from other servers."""
    pages = {path: _parse_page(path) for path in sorted(folder.rglob("*.html")) if path.name != "404.html"}
    faults = []
    for path, page in pages.items():
        name = path.relative_to(folder)
        faults += [f"{name} loads {address}" for address in page.loaded if urlsplit(address).netloc]
        faults += [
            f"{name}: {address} leads nowhere"
            for address in page.links + page.loaded
            if not _leads_somewhere(address, path, pages)
        ]
    return faults


def _parse_page(path: Path) -> BuiltPage:
    parser = _PageParser()
    parser.feed(path.read_text(encoding="utf-8"))
    return parser.page


def _leads_somewhere(address: str, path: Path, pages: dict[Path, BuiltPage]) -> bool:
    parts = urlsplit(address)
    if parts.scheme or parts.netloc:
        return True
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if target.is_dir():
        target /= "index.html"
    if not parts.fragment:
        return target.is_file()
    page = pages.get(target)
    return page is not None and unquote(parts.fragment) in page.ids | {"__skip"}


def main() -> int:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "site"
    try:
        build_site(folder)
    except SiteFailed as failure:
        print(failure, file=sys.stderr)
        return 1
    faults = find_faults(folder)
    print("\n".join([*faults, f"{len(list(folder.rglob('*.html')))} pages in {folder}"]))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
