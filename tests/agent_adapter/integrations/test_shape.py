"""Every integration has the same shape."""

import importlib
import inspect
import pkgutil

import pytest

from agent_adapter import integrations
from tests.support.lanes import require_spoonai

MODULES = [
    module.name for module in pkgutil.iter_modules(integrations.__path__) if not module.name.startswith("_")
]


@pytest.mark.parametrize("name", MODULES)
def test_integration_converts_in_converts_out_and_runs(name):
    """Whoever knows one integration knows them all."""
    if name == "spoon":
        require_spoonai()
    module = importlib.import_module(f"agent_adapter.integrations.{name}")

    assert inspect.isfunction(module.to_request)
    assert inspect.isfunction(module.to_resume)
    assert inspect.iscoroutinefunction(module.run)
    assert {"approvals"} <= inspect.signature(module.run).parameters.keys()
    assert all(inspect.getdoc(function) for function in (module.to_request, module.to_resume, module.run))
