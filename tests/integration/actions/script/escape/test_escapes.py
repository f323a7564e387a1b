"""Scripts that try to get out, and what they bring back: nothing.

Each mode is a choice of isolation layers. ``none`` tries Deno's own permissions alone;
``landlock``, ``namespaces`` and ``auto`` try them with the kernel's isolation; ``+open`` gives
Deno every permission, so that the kernel's isolation is tried alone. The quick size runs every
attempt with ``auto``, as root where we are, and a part of them elsewhere; all of it everywhere is
``python -m tests.kit.escapes --all``.
"""

from __future__ import annotations

import asyncio
import os

import pytest

from tests.kit.escapes.__main__ import ask
from tests.kit.escapes.table import attempts, storage

AS_ROOT = ("auto", "none/2", "namespaces/8", "landlock/8.1", "auto+open/8.2", "namespaces+open/8.3")
AS_ANYBODY = ("none/3.1", "auto/4.1", "namespaces/8", "auto+open/8.1", "landlock+open/8.2")
ROOT = os.geteuid() == 0


@pytest.mark.parametrize(
    ("ordinary", "modes"), [(False, AS_ROOT), (ROOT, AS_ANYBODY)], ids=["as we are", "as anybody"]
)
async def test_nothing_that_was_planted_is_ever_seen_or_reached(
    ordinary: bool, modes: tuple[str, ...]
) -> None:
    verdicts = await asyncio.to_thread(ask, modes, ordinary=ordinary)

    assert len(verdicts) == len(modes)
    for verdict in verdicts:
        assert verdict["leaks"] == {}, verdict["said"]
        assert (verdict["connections"], verdict["left"], verdict["untried"]) == ({}, [], [])
    everything = len(attempts()) + sum(map(len, storage()))
    most = max(len(verdict["tried"]) for verdict in verdicts)
    assert most >= everything // 4 if modes is AS_ANYBODY else most == everything


@pytest.mark.parametrize(
    "ordinary", sorted({False, ROOT}), ids=["as we are", "as anybody"][: 1 + ROOT]
)
async def test_without_isolation_the_same_scripts_get_everything(ordinary: bool) -> None:
    """A battery that fails everywhere proves nothing."""
    (verdict,) = await asyncio.to_thread(ask, ("none+open",), ordinary=ordinary)

    meant = {attempt.name for attempt in attempts() if "control" in attempt.marks}
    assert meant - set(verdict["leaks"]) == set()
    assert set(verdict["connections"]) == {"tcp", "udp", "unix", "abstract"}
    assert any(path.endswith("/spare/data") for path in verdict["left"])
    assert len(meant) > 40
