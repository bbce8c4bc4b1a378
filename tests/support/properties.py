"""How hard a property is tried: a little on every change, and much harder in `make faults`."""

import os

from hypothesis import HealthCheck, settings

FULL = os.environ.get("ASSENT_FAULTS") == "full"


def bounded(examples: int) -> settings:
    """Try a tenth of these examples on every change, twice as many in `make faults`; the same ones on every machine."""
    return settings(
        max_examples=2 * examples if FULL else max(10, examples // 10),
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
