"""A worker with scripts under way, for tests that kill it: tells who is there, then waits."""

from __future__ import annotations

import asyncio
import json
import sys

from mainspring.actions.script.sandbox.isolation import IsolationMode
from mainspring.actions.script.sandbox.pool import SandboxPool
from tests.integration.actions.script.sandbox.script_session import body, first_frame


async def work(mode: IsolationMode) -> None:
    async with SandboxPool(warm=1, wanted=mode) as sandboxes, sandboxes.taken() as process:
        await process.send(first_frame(body("console.log('begun'); for (;;);")))
        await anext(aiter(process))
        await sandboxes.settled()
        pids = [process.pid, sandboxes.launcher_pid, *sandboxes.idle_pids()]
        print(json.dumps({"pids": pids, "folder": sandboxes.folder}), flush=True)  # noqa: T201
        await process.ended()


if __name__ == "__main__":
    asyncio.run(work(IsolationMode(sys.argv[1])))
