"""How long the sentences of the documentation are: `python -m tests.support.prose` lists pages and their longest sentences."""

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
MOST = 20.0
"""Words that the sentences of a page have on average, at most."""

_CODE = re.compile(r"`[^`]*`")
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
# A list item, a quote or a note opens a sentence of its own.
_OPENING = re.compile(r"^\s*(?:[-*>]|\d+\.|!!!|\?\?\?)\s+")
_END = re.compile(r"(?<=[.!?…])[\")*_]*\s+(?=[\"(*_]*[A-Z0-9`\u0000])")
_WORD = re.compile(r"[\w\u0000][\w\u0000'./:=-]*")


class Sentence(NamedTuple):
    """A sentence, and the line on which its paragraph begins."""

    line: int
    text: str

    @property
    def words(self) -> int:
        return len(_WORD.findall(self.text))


def pages() -> list[Path]:
    """Give the pages whose sentences are measured; decisions stay as they were written."""
    found = [path for path in (ROOT / "docs").rglob("*.md") if "decisions" not in path.parts]
    return [ROOT / "README.md", *sorted(found)]


def sentences(text: str) -> list[Sentence]:
    """Give what is written in sentences: no code, no heading, no table cell that is only a word or two."""
    found = []
    for line, block in _blocks(text):
        plain = _CODE.sub("\u0000", _LINK.sub(r"\1", block))
        found += [Sentence(line, part) for part in _END.split(plain)]
    return [sentence for sentence in found if sentence.words > 2]


def average(found: list[Sentence]) -> float:
    """Give the words of a sentence on average; 0 for a page without any."""
    return sum(sentence.words for sentence in found) / len(found) if found else 0.0


def _blocks(text: str) -> list[tuple[int, str]]:
    """Give paragraphs, list items and the table cells that are sentences, each with its first line."""
    found: list[tuple[int, str]] = []
    is_code, is_new = False, True
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            is_code, is_new = not is_code, True
        elif is_code or not line.strip() or line.startswith("#"):
            is_new = True
        elif line.lstrip().startswith("|"):
            cells = (cell.strip() for cell in re.split(r"(?<!\\)\|", line))
            found += [(number, cell) for cell in cells if cell.endswith((".", "!", "?"))]
            is_new = True
        elif is_new or _OPENING.match(line):
            found.append((number, _OPENING.sub("", line).strip()))
            is_new = False
        else:
            found[-1] = (found[-1][0], f"{found[-1][1]} {line.strip()}")
    return found


def main() -> None:
    """Print each page, its average, and its three longest sentences."""
    for page in pages():
        found = sentences(page.read_text(encoding="utf-8"))
        print(f"{average(found):5.1f}  {page.relative_to(ROOT)}")
        for sentence in sorted(found, key=lambda each: -each.words)[:3]:
            print(f"       line {sentence.line}: {sentence.words} words: {sentence.text[:90]}")


if __name__ == "__main__":
    main()
