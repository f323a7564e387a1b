"""Deciding by a button: the call that the member would make in the inbox, with their role of now.

Every provider's buttons end here. A draft is confirmed with the hash of what the message showed,
so a draft that was changed since is not sent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from mainspring.contracts.context import Actor
from mainspring.contracts.errors import Conflict, Problem
from mainspring.contracts.roles import Role
from mainspring.gate.callers import CapabilityCaller
from mainspring.gate.prompting import prompts
from mainspring.gate.prompting.prompts import read_options
from mainspring.store.database_errors import log_and_convert_error

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mainspring.gate.call import Gate
    from mainspring.gate.prompting.buttons import ButtonPress
    from mainspring.store.database import Database

_SAID: Final = {
    ("draft", "confirmed"): "Sent.",
    ("draft", "approved"): "Your approval is recorded; another person must approve as well.",
    ("draft", "failed"): "It could not be sent.",
    ("draft", "discarded"): "Discarded; nothing was sent.",
    ("approval", "approved"): "Approved: the run continues.",
    ("approval", "declined"): "Declined: the run is notified.",
}


@dataclass(frozen=True, slots=True)
class Decision:
    """What came of a press."""

    text: str
    # Nothing was decided, and the same button may be pressed again.
    is_open: bool = False


async def decide(
    database: Database,
    gate: Gate,
    prompt: prompts.Prompt,
    place: Mapping[str, Any],
    role: str,
    press: ButtonPress,
) -> Decision:
    """Answers for the member who pressed a button."""
    actor = Actor(
        prompt.workspace_id, "member", prompt.member_id, role=Role(role), chat=prompt.target
    )
    async with database.acquire() as connection:
        form = await prompts.load_form(connection, prompt)
    try:
        name, given = _call(prompt, place, press, form)
        answer = await gate.direct(CapabilityCaller(actor), name, given)
    except Exception as error:
        # Whatever it was, the person sees that nothing was decided.
        problem = error if isinstance(error, Problem) else log_and_convert_error(error)
        async with database.acquire() as connection:
            is_open = await prompts.is_open(connection, prompt, place.get("hash"))
        return Decision(problem.detail, is_open)
    failure = answer.get("error") or {}
    said = _SAID.get((prompt.about, str(answer.get("status"))), "Done.")
    if prompt.about == "approval" and press.option is not None:
        said = f"{read_options(form)[press.option].label}: the run continues."
    return Decision(f"{said} {failure['detail']}" if failure.get("detail") else said)


def _call(
    prompt: prompts.Prompt,
    place: Mapping[str, Any],
    press: ButtonPress,
    form: Mapping[str, Any] | None,
) -> tuple[str, dict[str, Any]]:
    """The call that a person would make in the inbox."""
    about = str(prompt.about_id)
    if prompt.about == "approval":
        given = {"approval_id": about, "decision": "approved" if press.yes else "declined"}
        options = read_options(form)
        if press.option is not None:
            if press.option >= len(options):
                raise Conflict("This question does not offer that answer.", code="no_such_option")
            given["answer"] = options[press.option].answer
        return "answer_approval", given
    if not press.yes:
        return "discard_action", {"draft_id": about}
    return "confirm_action", {"draft_id": about, "hash": place.get("hash")}
