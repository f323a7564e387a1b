"""Starting without asking for a proposal does not load what makes one."""

from __future__ import annotations

import subprocess
import sys

LOADED = """
import sys
from mainspring.contracts.limits import Limits
from mainspring.registry import build_registry
build_registry(Limits())
print(*(name for name in sys.modules if name.startswith("mainspring.authoring.")))
"""


def test_a_registry_loads_none_of_the_rules_that_read_and_review() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", LOADED], capture_output=True, text=True, check=True
    )
    loaded = ended.stdout.split()
    assert "mainspring.authoring.proposals.capabilities" in loaded
    late = ("sketch.", "generate.", "proposals.handlers", "phrases.reading", "review.flags")
    assert [one for one in loaded if any(part in one for part in late)] == []
