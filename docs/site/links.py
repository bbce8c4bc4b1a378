"""Links of a page to files outside of `docs/`, such as an example: on the site they lead to the repository.

On GitHub and in an editor the same links work as they are written.
"""

import posixpath
from typing import Any
from xml.etree.ElementTree import Element

from markdown import Extension, Markdown
from markdown.treeprocessors import Treeprocessor
from zensical.extensions.context import ContextPreprocessor


def outside(href: str, page: str, repository: str) -> str | None:
    """Give the address in the repository of a link that leaves `docs/`, `None` for any other link.

    Args:
        href: As the page has it: `../../examples/http_api.py`.
        page: Path of the page in `docs/`: `how-to/use-from-http.md`.
        repository: Address of its files: `https://…/blob/main`.
    """
    target = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), href))
    inside = target == "docs" or target.startswith("docs/")
    return None if inside or not href.startswith("..") else f"{repository}/{target}"


class _Links(Treeprocessor):
    def __init__(self, md: Markdown, repository: str) -> None:
        super().__init__(md)
        self.repository = repository

    def run(self, root: Element) -> None:
        context = ContextPreprocessor.from_markdown(self.md)
        for link in root.iter("a") if context else ():
            if address := outside(link.get("href", ""), context.page.path, self.repository):
                link.set("href", address)


class LinksExtension(Extension):
    """Registers it before the site makes addresses of pages out of the names of files."""

    def __init__(self, repository: str) -> None:
        super().__init__()
        self.repository = repository

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802  # the name that Markdown calls
        md.treeprocessors.register(_Links(md, self.repository), "outside", 15)


def makeExtension(**options: Any) -> LinksExtension:  # noqa: N802  # the name that Markdown calls
    """Give the extension, made with the options of `zensical.toml`."""
    return LinksExtension(**options)
