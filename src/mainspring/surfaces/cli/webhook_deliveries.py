"""``webhook deliveries`` and ``webhook redeliver``: the last requests of a webhook."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mainspring.runs.history import find_run
from mainspring.runs.replay import replay
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.local import AuditedAction, local, local_owner
from mainspring.surfaces.cli.lookup import find_in_use
from mainspring.surfaces.cli.screen import Screen, clean
from mainspring.surfaces.cli.webhooks import find_webhook
from mainspring.triggers.fire_history import check_delivery, list_deliveries

if TYPE_CHECKING:
    from uuid import UUID

    from mainspring.surfaces.cli.context import CommandContext


async def show_deliveries(
    context: CommandContext, screen: Screen, text: str, slug: str | None, *, limit: int
) -> int:
    """The last requests with their headers, the newest first."""
    async with context.doors.open(context.settings()) as services:
        found = await find_in_use(services, text)
        trigger = await find_webhook(services, found, slug)
        async with local(services).acquire() as connection:
            rows = await list_deliveries(
                connection, services.workspace_id, trigger, before=None, most=limit
            )
    if screen.for_programs:
        screen.answer({"items": rows})
        return exits.DONE
    if not rows:
        screen.say(f"The webhook {trigger['slug']} has not started a run yet.")
        return exits.DONE
    for row in rows:
        screen.say(*_describe(row))
    return exits.DONE


def _describe(row: dict[str, Any]) -> list[str]:
    said = [f"{row['at']:%Y-%m-%d %H:%M:%S %Z}", str(row["run_id"]), row["status"]]
    said += [str(row[name]) for name in ("method", "event") if row[name]]
    if row["redelivery_of"]:
        said.append(f"(redelivery of {row['redelivery_of']})")
    headers = row["headers"] or {}
    lines = [clean("  ".join(said))]
    lines += [clean(f"    {name}: {value}") for name, value in sorted(headers.items())]
    return lines


async def redeliver(
    context: CommandContext, screen: Screen, text: str, slug: str | None, run: str
) -> int:
    """A new run of the active version with the request of an earlier one."""
    async with context.doors.open(context.settings()) as services:
        found = await find_in_use(services, text)
        trigger = await find_webhook(services, found, slug)
        async with local(services).acquire() as connection:
            run_id: UUID = await find_run(connection, services.workspace_id, run)
            await check_delivery(connection, services.workspace_id, trigger, run_id)
        started = await replay(
            local(services),
            services.dispatcher,
            services.limits,
            services.workspace_id,
            run_id,
            version="active",
            by=local_owner(services),
        )
        detail = {"run_id": str(started.run_id), "delivery": str(run_id)}
        deed = AuditedAction("redeliver", f"{found['id']}/{trigger['slug']}", detail)
        await local(services, deed).note()
    if screen.for_programs:
        screen.answer(
            {"run_id": started.run_id, "status": started.status, "reason": started.reason}
        )
    else:
        screen.say(
            f"The request was delivered again. The run {started.run_id} is {started.status}."
        )
    return exits.DONE
