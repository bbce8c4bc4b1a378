"""A pytest fixture: put `pytest_plugins = ["agent_adapter.testing.pytest_plugin"]` into your conftest.py."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

import pytest

from agent_adapter.testing.client import InMemoryApprovalClient
from agent_adapter.testing.reviewers import Answer, ScriptedReviewer


class ScriptedApprovals(Protocol):
    """Makes a client whose reviewer gives the answers of the test."""

    def __call__(
        self, answers: Mapping[str, Answer | Sequence[Answer]] | Sequence[Answer], *, agent: str = "test"
    ) -> InMemoryApprovalClient:
        """See `ScriptedReviewer` for the answers."""


@pytest.fixture
def scripted_approvals() -> Iterator[ScriptedApprovals]:
    """Make the client of a test: `scripted_approvals({"send_email": approve()})`. The test fails if an answer was not used."""
    reviewers: list[ScriptedReviewer] = []

    def make(
        answers: Mapping[str, Answer | Sequence[Answer]] | Sequence[Answer], *, agent: str = "test"
    ) -> InMemoryApprovalClient:
        reviewers.append(ScriptedReviewer(answers))
        return InMemoryApprovalClient(reviewers[-1], agent=agent)

    yield make
    for reviewer in reviewers:
        reviewer.assert_all_asked()
