"""Consent: nothing may do more than a person has agreed to.

A person who makes or changes an automation agrees to it with that. What a program made or changed
(a token, an MCP client, a run, a file, a recipe) is agreed to by nobody yet: it is paused, each
thing that it may do beyond what was agreed to is one sentence, and it starts nothing until a
person has answered. They agree to exactly what they were shown, by its digest. What only takes
away needs nobody.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar
from uuid import UUID

from mainspring.contracts.errors import (
    Conflict,
    ConsentRequired,
    Finding,
    InternalError,
    PermissionDenied,
)
from mainspring.contracts.grant import Grant
from mainspring.definition.authority import (
    AuthorityAddition,
    AutomationAuthority,
    build_review_addition,
    find_additions,
)
from mainspring.definition.strict_json import hash_content
from mainspring.definition.traits import DefinitionTraits, read_stored_traits
from mainspring.workspace.automations import (
    list_triggers,
    lock_automation,
    merge_stored_triggers,
    set_state,
)
from mainspring.workspace.consent_rows import (
    LOOKED_AT_ONCE,
    NOTHING_NEW,
    PAUSED_REASON,
    REPEAT,
    AutomationConsent,
    ConsentChannel,
    ConsentOrigin,
    ConsentStatus,
    Triggers,
    add_board_names,
    compute_consent_digest,
    find_consent,
    hold_accounts,
    keep_agreed,
    keep_covered,
    keep_waiting,
    load_authority_before,
    load_latest_consent,
    load_version_authority,
    mark_words,
    read_authority_in_thread,
    record_answer,
    renew_consent,
    with_accounts,
    with_names,
)
from mainspring.workspace.inbox import post_message

if TYPE_CHECKING:
    from mainspring.contracts.context import Actor, Transaction

T = TypeVar("T")

# More sentences than a message needs; the whole list is with the consent.
_MOST_TOLD: Final = 20
# The consent page shows all of a longer sentence.
_LONGEST_TOLD: Final = 400
_UNAGREED = """
    UPDATE automations SET agreed_version = NULL, agreed_by = NULL, agreed_via = NULL
    WHERE workspace_id = $1 AND id = $2
"""
_AGREED = "SELECT agreed_version FROM automations WHERE workspace_id = $1 AND id = $2"
_IN_FORCE = """
    SELECT a.version, a.agreed_version, v.grants, v.traits, d.document
    FROM automations a
    JOIN automation_versions v ON v.workspace_id = a.workspace_id
        AND v.automation_id = a.id AND v.version = a.version
    JOIN definitions d ON d.workspace_id = v.workspace_id AND d.hash = v.definition_hash
    WHERE a.workspace_id = $1 AND a.id = $2
"""


@dataclass(frozen=True, slots=True)
class AgreedAuthority:
    """What a person has agreed to last; None: nothing of this automation yet."""

    version: int | None
    authority: AutomationAuthority | None
    # Its triggers as they are then: one that is switched off starts nothing.
    triggers: Triggers | None = None


# What a program made: nobody has agreed to anything of it.
NOTHING: Final = AgreedAuthority(None, None)


_CHANNELS: Final[Mapping[str, ConsentChannel]] = {
    "page": "page",
    "terminal": "terminal",
    "token": "token",
}


def get_consent_channel(actor: Actor) -> ConsentChannel:
    """The channel of an agreement; programs agree to nothing, and chats show no consents."""
    found = _CHANNELS.get(actor.channel or "")
    if found is None:
        raise InternalError("Only a person can consent to what an automation may do.")
    return found


async def load_agreed_authority(
    tx: Transaction, workspace_id: UUID, automation_id: UUID
) -> AgreedAuthority:
    """What was agreed to last; to be asked before another version is saved.

    What is in force is what was agreed to, unless an open question says otherwise.
    """
    row = await tx.fetchrow(_IN_FORCE, workspace_id, automation_id)
    if row is None:
        return NOTHING
    there = await load_latest_consent(tx, workspace_id, automation_id)
    if there is not None and there.blocks(row["version"]):
        authority = await load_authority_before(tx, workspace_id, there)
        return AgreedAuthority(there.agreed_version, authority, there.agreed_triggers)
    then = row["agreed_version"]
    if then is None:
        return NOTHING
    if then != row["version"]:
        return AgreedAuthority(
            then, await load_version_authority(tx, workspace_id, automation_id, then)
        )
    # A trigger that was switched off since is not among what may start it.
    triggers = await list_triggers(tx, workspace_id, automation_id)
    document = merge_stored_triggers(row["document"], triggers)
    traits = read_stored_traits(row["traits"], document)
    authority = await read_authority_in_thread(document, row["grants"], traits)
    return AgreedAuthority(row["version"], authority, document.get("triggers"))


def may_agree(actor: Actor, automation_id: UUID) -> bool:
    """Whether this actor may agree to what an automation may do.

    A person may. A program may not, unless a person has made a token with the permission
    ``approve`` for just this automation and the program shows it where that counts.
    """
    if actor.is_person:
        return True
    return actor.kind == "client" and automation_id in (actor.approves or ())


async def load_baseline(
    tx: Transaction, workspace_id: UUID, automation_id: UUID, actor: Actor
) -> AgreedAuthority | None:
    """What a change by this actor is measured by; None: a person has seen what they do."""
    if actor.is_person:
        return None
    return await load_agreed_authority(tx, workspace_id, automation_id)


async def ask_if_wider(
    tx: Transaction,
    workspace_id: UUID,
    automation_id: UUID,
    agreed: AgreedAuthority | None,
    actor: Actor,
    *,
    tell: bool = True,
) -> AutomationConsent | None:
    """What a program lets an automation do beyond what was agreed to waits for a person.

    To be asked after the change, with what ``load_agreed_authority`` answered before it. Returns
    the question that keeps the automation from starting, if there is one. A person agrees with the
    change itself, unless something that a program wrote waits to be shown to them. ``tell``
    leaves a message in the inbox.
    """
    row = await lock_automation(tx, workspace_id, automation_id, archived=True)
    version = row["version"]
    content = await _load_content_in_force(tx, workspace_id, automation_id, row)
    at = (tx, workspace_id, automation_id, version, version)
    await renew_consent(*at, *content, by_program=agreed is not None)
    there = await load_latest_consent(tx, workspace_id, automation_id)
    if there is not None and there.blocks(version):
        return there
    if agreed is None:
        await keep_agreed(tx, workspace_id, automation_id, actor.id, get_consent_channel(actor))
        return None
    found = await _compare_content(agreed, content)
    if not found:
        await keep_covered(tx, workspace_id, automation_id)
        return None
    origin = _get_origin(agreed)
    return await ask_consent(
        tx, workspace_id, automation_id, version, origin, found, actor, agreed=agreed, tell=tell
    )


async def extend_agreement(tx: Transaction, workspace_id: UUID, automation_id: UUID) -> None:
    """A change that adds nothing was made: the agreement covers it, unless a question is open."""
    row = await lock_automation(tx, workspace_id, automation_id, archived=True)
    there = await load_latest_consent(tx, workspace_id, automation_id)
    if there is None or not there.blocks(row["version"]):
        await keep_covered(tx, workspace_id, automation_id)


async def agree_or_ask(
    tx: Transaction,
    workspace_id: UUID,
    automation_id: UUID,
    actor: Actor,
) -> AutomationConsent | None:
    """A new automation: a person who made it agrees with that, a program's waits for one."""
    agreed = None if actor.is_person else NOTHING
    return await ask_if_wider(tx, workspace_id, automation_id, agreed, actor)


async def change_by(
    tx: Transaction,
    workspace_id: UUID,
    automation_id: UUID,
    actor: Actor,
    work: Callable[[], Awaitable[T]],
) -> tuple[T, AutomationConsent | None]:
    """Changes an automation, and asks about what that adds where no person did it."""
    # Locked first: what the change is compared with must not change meanwhile.
    await lock_automation(tx, workspace_id, automation_id, archived=True)
    agreed = await load_baseline(tx, workspace_id, automation_id, actor)
    made = await work()
    return made, await ask_if_wider(tx, workspace_id, automation_id, agreed, actor)


async def find_consent_additions(
    agreed: AgreedAuthority,
    document: Mapping[str, Any],
    grants: Sequence[Grant],
    traits: DefinitionTraits,
) -> tuple[AuthorityAddition, ...]:
    """What a definition with these grants may do beyond what was agreed to."""
    return await _compare_content(agreed, (document, [one.as_dict() for one in grants], traits))


async def preview_additions(
    tx: Transaction,
    workspace_id: UUID,
    automation_id: UUID | None,
    author_id: UUID,
    document: Mapping[str, Any],
    grants: Sequence[Grant],
    traits: DefinitionTraits,
) -> tuple[AuthorityAddition, ...]:
    """What saving this would add to what was agreed to, as a person is shown it before they save.

    Without an automation it would be a new one of this author.
    """
    agreed = NOTHING
    if automation_id is not None:
        agreed = await load_agreed_authority(tx, workspace_id, automation_id)
    found = await find_consent_additions(agreed, document, grants, traits)
    if automation_id is not None:
        return await with_names(tx, workspace_id, automation_id, found)
    named = await add_board_names(tx, workspace_id, found)
    return await with_accounts(tx, workspace_id, author_id, named)


def compute_additions_digest(additions: Sequence[AuthorityAddition]) -> str:
    """Stands for exactly these additions; a save that names it adds nothing else."""
    return hash_content([one.as_dict() for one in additions]).hex()


def check_previewed(digest: str, additions: Sequence[AuthorityAddition]) -> None:
    """Refuses a save if its additions are not those that the person was shown."""
    if digest != compute_additions_digest(additions):
        raise Conflict(
            "What this adds has changed since it was shown.",
            code="additions_changed",
            suggestion="Save it again and read what it adds now.",
        )


async def ask_consent(
    tx: Transaction,
    workspace_id: UUID,
    automation_id: UUID,
    version: int,
    origin: ConsentOrigin,
    additions: Sequence[AuthorityAddition],
    actor: Actor,
    *,
    agreed: AgreedAuthority | None = None,
    tell: bool = True,
) -> AutomationConsent:
    """Pauses the automation until a person has agreed to these additions.

    One question waits for each automation: a newer one takes the place of the older, and is
    relative to the same version. ``agreed`` is what ``load_agreed_authority`` said before the save.
    Without any addition the person is asked to look it through. ``tell`` leaves a message.
    """
    there = await load_latest_consent(tx, workspace_id, automation_id)
    waited = there is not None and there.status == "waiting"
    base = (None, None) if agreed is None else (agreed.version, agreed.triggers)
    if there is not None and waited:
        if agreed is None:
            base = (there.agreed_version, there.agreed_triggers)
        # What came from elsewhere is looked at, whatever else is asked by now.
        if there.origin in LOOKED_AT_ONCE and origin not in LOOKED_AT_ONCE:
            origin = there.origin
    row = await lock_automation(tx, workspace_id, automation_id, archived=True)
    if row["state"] != "archived":
        await set_state(tx, workspace_id, automation_id, "paused", PAUSED_REASON)
    if base[0] is None:
        await tx.execute(_UNAGREED, workspace_id, automation_id)
    before = there.additions if there is not None and waited else ()
    asked = await _build_question(tx, workspace_id, automation_id, version, additions, before)
    consent_id = await keep_waiting(
        tx, workspace_id, automation_id, version, origin, asked, (actor.kind, actor.id), *base
    )
    made = await find_consent(tx, workspace_id, consent_id)
    if tell and not waited:
        await _tell(tx, workspace_id, made)
    return made


async def check_agreed(
    tx: Transaction, workspace_id: UUID, automation_id: UUID, version: int
) -> None:
    """Refuses to start what nobody has agreed to, and names each thing that is new."""
    problem = await check_consent(tx, workspace_id, automation_id, version)
    if problem is not None:
        raise problem


async def check_consent(
    tx: Transaction, workspace_id: UUID, automation_id: UUID, version: int
) -> ConsentRequired | None:
    """Why the version in force may not start, for want of a person's agreement."""
    there = await load_latest_consent(tx, workspace_id, automation_id)
    if there is not None and there.blocks(version):
        return _consent_required_error(automation_id, there.additions, there)
    row = await tx.fetchrow(_AGREED, workspace_id, automation_id)
    if row is None or row["agreed_version"] == version:
        return None
    # Made before agreement was recorded, and never asked about: the same as will be asked.
    agreed, found = await _find_unasked_additions(tx, workspace_id, automation_id)
    asked = await _build_question(tx, workspace_id, automation_id, version, found)
    shown = await with_names(tx, workspace_id, automation_id, asked)
    digest = compute_consent_digest(automation_id, version, _get_origin(agreed), shown)
    return _consent_required_error(automation_id, shown, None, digest)


def _consent_required_error(
    automation_id: UUID,
    additions: Sequence[AuthorityAddition],
    there: AutomationConsent | None,
    digest: bytes | None = None,
) -> ConsentRequired:
    asks = f"activate {automation_id}" if there is None else f"consents agree {there.id}"
    command = f"mainspring {asks}"
    findings = [Finding(one.pointer, one.says, f"adds_{one.kind}") for one in additions]
    told = {
        "consent_id": None if there is None else str(there.id),
        "digest": there.digest.hex() if there is not None else digest and digest.hex(),
        "additions": [one.as_dict() for one in additions],
        "url": f"/automations/{automation_id}",
    }
    if there is not None and there.status == "refused":
        return ConsentRequired(
            "A person has refused the permissions of this version.",
            code="consent_refused",
            findings=findings,
            consent=told,
            command=command,
            suggestion="Or restore an earlier version.",
        )
    return ConsentRequired(
        "A person must first consent to the permissions of this automation.",
        code="consent_needed",
        findings=findings,
        consent=told,
        command=command,
    )


def _get_origin(agreed: AgreedAuthority) -> ConsentOrigin:
    return "create" if agreed.version is None else "edit"


# What may start, and what is declared about it: the document with its triggers as they are, the
# grants and the traits of the version in force.
Content = tuple[Mapping[str, Any], Sequence[Mapping[str, Any]], DefinitionTraits]


async def _load_content_in_force(
    tx: Transaction, workspace_id: UUID, automation_id: UUID, row: Mapping[str, Any]
) -> Content:
    triggers = await list_triggers(tx, workspace_id, automation_id)
    document = merge_stored_triggers(row["document"], triggers)
    return document, row["grants"], read_stored_traits(row["traits"], document)


async def _compare_content(
    agreed: AgreedAuthority, content: Content
) -> tuple[AuthorityAddition, ...]:
    """Every question about an automation is computed here."""
    return find_additions(agreed.authority, await read_authority_in_thread(*content))


async def _build_question(
    tx: Transaction,
    workspace_id: UUID,
    automation_id: UUID,
    version: int,
    found: Sequence[AuthorityAddition],
    before: Sequence[AuthorityAddition] = (),
) -> tuple[AuthorityAddition, ...]:
    """The additions as they are stored; without any a person looks it through."""
    asked = found or (build_review_addition(NOTHING_NEW),)
    return await mark_words(tx, workspace_id, automation_id, version, asked, before)


async def _find_unasked_additions(
    tx: Transaction, workspace_id: UUID, automation_id: UUID
) -> tuple[AgreedAuthority, tuple[AuthorityAddition, ...]]:
    agreed = await load_agreed_authority(tx, workspace_id, automation_id)
    row = await tx.fetchrow(_IN_FORCE, workspace_id, automation_id)
    content = await _load_content_in_force(tx, workspace_id, automation_id, row)
    return agreed, await _compare_content(agreed, content)


async def ensure_asked(
    tx: Transaction,
    workspace_id: UUID,
    automation_id: UUID,
    actor: Actor,
) -> None:
    """What nobody has agreed to, nor been asked about, is asked about now."""
    row = await lock_automation(tx, workspace_id, automation_id, archived=True)
    there = await load_latest_consent(tx, workspace_id, automation_id)
    kept = await tx.fetchrow(_AGREED, workspace_id, automation_id)
    blocks = there is not None and there.blocks(row["version"])
    if blocks or kept["agreed_version"] == row["version"]:
        return
    agreed, found = await _find_unasked_additions(tx, workspace_id, automation_id)
    await ask_consent(
        tx,
        workspace_id,
        automation_id,
        row["version"],
        _get_origin(agreed),
        found,
        actor,
        agreed=agreed,
        tell=False,
    )


async def agree_to_shown(
    tx: Transaction, workspace_id: UUID, automation_id: UUID, digest: str, actor: Actor
) -> UUID | None:
    """A person starts what they were just shown, and agrees to it with that, by its digest.

    The answer is the consent that was given; None: there was nothing to agree to.
    """
    row = await lock_automation(tx, workspace_id, automation_id)
    there = await load_latest_consent(tx, workspace_id, automation_id)
    if not actor.is_person or there is None or not there.blocks(row["version"]):
        return None
    await answer_consent(
        tx, workspace_id, there.id, digest, actor.id, agree=True, via=get_consent_channel(actor)
    )
    return there.id


async def confirm_agreement(
    tx: Transaction, workspace_id: UUID, automation_id: UUID, actor: Actor
) -> None:
    """A person has looked at what an upgrade carried over, and agrees to it as it is."""
    row = await lock_automation(tx, workspace_id, automation_id)
    if not actor.is_person:
        raise PermissionDenied(
            "A person must review what an automation may do; a program cannot.",
            code="person_needed",
            suggestion="Review it on the page of the automation.",
        )
    await check_agreed(tx, workspace_id, automation_id, row["version"])
    await keep_agreed(tx, workspace_id, automation_id, actor.id, get_consent_channel(actor))


async def pause_reason(
    tx: Transaction, workspace_id: UUID, automation_id: UUID, version: int
) -> str | None:
    """Why it is at rest, where that is for want of a consent."""
    there = await load_latest_consent(tx, workspace_id, automation_id)
    return PAUSED_REASON if there is not None and there.blocks(version) else None


async def answer_consent(
    tx: Transaction,
    workspace_id: UUID,
    consent_id: UUID,
    digest: str,
    member: UUID,
    *,
    agree: bool,
    via: ConsentChannel = "page",
) -> tuple[AutomationConsent, bool]:
    """Store a person's answer to exactly what they were shown, and whether it is a new one.

    Repeating an answer changes nothing. After a denial a person can still consent, with the digest
    of the denied consent.
    """
    found = await find_consent(tx, workspace_id, consent_id)
    row = await lock_automation(tx, workspace_id, found.automation_id)
    await hold_accounts(tx, workspace_id)
    # Somebody else may have answered meanwhile, or replaced an account that the question names.
    found = await find_consent(tx, workspace_id, consent_id)
    wanted: ConsentStatus = "agreed" if agree else "refused"
    if found.status == wanted:
        return found, False
    newest = await load_latest_consent(tx, workspace_id, found.automation_id)
    _check_open(found, newest, row["version"])
    if found.digest.hex() != digest:
        raise build_consent_changed_error(found)
    await record_answer(tx, workspace_id, found, wanted, member, via)
    return await find_consent(tx, workspace_id, consent_id), True


async def record_agreement(
    tx: Transaction, workspace_id: UUID, automation_id: UUID, version: int, actor: Actor
) -> None:
    """A person has read this very version and agreed to it in another way."""
    there = await load_latest_consent(tx, workspace_id, automation_id)
    if there is not None and there.blocks(version):
        await record_answer(tx, workspace_id, there, "agreed", actor.id, get_consent_channel(actor))
    else:
        await keep_agreed(tx, workspace_id, automation_id, actor.id, get_consent_channel(actor))


def format_consent(one: AutomationConsent) -> dict[str, Any]:
    """A consent as every surface shows it."""
    return {
        "consent_id": str(one.id),
        "automation_id": str(one.automation_id),
        "connection_id": None,
        "run_id": str(one.id) if one.asked_kind == REPEAT else None,
        "name": one.automation,
        "version": one.version,
        "agreed_version": one.agreed_version,
        "origin": one.origin,
        "status": one.status,
        "additions": [entry.as_dict() for entry in one.additions],
        "digest": one.digest.hex(),
        "asked_at": one.created_at.isoformat(),
        "answered_at": None if one.answered_at is None else one.answered_at.isoformat(),
    }


def summarize_consent(one: AutomationConsent | None) -> dict[str, Any] | None:
    """The part of it that goes with the answer of whatever asked for it."""
    if one is None:
        return None
    shown = format_consent(one)
    return {name: shown[name] for name in ("consent_id", "digest", "additions")}


def _check_open(found: AutomationConsent, newest: AutomationConsent | None, in_force: int) -> None:
    if found.status == "agreed":
        raise Conflict(
            "This is already approved.",
            code="consent_answered",
            suggestion="Pause the automation if it should not start.",
        )
    if found.status == "overtaken" or (newest is not None and newest.id != found.id):
        open_one = newest is not None and newest.status in ("waiting", "refused")
        way = f"Read {newest.id} instead." if newest is not None and open_one else None
        raise Conflict(
            "The automation has changed: this request is out of date.",
            code="consent_overtaken",
            suggestion=way,
        )
    if found.version != in_force:
        raise Conflict(
            f"This concerns version {found.version}, and version {in_force} is active.",
            code="consent_overtaken",
            suggestion="Save the automation again: the request then concerns that version.",
        )


def build_consent_changed_error(found: AutomationConsent) -> Conflict:
    detail = (
        "Its permissions are not the ones that were shown: it was changed, or another account is "
        "connected."
    )
    return Conflict(
        detail,
        code="consent_answered" if found.status == "refused" else "consent_changed",
        findings=[
            Finding("/digest", detail, "consent_changed", f"It is {found.digest.hex()} now.")
        ],
        suggestion=f"Read it again, and answer with its current digest: {found.digest.hex()}.",
    )


async def _tell(tx: Transaction, workspace_id: UUID, made: AutomationConsent) -> None:
    says = [one.says for one in made.additions[:_MOST_TOLD]]
    told = [f"- {one if len(one) <= _LONGEST_TOLD else one[:_LONGEST_TOLD] + ' …'}" for one in says]
    rest = len(made.additions) - len(told)
    if rest:
        told.append(f"- and {rest} more")
    await post_message(
        tx,
        workspace_id,
        title=f"{made.automation[:150]} waits for your consent",
        message="\n".join([_WHY[made.origin], *told, "It does not start until you agree."]),
        level="warning",
        automation_id=made.automation_id,
    )


_WHY: Final[Mapping[str, str]] = {
    "create": "It was created by a program.",
    "install": "It was installed from a recipe.",
    "upgrade": "An upgrade gives it more permissions than you have agreed to.",
    "import": "It was imported from a file.",
    "edit": "A program changed it, and it has more permissions than you have agreed to.",
    "tools": "Tools that it uses have changed.",
}
