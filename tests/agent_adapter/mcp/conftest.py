"""A place for the command of the gateway."""

import pytest


@pytest.fixture
def place(redis_url, tmp_path):
    from tests.agent_adapter.mcp.places import Place  # not in every environment

    return Place(redis_url, tmp_path)
