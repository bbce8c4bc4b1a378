"""A release says the same everywhere."""

import runpy

import pytest

from tests.support.pages import ROOT

problems = runpy.run_path(str(ROOT / ".ci" / "tag_check.py"))["problems"]

READY = {
    "tag": "v0.2.0",
    "version": "0.2.0",
    "changelog": "# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - 2026-12-01\n\n### Added\n\n- A button.\n",
    "source": "https://github.com/acme/assent",
    "repository": "acme/assent",
}


def test_a_release_that_says_the_same_everywhere_has_no_problems():
    """On GitHub, and by hand, where nobody says which repository it is."""
    assert problems(**READY) == []
    assert problems(**READY | {"repository": ""}) == []


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"tag": "v0.3.0"}, "tag: v0.3.0, but __version__ is 0.2.0: tag it v0.2.0"),
        ({"tag": ""}, "tag: this commit has none, but"),
        ({"changelog": READY["changelog"].replace("[0.2.0]", "[0.1.0]")}, "the newest entry is [0.1.0] - 2026-12-01"),
        ({"changelog": READY["changelog"].replace(" - 2026-12-01", "")}, "write [0.2.0] and the date"),
        ({"changelog": "# Changelog\n\n## [Unreleased]\n"}, "the newest entry is nothing"),
        ({"changelog": READY["changelog"].replace("[Unreleased]\n", "[Unreleased]\n\n- A fix.\n")}, "under Unreleased"),
        ({"source": "https://github.com/OWNER/assent"}, "has a placeholder"),
        ({"repository": "somebody/assent"}, "but this is somebody/assent"),
    ],
)  # fmt: skip
def test_a_release_that_says_two_things_is_stopped(wrong, said):
    """With what to do about it."""
    [problem] = problems(**READY | wrong)

    assert said in problem
