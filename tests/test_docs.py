"""The site of the documentation: what it is made of is there, and its own checker finds what it is for."""

import importlib.util

import pytest

import agent_adapter
import agent_adapter.testing
from tests.support.pages import ROOT, page

API = page("docs/reference/api.md")


def tool(name):
    """Load a file of docs/site, which is no package."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / "site" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# --- Pages ----------------------------------------------------------------------------------------------------------


def test_the_api_page_has_every_public_name():
    """Of the library, and of its stand-in for tests."""
    names = {name for name in agent_adapter.__all__ if name != "__version__"}
    names |= {f"testing.{name}" for name in agent_adapter.testing.__all__}

    assert sorted(name for name in names if f"::: agent_adapter.{name}\n" not in API) == []


@pytest.mark.parametrize(
    "path", sorted((ROOT / "agent_adapter" / "integrations").glob("[!_]*")), ids=lambda path: path.stem
)
def test_the_api_page_has_every_integration(path):
    """With the three names that all of them share."""
    shared = [f"agent_adapter.integrations.{path.stem}.{name}" for name in ("run", "to_request", "to_resume")]

    assert [name for name in shared if f"::: {name}\n" not in API] == []


def test_every_diagram_is_drawn_and_every_drawing_is_shown():
    """From its present source; otherwise: .venv/bin/python docs/site/diagrams.py."""
    diagrams = tool("diagrams")

    wanted = {diagrams.drawing(source) for source in diagrams.sources()}

    assert wanted
    assert set(diagrams.DRAWN.glob("*.svg")) == wanted


# --- The checker of the built site ------------------------------------------------------------------------------------


@pytest.fixture
def faults(tmp_path):
    """Build a site of two pages, the first with this in it, and say what the checker finds."""

    def faults(html):
        (tmp_path / "other").mkdir()
        (tmp_path / "index.html").write_text(html)
        (tmp_path / "other" / "index.html").write_text('<h2 id="there">There</h2>')
        return list(tool("check").faults(tmp_path))

    return faults


@pytest.mark.parametrize("link", ["other/", "other/#there", "other/index.html#there", "https://example.com/"])
def test_a_link_that_leads_somewhere_is_fine(faults, link):
    """To a page, to a heading, or out of the site."""
    assert faults(f'<a href="{link}">go</a>') == []


@pytest.mark.parametrize("link", ["gone/", "other/#gone", "#gone", "../outside.html", "other/picture.png"])
def test_a_link_that_leads_nowhere_is_named(faults, link):
    """With the page that has it."""
    assert faults(f'<a href="{link}">go</a>') == [f"index.html has a link that leads nowhere: {link}"]


@pytest.mark.parametrize(
    "html",
    [
        '<script src="{}"></script>', '<link rel="stylesheet" href="{}">', '<img src="{}">',
        '<link rel="preconnect" href="{}">',
    ],
)  # fmt: skip
@pytest.mark.parametrize("address", ["https://cdn.example.com/x", "//cdn.example.com/x"])
def test_what_would_be_loaded_from_elsewhere_is_named(faults, html, address):
    """A script, a style sheet, a picture, or a connection that is opened ahead of time."""
    assert f"index.html loads {address} from elsewhere" in faults(html.format(address))
