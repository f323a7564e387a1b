"""The kernel's isolation layers alone, against native code that runs as the worker's own user."""

from __future__ import annotations

import asyncio
import os

from tests.kit.escapes.__main__ import ask

ROOT = os.geteuid() == 0


async def test_native_code_gets_nothing_from_the_kernel() -> None:
    modes = ("native:auto", "native:namespaces", "native:landlock")
    for told in await asyncio.to_thread(ask, modes, ordinary=ROOT):
        assert told["walls"]["user"] == "same"
        assert told["walls"]["filtered"]
        assert told["leaks"] == {}, told["mode"]
        assert (told["connections"], told["left"]) == ({}, [])
        assert len(told["tried"]) > 60


async def test_without_isolation_native_code_gets_what_its_user_may_have() -> None:
    (told,) = await asyncio.to_thread(ask, ("native:none",), ordinary=ROOT)

    reached = set(told["leaks"])
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
    assert set(told["connections"]) == {"tcp", "udp", "unix", "abstract"}
