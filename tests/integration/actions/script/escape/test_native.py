"""The kernel's isolation layers alone, against native code that runs as the worker's own user."""

from __future__ import annotations

import asyncio
import os

from tests.kit.escapes.__main__ import ask

ROOT = os.geteuid() == 0


async def test_native_code_gets_nothing_from_the_kernel() -> None:
    modes = ("native:auto", "native:namespaces", "native:landlock")
    for result in await asyncio.to_thread(ask, modes, ordinary=ROOT):
        assert result["walls"]["user"] == "same"
        assert result["walls"]["filtered"]
        assert result["leaks"] == {}, result["mode"]
        assert (result["connections"], result["left"]) == ({}, [])
        assert len(result["tried"]) > 60


async def test_without_isolation_native_code_gets_what_its_user_may_have() -> None:
    (result,) = await asyncio.to_thread(ask, ("native:none",), ordinary=ROOT)

    reached = set(result["leaks"])
    assert {
        "list",
        "chmod",
        "utime",
        "write",
        "tcp",
        "udp",
        "unix",
        "abstract",
        "signal",
        "limits",
        "priority",
        "affinity",
        "another program",
        "handle of a process",
        "a world of users",
    } <= reached
    assert len([name for name in reached if name.startswith("read ")]) > 5
    assert set(result["connections"]) == {"tcp", "udp", "unix", "abstract"}
