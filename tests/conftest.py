"""What every test shares: Hypothesis without deadlines, and a tuned garbage collector."""

from __future__ import annotations

from hypothesis import settings

from mainspring.surfaces.cli.gc_tuning import tune_gc

# How long an example takes depends on the machine and says nothing about the code. The examples are
# the same in every run, so that a check fails because of a change and not by chance;
# scripts/fuzz_*.py search further.
settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.load_profile("repeatable")


def pytest_collection_finish() -> None:
    """Collected tests live to the end, so the garbage collector need not scan them again."""
    tune_gc()
