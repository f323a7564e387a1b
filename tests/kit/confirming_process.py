"""A process that confirms one draft, to be killed while it does.

python -m tests.kit.confirming_process DATABASE_URL HOME TELEGRAM_URL PAIR DRAFT
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from mainspring.app import build_application, build_registry
from mainspring.contracts.context import Actor
from mainspring.contracts.limits import Limits
from mainspring.contracts.roles import Role
from mainspring.gate.callers import CapabilityCaller
from mainspring.settings import Settings
from mainspring.store.database import Database
from mainspring.workspace.automations import FIRST_MEMBER


async def main(url: str, home: str, telegram: str, pair: str, draft: str) -> None:
    settings = Settings(
        home=Path(home), database_url=url, telegram_url=telegram, egress_allow=frozenset({pair})
    )
    database = await Database.open(settings)
    registry = build_registry(Limits(), settings=settings)
    application = build_application(settings, Limits(), registry, database)
    owner = CapabilityCaller(
        Actor(application.workspace_id, "member", FIRST_MEMBER, role=Role.OWNER)
    )
    await application.gate.direct(owner, "confirm_action", {"draft_id": draft})


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
