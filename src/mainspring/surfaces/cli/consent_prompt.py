"""Agreeing at a terminal: what is agreed to is shown, and a person answers y or N.

A command agrees only after its question was answered on a terminal. Without one, with ``--json``
or with a token it is a program: it is refused with the page where a person can answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import UUID

from mainspring.gate.callers import CapabilityCaller
from mainspring.surfaces.cli import person_prompt
from mainspring.surfaces.cli.formatting import hint
from mainspring.surfaces.cli.local import local, local_owner
from mainspring.surfaces.cli.person_prompt import INBOX, addition_lines, confirm
from mainspring.surfaces.cli.screen import clean, one_line
from mainspring.surfaces.cli.server_presence import server_address
from mainspring.surfaces.cli.terminal_prompt import Ask
from mainspring.workspace.automations import FIRST_MEMBER
from mainspring.workspace.consent_rows import (
    add_board_names,
    load_latest_consent,
    with_accounts,
    with_names,
)
from mainspring.workspace.consents import (
    NOTHING,
    check_agreed,
    ensure_asked,
    find_consent_additions,
    load_agreed_authority,
)

if TYPE_CHECKING:
    from mainspring.contracts.grant import Grant
    from mainspring.definition.model import Definition
    from mainspring.definition.traits import DefinitionTraits
    from mainspring.surfaces.cli.screen import Screen
    from mainspring.surfaces.services import ApplicationServices
    from mainspring.workspace.consent_rows import AutomationConsent


@dataclass(frozen=True, slots=True)
class LocalCaller:
    """The owner of the data folder, in this process."""

    services: ApplicationServices

    @property
    def address(self) -> str:
        return server_address(self.services.settings)

    @property
    def by_program(self) -> bool:
        return self.services.by_program


def has_person(services: ApplicationServices, screen: Screen, ask: Ask | None = None) -> bool:
    """Whether a person can be asked here."""
    return person_prompt.has_person(LocalCaller(services), screen, ask)


def check_person(
    services: ApplicationServices, screen: Screen, ask: Ask | None, detail: str, page: str = INBOX
) -> None:
    """Refuses a program, and names the page where a person can do this."""
    person_prompt.check_person(LocalCaller(services), screen, ask, detail, page)


def consent_page(services: ApplicationServices, automation_id: UUID) -> str:
    """The address of the page where a person answers."""
    return f"{server_address(services.settings)}/automations/{automation_id}"


def waiting_lines(services: ApplicationServices, consent: AutomationConsent) -> list[str]:
    """What a command has left waiting for a person, and where the person answers."""
    page = consent_page(services, consent.automation_id)
    return [
        "It does not start before a person agrees to this:",
        *addition_lines([one.as_dict() for one in consent.additions]),
        f"  A person answers at {page},",
        f"  or at a terminal: {hint('consents', 'agree', str(consent.id))}",
    ]


async def agree_to_version(
    services: ApplicationServices,
    screen: Screen,
    automation_id: UUID | None,
    definition: Definition,
    grants: Sequence[Grant],
    traits: DefinitionTraits,
    question: str,
    ask: Ask | None = None,
) -> bool:
    """Whether a person agrees to what a version adds before it is stored; nothing new: yes."""
    space = services.workspace_id
    async with local(services).acquire() as connection:
        before = NOTHING
        if automation_id is not None:
            before = await load_agreed_authority(connection, space, automation_id)
        found = await find_consent_additions(before, definition.as_dict(), grants, traits)
        if automation_id is not None:
            shown = await with_names(connection, space, automation_id, found)
        else:
            shown = await add_board_names(connection, space, found)
            shown = await with_accounts(connection, space, FIRST_MEMBER, shown)
    if not shown:
        return True
    lines = addition_lines([one.as_dict() for one in shown])
    head = f"{one_line(definition.name)} needs your consent to do this:"
    return await confirm(screen, [head, *lines], question, ask)


async def agree_first(
    services: ApplicationServices,
    screen: Screen,
    automation_id: UUID,
    version: int,
    ask: Ask | None = None,
) -> bool:
    """What waits for consent is shown and asked about before it starts; False: the answer is no.

    A program gets the problem that everybody gets who starts what nobody has agreed to.
    """
    space, owner = services.workspace_id, local_owner(services)
    async with local(services).transaction() as tx:
        await ensure_asked(tx, space, automation_id, owner)
        waiting = await load_latest_consent(tx, space, automation_id)
    if not has_person(services, screen, ask):
        async with local(services).acquire() as connection:
            await check_agreed(connection, space, automation_id, version)
        return True
    if waiting is None or not waiting.blocks(version):
        return True
    return await agree_to(services, screen, str(waiting.id), ask)


async def agree_to(
    services: ApplicationServices, screen: Screen, consent_id: str, ask: Ask | None = None
) -> bool:
    """Shows one consent, asks, and keeps a yes by the digest of what was shown."""
    owner = CapabilityCaller(local_owner(services))
    found = await services.gate.direct(owner, "get_consent", {"consent_id": consent_id})
    lines = [f"{clean(found['name'])} needs your consent to do this:"]
    if not await confirm(
        screen, [*lines, *addition_lines(found["additions"])], "Do you agree to this?", ask
    ):
        return False
    given = {"consent_id": consent_id, "digest": found["digest"], "agree": True}
    await services.gate.direct(owner, "answer_consent", given)
    return True


async def offer_to_agree(
    services: ApplicationServices, screen: Screen, consents: Sequence[str], ask: Ask | None = None
) -> None:
    """Asks about each consent that a command has brought about; a no leaves it for later."""
    left = len(consents)
    if has_person(services, screen, ask):
        for one in consents:
            left -= await agree_to(services, screen, one, ask)
    if left:
        screen.say("Nothing starts before you agree to what it may do.")
        screen.say(f"  {hint('consents', 'agree', 'AUTOMATION')}")
