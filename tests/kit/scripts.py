"""Definitions of one script, and the words that judge them."""

from __future__ import annotations

from typing import Any

import pytest

from mainspring.contracts.limits import Limits
from mainspring.contracts.registry import Registry
from mainspring.registry import build_registry
from tests.kit.bench import document, step
from tests.kit.capabilities import Outside

SDK = 'import { brains, kv } from "https://brains/sdks/automation-sdk-v1.ts";'


def script(source: str, *tools: str, sdk: bool = True, **more: Any) -> dict[str, Any]:
    """A plan of one script with grants by name; its first line is the import of the SDK."""
    grants = [{"tool": tool} for tool in tools]
    text = f"{SDK}\n{source}" if sdk else source
    return document(step("main", "script", {"source": text, "grants": grants, **more}))


@pytest.fixture(scope="session")
def bench_words() -> tuple[Registry, Limits]:
    """What a definition may use, without an application."""
    return build_registry(Limits(), capabilities=Outside().capabilities()), Limits()
