"""Ask a person at the terminal before a request that needs a person's consent.

A command agrees to something only after its question was answered on a terminal. Without a
terminal, with ``--json`` or with a token, the command is a program. It is refused, and the error
names the page where a person can answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

from mainspring.contracts.errors import ConsentRequired, PermissionDenied
from mainspring.surfaces.cli.formatting import hint
from mainspring.surfaces.cli.screen import clean
from mainspring.surfaces.cli.terminal_prompt import Ask, TerminalPrompt, at_terminal

if TYPE_CHECKING:
    from mainspring.surfaces.cli.http_client import ApiClient
    from mainspring.surfaces.cli.screen import Screen

INBOX: Final = "/inbox"
_YES: Final = frozenset({"y", "yes"})


class PossiblePerson(Protocol):
    """Who a command acts as: a program, or perhaps a person."""

    @property
    def by_program(self) -> bool: ...


class Caller(PossiblePerson, Protocol):
    """Who a command acts as, and where the pages of that server are."""

    @property
    def address(self) -> str: ...


def has_person(caller: PossiblePerson, screen: Screen, ask: Ask | None = None) -> bool:
    """Whether a person can be asked here."""
    return not caller.by_program and (ask is not None or at_terminal(screen))


def check_person(
    caller: Caller, screen: Screen, ask: Ask | None, detail: str, page: str = INBOX
) -> None:
    """Refuses a program, and names the page where a person can do this."""
    if not has_person(caller, screen, ask):
        raise PermissionDenied(
            detail,
            code="person_needed",
            suggestion=f"A person answers at {caller.address}{page}, or with the same command at a "
            "terminal, without --json and MAINSPRING_TOKEN.",
        )


async def confirm(
    screen: Screen, lines: Iterable[Any], question: str, ask: Ask | None = None
) -> bool:
    """Shows what is agreed to and asks; anything but a yes is a no."""
    screen.say(*lines)
    said = await (ask or TerminalPrompt(screen))(f"{question} [y/N]")
    return (said or "").strip().lower() in _YES


def addition_lines(additions: Sequence[Mapping[str, Any]]) -> list[str]:
    """Each thing that is agreed to, as the page lists it."""
    return [f"  - {clean(one['says'])}" for one in additions]


async def agree_to_consent(
    client: ApiClient, screen: Screen, consent_id: str, ask: Ask | None = None
) -> bool:
    """Shows one consent request and asks. A yes is sent with the digest of what was shown."""
    found = await client.call("get_consent", {"consent_id": consent_id})
    lines = [f"{clean(found['name'])} needs your consent to do this:"]
    if not await confirm(
        screen, [*lines, *addition_lines(found["additions"])], "Do you agree to this?", ask
    ):
        return False
    given = {"consent_id": consent_id, "digest": found["digest"], "agree": True}
    await client.call("answer_consent", given, confirmed=True)
    return True


async def agree_if_required(
    client: ApiClient, screen: Screen, problem: ConsentRequired, ask: Ask | None = None
) -> bool:
    """Asks a person about the consent that a request lacks; a program gets the problem."""
    consent_id = problem.consent.get("consent_id")
    if consent_id is None or not has_person(client, screen, ask):
        raise problem
    return await agree_to_consent(client, screen, str(consent_id), ask)


def consent_page(caller: Caller, automation_id: str) -> str:
    """The address of the page where a person answers."""
    return f"{caller.address}/automations/{automation_id}"


def waiting_lines(request: Mapping[str, Any]) -> list[str]:
    """What a command has left waiting for a person, and where the person answers."""
    return [
        "It does not start before a person agrees to this:",
        *addition_lines(request["additions"]),
        f"  A person answers at {request['url']},",
        f"  or at a terminal: {hint('consents', 'agree', request['consent_id'])}",
    ]


async def offer_consents(
    client: ApiClient, screen: Screen, consents: Sequence[str], ask: Ask | None = None
) -> None:
    """Asks about each consent that a command has brought about; a no leaves it for later."""
    left = len(consents)
    if has_person(client, screen, ask):
        for one in consents:
            left -= await agree_to_consent(client, screen, one, ask)
    if left:
        screen.say("Nothing starts before you agree to what it may do.")
        screen.say(f"  {hint('consents', 'agree', 'AUTOMATION')}")
