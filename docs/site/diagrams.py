"""The diagrams of the pages, drawn once from their mermaid source.

GitHub draws ```` ```mermaid ```` by itself. The site shows the drawing that is committed beside this file, so a reader
loads no script. `.venv/bin/python docs/site/diagrams.py` draws anew what has changed.
"""

import hashlib
import json
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[1]
DRAWN = Path(__file__).parent / "diagrams"
MERMAID = "mermaid@12.3.0"
MERMAID_SHA256 = "336df803d87a38b70a01e736e666c8f7601d2ce42f5e47c8fafe5d721074b9a3"
# A colour of the drawing, and the name that style.css gives it for light and for dark.
COLOURS = {
    "#101010": "ink",
    "#202020": "line",
    "#303030": "box",
    "#404040": "group",
    "#505050": "edge",
    "#606060": "page",
}
SETTINGS = {
    "startOnLoad": False,
    "theme": "base",
    "look": "classic",
    "htmlLabels": False,
    "deterministicIds": True,
    "fontFamily": "sans-serif",
    "flowchart": {"nodeSpacing": 16, "rankSpacing": 28, "padding": 8},
    "themeVariables": {
        "fontSize": "14px",
        **dict.fromkeys(
            ("primaryTextColor", "textColor", "titleColor", "actorTextColor", "signalTextColor"), "#101010"
        ),
        **dict.fromkeys(("labelTextColor", "loopTextColor", "noteTextColor", "nodeTextColor"), "#101010"),
        **dict.fromkeys(("lineColor", "signalColor", "actorLineColor"), "#202020"),
        **dict.fromkeys(
            ("primaryColor", "mainBkg", "actorBkg", "noteBkgColor", "labelBoxBkgColor"), "#303030"
        ),
        **dict.fromkeys(("clusterBkg", "secondaryColor", "tertiaryColor"), "#404040"),
        **dict.fromkeys(("primaryBorderColor", "nodeBorder", "clusterBorder", "actorBorder"), "#505050"),
        **dict.fromkeys(("noteBorderColor", "labelBoxBorderColor"), "#505050"),
        "edgeLabelBackground": "#606060",
    },
}
_FENCE = re.compile(r"^```mermaid\n(.*?)^```", re.MULTILINE | re.DOTALL)
_DRAW = """async ([settings, name, source]) => {
    mermaid.initialize(settings);
    return (await mermaid.render(name, source)).svg;
}"""


class DiagramError(Exception):
    """A diagram has no drawing of its present source."""


def sources() -> Iterator[str]:
    """Give the source of each diagram in the pages."""
    for page in sorted(DOCS.rglob("*.md")):
        yield from (source.strip() for source in _FENCE.findall(page.read_text(encoding="utf-8")))


def drawing(source: str) -> Path:
    """Say where the drawing of this source is. Another source or style has another file, so no drawing is ever out of date."""
    title = re.search(r"accTitle: *(.+)", source)
    if not title:
        raise DiagramError(f"a diagram needs a title for those who cannot see it: accTitle: …\n{source}")
    words = re.sub(r"[^a-z0-9]+", "-", title[1].lower()).strip("-")
    made_of = json.dumps([MERMAID, SETTINGS, source])
    return DRAWN / f"{words}.{hashlib.sha256(made_of.encode()).hexdigest()[:8]}.svg"


def show(source: str, *_: Any, **__: Any) -> str:
    """Give the drawing as HTML, in the place of a ```` ```mermaid ```` block. Called by the site."""
    path = drawing(source.strip())
    if not path.exists():
        sys.exit(f"docs: {path.name} is not drawn yet: run .venv/bin/python docs/site/diagrams.py")
    return f'<figure class="diagram" tabindex="0">{path.read_text(encoding="utf-8")}</figure>'


def draw() -> None:
    """Draw what has no drawing yet, and remove drawings that no page has any more."""
    wanted = {drawing(source): source for source in sources()}
    for path in set(DRAWN.glob("*.svg")) - set(wanted):
        path.unlink()
    missing = {path: source for path, source in wanted.items() if not path.exists()}
    if missing:
        DRAWN.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory() as folder:
            _draw(missing, _mermaid(Path(folder)))
    print(f"{len(missing)} drawn, {len(wanted)} in all")


def _mermaid(folder: Path) -> str:
    subprocess.run(["npm", "pack", "--silent", MERMAID], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    (archive,) = folder.glob("*.tgz")
    with tarfile.open(archive) as files:
        script = files.extractfile("package/dist/mermaid.min.js").read()
    if (found := hashlib.sha256(script).hexdigest()) != MERMAID_SHA256:
        raise DiagramError(f"{MERMAID} is not the file that was reviewed: its SHA-256 is {found}")
    return script.decode()


def _draw(missing: dict[Path, str], mermaid: str) -> None:
    from playwright.sync_api import sync_playwright  # noqa: PLC0415  # the site itself is built without a browser

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page()
        page.add_script_tag(content=mermaid)
        for path, source in missing.items():
            svg = page.evaluate(_DRAW, [SETTINGS, path.stem.replace(".", "-"), source])
            path.write_text(_themed(svg) + "\n", encoding="utf-8")
        browser.close()


def _themed(svg: str) -> str:
    for colour, name in COLOURS.items():
        svg = svg.replace(colour, f"var(--diagram-{name})")
    return svg


if __name__ == "__main__":
    draw()
