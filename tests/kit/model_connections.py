"""An application with real model connections: its models are whatever a test connects it to."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

from mainspring.app import build_application
from mainspring.contracts.limits import Limits
from mainspring.contracts.roles import Role
from mainspring.gate.callers import CapabilityCaller
from tests.kit.bench import Bench, document, step
from tests.kit.members import member
from tests.kit.model_doubles import LLM

KEY = "sk-a-key-that-nobody-sees-again"


@dataclass(slots=True)
class Providing(Bench):
    """The bench, and people who connect it."""

    admin: CapabilityCaller
    operator: CapabilityCaller

    async def call(
        self, capability: str, by: CapabilityCaller | None = None, /, **value: Any
    ) -> Any:
        return await self.application.gate.direct(by or self.admin, capability, value)

    async def ask(self, **given: Any) -> dict[str, Any]:
        """A run with one step that asks a model."""
        given = {"prompt": "Hello", "max_tokens": 50, **given}
        return await self.run(document(step("ask", LLM, given, max_retries=0)))


@asynccontextmanager
async def providing(
    bench: Bench, allow: Iterable[str] = (), **more: Any
) -> AsyncIterator[Providing]:
    """The bench's database with an application that may call these private addresses."""
    settings = replace(bench.application.settings, egress_allow=frozenset(allow), **more)
    application = build_application(settings, Limits(), None, bench.application.database)
    admin = await member(application.database, application.workspace_id, Role.ADMIN)
    operator = CapabilityCaller(replace(admin.actor, administrator=True))
    try:
        yield Providing(application, bench.outside, admin, operator)
    finally:
        await application.gate.aclose()
        await application.wakeup_sender.aclose()
        await application.egress.aclose()
        await application.providers.aclose()
        if application.script_runner is not None:
            await application.script_runner.aclose()
