"""Check the built site: every link leads to a page and a heading that are there, and no page loads anything from elsewhere.

`zensical build --strict` checks links between pages, as they are written. This checks all links, as they came out.
"""

import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

# A link that a reader may follow. Anything else with an address is loaded by the browser.
FOLLOWED = {"a", "area"}
# What tells others about the page, and is not loaded.
SAID = {"canonical", "edit", "next", "prev", "alternate"}


class Page(HTMLParser):
    """The addresses in a page, and the anchors that it has."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.followed: set[str] = set()
        self.loaded: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value for name, value in attrs if value}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        addresses = {given[name] for name in ("href", "src", "data", "poster") if name in given}
        if tag in FOLLOWED or given.get("rel") in SAID:
            self.followed |= addresses
        else:
            self.loaded |= addresses


def faults(site: Path) -> Iterator[str]:
    """Say what is wrong, a sentence for each fault."""
    pages = {path: Page(path) for path in sorted(site.rglob("*.html"))}
    for path, page in pages.items():
        name = path.relative_to(site)
        yield from (
            f"{name} loads {address} from elsewhere"
            for address in sorted(page.loaded)
            if urlsplit(address).scheme not in {"", "data"} or address.startswith("//")
        )
        for address in sorted(page.followed | page.loaded):
            if not urlsplit(address).scheme and not _leads(address, path, site, pages):
                yield f"{name} has a link that leads nowhere: {address}"


def _leads(address: str, path: Path, site: Path, pages: dict[Path, Page]) -> bool:
    if path.name == "404.html" and address.startswith("/"):
        path, address = site / "404.html", address.lstrip("/") or "."
    where, anchor = urldefrag(address)
    target = (path.parent / unquote(where)).resolve() if where else path
    target = target / "index.html" if target.is_dir() else target
    if not target.is_relative_to(site) or not target.is_file():
        return False
    return not anchor or target not in pages or unquote(anchor) in pages[target].anchors


if __name__ == "__main__":
    sys.exit("\n".join(faults(Path(sys.argv[1]).resolve())) or None)
