"""``review``: an automation or a file read as a proposal would be, before anybody agrees to it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from mainspring.authoring.json_pointers import set_at_pointer
from mainspring.contracts.errors import Invalid
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.automations import store_document
from mainspring.surfaces.cli.connection import open_client
from mainspring.surfaces.cli.conversation import thinking
from mainspring.surfaces.cli.documents import STDIN, display_name, read_definition_file
from mainspring.surfaces.cli.lookup import find_automation_at, find_in_use_at
from mainspring.surfaces.cli.paragraphs import heading, paragraph
from mainspring.surfaces.cli.proposal_saving import ApprovalModes
from mainspring.surfaces.cli.proposal_view import problem_part
from mainspring.surfaces.cli.proposals import GenerationOptions, find_chosen_writes, read_labels
from mainspring.surfaces.cli.review_view import review_lines
from mainspring.surfaces.cli.screen import Screen, one_line

if TYPE_CHECKING:
    from rich.text import Text

    from mainspring.surfaces.cli.context import CommandContext
    from mainspring.surfaces.cli.http_client import ApiClient
    from mainspring.surfaces.cli.summary import Labels

_FILES: Final = (".json", ".ts")


async def review_by_options(
    context: CommandContext,
    screen: Screen,
    what: str,
    to: str | None,
    automatic: Sequence[str] | None,
    ask: Sequence[str] | None,
    by: str | None,
    model: str | None,
    max_usd: float | None,
) -> int:
    modes = ApprovalModes(tuple(automatic or ()), tuple(ask or ()))
    return await review(context, screen, what, to, GenerationOptions(by, model, max_usd), modes)


async def review(
    context: CommandContext,
    screen: Screen,
    what: str,
    to: str | None,
    making: GenerationOptions,
    modes: ApprovalModes | None = None,
) -> int:
    """Prints the review; what is wrong has its place, and an exit code of its own."""
    limits = context.limits()
    document = read_definition_file(what, limits) if _is_file(what) else None
    if document is None and to is not None:
        raise Invalid("--to is for a file: what that would change.", code="usage")
    if document is not None and modes is not None and modes.any:
        raise Invalid(
            "--automatic and --ask change an automation, not a file.",
            code="usage",
            suggestion='Write "approval": "automatic" or "ask" into the step in the file.',
        )
    async with open_client(context) as client:
        given = await _build_arguments(client, what, document, to)
        if modes is not None and modes.any:
            await _choose(client, given["automation_id"], modes)
        work = client.call("review_automation", {**given, **making.arguments()})
        found = await thinking(screen, work)
        change = found["review"].get("change") or {}
        labels = await read_labels(client, change.get("widened"))
        if document is None:
            path = f"/automations/{given['automation_id']}"
            document = (await client.request("GET", path))["definition"]
    if screen.for_programs:
        screen.answer(found)
    else:
        shown = display_name(what) if _is_file(what) else what
        screen.say(*_lines(shown, found, document, labels, screen))
    return exits.INVALID if found["problems"] or found["questions"] else exits.DONE


async def _choose(client: ApiClient, automation_id: str, modes: ApprovalModes) -> None:
    """Saves the automation with other approval modes, as its next version."""
    document = (await client.request("GET", f"/automations/{automation_id}"))["definition"]
    for mode, names in (("automatic", modes.automatic), ("ask", modes.ask)):
        for name in names:
            asked = {"definition": document, "by": "rules"}
            found = await client.call("review_automation", asked)
            for write in find_chosen_writes(found["review"]["impact"]["writes"], name):
                document = set_at_pointer(document, write["pointer"], write["values"][mode])
    await store_document(client, document, automation_id)


def _is_file(what: str) -> bool:
    return what == STDIN or what.endswith(_FILES) or os.sep in what


async def _build_arguments(
    client: ApiClient, what: str, document: Any, to: str | None
) -> dict[str, Any]:
    if document is None:
        return {"automation_id": str((await find_automation_at(client, what))["id"])}
    arguments: dict[str, Any] = {"definition": document}
    if to is not None:
        arguments["automation_id"] = str((await find_in_use_at(client, to))["id"])
    return arguments


def _lines(
    shown: str, found: Mapping[str, Any], document: Any, labels: Labels, screen: Screen
) -> list[Text]:
    from rich.text import Text

    definition = document if isinstance(document, Mapping) else {}
    name = definition.get("name")
    lines = [Text(one_line(name if isinstance(name, str) and name else shown), style="bold")]
    lines += review_lines(found["review"], definition, labels, screen)
    # A value that a proposal would ask for is missing in a definition.
    missing = [
        {"pointer": one["pointer"], "detail": one["question"], "code": "required"}
        for one in found["questions"]
    ]
    lines += problem_part([*found["problems"], *missing])
    note = (found["review"].get("reviewed_by") or {}).get("note")
    return [*lines, *heading("Who reviewed it"), *paragraph(screen, note)] if note else lines
