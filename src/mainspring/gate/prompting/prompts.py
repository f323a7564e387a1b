"""Prompts as rows: who is to be told of what, where it stands, and what its buttons bring back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.display_text import (
    escape_invisible,
    format_first_line,
    format_lines,
    utf16_length,
)
from mainspring.gate.prompting.link_codes import hashed
from mainspring.workspace.prompt_recipients import build_recipients_join

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction
    from mainspring.contracts.errors import Problem


# What a message shows of a draft or a question, so that a button under it can be answered.

# A mail has no buttons, and only announces what is longer.
MOST: Final = 3_500
# As many options as a row of buttons shows on a phone, and as much as a button's label holds.
MOST_OPTIONS: Final = 5
_LONGEST_LABEL: Final = 60
_ANNOUNCED: Final = 600
_ELSEWHERE: Final = (
    "This is only the beginning. The text is too long for a message: read all of it in the "
    "inbox, and answer it there."
)


@dataclass(frozen=True, slots=True)
class FormattedPrompt:
    """A text, and whether it shows all that is decided."""

    text: str
    whole: bool


@dataclass(frozen=True, slots=True)
class Option:
    """One of the answers that a question offers."""

    label: str
    answer: Any


def fits_mail(text: str) -> bool:
    return utf16_length(text) <= MOST


def draft_message(
    preview: str,
    arguments: Mapping[str, Any],
    account: str | None = None,
    *,
    fits: Callable[[str], bool] = fits_mail,
) -> FormattedPrompt:
    """A draft: what would happen, over which account, and all that would leave."""
    over = [f"(over the account {escape_invisible(account)})"] if account else []
    return _message(
        "\n".join([escape_invisible(preview), *over, "", *_format_lines(arguments)]), fits
    )


def question_message(
    title: str, message: str, *, fits: Callable[[str], bool] = fits_mail
) -> FormattedPrompt:
    """A question of a plan."""
    return _message(f"{escape_invisible(title)}\n{format_lines(message)}".strip(), fits)


def read_options(form: Mapping[str, Any] | None) -> tuple[Option, ...]:
    """The answers that a form offers; none where a person has to write or combine something."""
    if form is None:
        return ()
    values, name = form.get("enum"), None
    properties = form.get("properties")
    if values is None and isinstance(properties, Mapping) and len(properties) == 1:
        ((name, inner),) = properties.items()
        values = inner.get("enum") if isinstance(inner, Mapping) else None
    if not isinstance(values, list) or not 1 <= len(values) <= MOST_OPTIONS:
        return ()
    if not all(isinstance(one, str | int | float) for one in values):
        return ()
    labels = [" ".join(_entry(one).split()) for one in values]
    if len(set(labels)) < len(labels) or not all(0 < len(one) <= _LONGEST_LABEL for one in labels):
        return ()
    answers = values if name is None else [{name: one} for one in values]
    return tuple(map(Option, labels, answers))


def _message(text: str, fits: Callable[[str], bool]) -> FormattedPrompt:
    if fits(text):
        return FormattedPrompt(text, whole=True)
    return FormattedPrompt(f"{format_first_line(text, _ANNOUNCED)}\n\n{_ELSEWHERE}", whole=False)


def _format_lines(value: Mapping[str, Any], depth: int = 0) -> Iterator[str]:
    for name, entry in value.items():
        begins = f"{'  ' * depth}{escape_invisible(str(name))}:"
        if isinstance(entry, Mapping) and entry:
            yield begins
            yield from _format_lines(entry, depth + 1)
        elif isinstance(entry, list) and any(isinstance(one, Mapping) for one in entry):
            yield begins
            for one in entry:
                yield f"{'  ' * depth}  - {_entry(one)}"
        else:
            yield f"{begins} {_entry(entry)}"


def _entry(value: Any) -> str:
    """A value on its line; only a text of several lines has more of them."""
    if isinstance(value, str):
        lines = format_lines(value).split("\n")
        # Marked, so that no text can look like another argument.
        return lines[0] if len(lines) == 1 else "".join(f"\n| {line}" for line in lines)
    if isinstance(value, Mapping):
        return _file(value) or "; ".join(
            f"{escape_invisible(str(k))}: {_entry(v)}" for k, v in value.items()
        )
    if isinstance(value, list):
        return ", ".join(map(_entry, value)) or "(none)"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "(nothing)" if value is None else str(value)


def _file(value: Mapping[str, Any]) -> str | None:
    """A file that leaves with it, by its name, kind and size."""
    if not {"filename", "bytes", "sha256"} <= value.keys():
        return None
    kind = escape_invisible(str(value.get("mime_type", "")))
    return f"{escape_invisible(str(value['filename']))} ({kind}, {value['bytes']} bytes)"


TRIES: Final = 6
_DRAFT_OWNER: Final = "coalesce(a.created_by, d.actor_id)"
# What a member asked for themselves, and no run of an automation.
_OWN_CALL: Final = "d.automation_id IS NULL"


def _was_given_up(one: str, owner: str) -> str:
    """Whether the owner could not be reached over the target t, for want of an address say."""
    return f"""EXISTS (SELECT FROM prompts_sent g WHERE g.workspace_id = {one}.workspace_id
                AND g.about_id = {one}.id AND g.target = t.target AND g.member_id = {owner}
                AND g.state = 'given_up')"""


_DRAFT_GIVEN_UP: Final = _was_given_up("d", _DRAFT_OWNER)
_QUESTION_GIVEN_UP: Final = _was_given_up("q", "a.created_by")
# What nobody is to be notified of elsewhere has no row here.
_NEW_DRAFTS = f"""
    INSERT INTO prompts_sent (workspace_id, id, about, about_id, member_id, target)
    SELECT d.workspace_id, uuidv7(), 'draft', d.id, r.user_id, t.target
    FROM drafts d
    LEFT JOIN automations a ON a.workspace_id = d.workspace_id AND a.id = d.automation_id
    CROSS JOIN LATERAL unnest(d.notify) AS t(target)
    {
    build_recipients_join(
        "d.workspace_id", _DRAFT_OWNER, own_call=_OWN_CALL, unreachable=_DRAFT_GIVEN_UP
    )
}
    WHERE d.status = 'pending' AND d.expires_at > now() AND t.target IN ('email', 'telegram')
      AND NOT EXISTS (SELECT FROM prompts_sent p WHERE p.workspace_id = d.workspace_id
          AND p.about_id = d.id AND p.target = t.target AND p.member_id = r.user_id)
    ON CONFLICT DO NOTHING
"""
_NEW_QUESTIONS = f"""
    INSERT INTO prompts_sent (workspace_id, id, about, about_id, member_id, target)
    SELECT q.workspace_id, uuidv7(), 'approval', q.id, r.user_id, t.target
    FROM approvals q
    JOIN automations a ON a.workspace_id = q.workspace_id AND a.id = q.automation_id
    CROSS JOIN LATERAL unnest(q.notify) AS t(target)
    {
    build_recipients_join(
        "q.workspace_id", "a.created_by", roles="q.roles", unreachable=_QUESTION_GIVEN_UP
    )
}
    WHERE q.status = 'pending' AND q.expires_at > now() AND t.target IN ('email', 'telegram')
      AND NOT EXISTS (SELECT FROM prompts_sent p WHERE p.workspace_id = q.workspace_id
          AND p.about_id = q.id AND p.target = t.target AND p.member_id = r.user_id)
    ON CONFLICT DO NOTHING
"""
# Somebody who has linked their Slack account is asked there about everything since then.
_NEW_SLACK_DRAFTS = f"""
    INSERT INTO prompts_sent (workspace_id, id, about, about_id, member_id, target)
    SELECT d.workspace_id, uuidv7(), 'draft', d.id, s.member_id, 'slack'
    FROM drafts d
    LEFT JOIN automations a ON a.workspace_id = d.workspace_id AND a.id = d.automation_id
    {build_recipients_join("d.workspace_id", _DRAFT_OWNER, own_call=_OWN_CALL)}
    JOIN slack_identities s ON s.workspace_id = d.workspace_id AND s.member_id = r.user_id
    WHERE d.status = 'pending' AND d.expires_at > now() AND d.created_at >= s.linked_at
      AND NOT EXISTS (SELECT FROM prompts_sent p WHERE p.workspace_id = d.workspace_id
          AND p.about_id = d.id AND p.target = 'slack' AND p.member_id = r.user_id)
    ON CONFLICT DO NOTHING
"""
_NEW_SLACK_QUESTIONS = f"""
    INSERT INTO prompts_sent (workspace_id, id, about, about_id, member_id, target)
    SELECT q.workspace_id, uuidv7(), 'approval', q.id, s.member_id, 'slack'
    FROM approvals q
    JOIN automations a ON a.workspace_id = q.workspace_id AND a.id = q.automation_id
    {build_recipients_join("q.workspace_id", "a.created_by", roles="q.roles")}
    JOIN slack_identities s ON s.workspace_id = q.workspace_id AND s.member_id = r.user_id
    WHERE q.status = 'pending' AND q.expires_at > now() AND q.created_at >= s.linked_at
      AND NOT EXISTS (SELECT FROM prompts_sent p WHERE p.workspace_id = q.workspace_id
          AND p.about_id = q.id AND p.target = 'slack' AND p.member_id = r.user_id)
    ON CONFLICT DO NOTHING
"""
# Taken with a time by which it is looked at again, should whoever took it be lost.
_TAKE = """
    UPDATE prompts_sent p SET tries = tries + 1,
        due_at = now() + least(interval '1 hour', interval '30 seconds' * power(2, p.tries))
    WHERE (p.workspace_id, p.id) IN (
        SELECT workspace_id, id FROM prompts_sent WHERE state = 'waiting' AND due_at <= now()
        ORDER BY due_at LIMIT $1 FOR UPDATE SKIP LOCKED
    )
    RETURNING p.workspace_id, p.id, p.about, p.about_id, p.member_id, p.target, p.tries
"""
_DRAFT = """
    SELECT preview, arguments, connection ->> 'account' AS account, bound_hash AS hash,
        status = 'pending' AND expires_at > now() AS waits
    FROM drafts WHERE workspace_id = $1 AND id = $2
"""
_QUESTION = """
    SELECT title, message, form,
        status = 'pending' AND expires_at > now() AS waits
    FROM approvals WHERE workspace_id = $1 AND id = $2
"""
_BUTTONS = """
    UPDATE prompts_sent SET secret_hash = $3, place = $4 WHERE workspace_id = $1 AND id = $2
"""
_SENT = "UPDATE prompts_sent SET state = 'sent', place = $3 WHERE workspace_id = $1 AND id = $2"
_FAILED = """
    UPDATE prompts_sent SET problem = $3, state = CASE WHEN $4 THEN 'given_up' ELSE state END
    WHERE workspace_id = $1 AND id = $2
"""
_PRESSED = """
    SELECT workspace_id, id, about, about_id, member_id, target, tries, place, secret_hash
    FROM prompts_sent WHERE workspace_id = $1 AND id = $2 AND target = $3
"""
_FORM = "SELECT form FROM approvals WHERE workspace_id = $1 AND id = $2"
_OPEN = {
    "draft": """
        SELECT status = 'pending' AND expires_at > now()
            AND bound_hash IS NOT DISTINCT FROM decode($3, 'hex') AS open
        FROM drafts WHERE workspace_id = $1 AND id = $2
    """,
    "approval": """
        SELECT status = 'pending' AND expires_at > now() AND $3::text IS NULL AS open
        FROM approvals WHERE workspace_id = $1 AND id = $2
    """,
}
_ROLE = """
    SELECT m.role FROM members m JOIN users u ON u.id = m.user_id
    WHERE m.workspace_id = $1 AND m.user_id = $2 AND u.disabled_at IS NULL
"""


@dataclass(frozen=True, slots=True)
class Prompt:
    """One person who is told of one thing in one place."""

    workspace_id: UUID
    id: UUID
    about: str
    about_id: UUID
    member_id: UUID
    target: str
    tries: int


@dataclass(frozen=True, slots=True)
class PromptContent:
    """What a prompt shows, and the hash of the wording that it shows."""

    text: str
    hash: str | None
    # Whether it shows all that is decided, and can be answered by a yes or a no.
    plain: bool
    waits: bool
    # The answers that a question offers besides a no.
    options: tuple[Option, ...] = ()


async def queue_new_prompts(tx: Transaction) -> None:
    """Everything that waits and of which somebody is to be told elsewhere."""
    await tx.execute(_NEW_DRAFTS)
    await tx.execute(_NEW_QUESTIONS)
    await tx.execute(_NEW_SLACK_DRAFTS)
    await tx.execute(_NEW_SLACK_QUESTIONS)


async def claim_due_prompts(tx: Transaction, most: int) -> list[Prompt]:
    """Prompts that are this caller's to send now."""
    return [Prompt(**dict(row)) for row in await tx.fetch(_TAKE, most)]


async def read_prompt_content(
    tx: Transaction, prompt: Prompt, fits: Callable[[str], bool] = fits_mail
) -> PromptContent | None:
    """What is to be shown; None when it is not there any more.

    ``fits`` says whether one message can show a text.
    """
    query = _DRAFT if prompt.about == "draft" else _QUESTION
    row = await tx.fetchrow(query, prompt.workspace_id, prompt.about_id)
    if row is None:
        return None
    if prompt.about != "draft":
        asked = question_message(row["title"], row["message"], fits=fits)
        options = read_options(row["form"])
        plain = asked.whole and (row["form"] is None or bool(options))
        return PromptContent(asked.text, None, plain, row["waits"], options)
    told = draft_message(row["preview"], row["arguments"], row["account"], fits=fits)
    # What nobody can compare with what was shown is answered where it can be seen.
    plain = told.whole and row["hash"] is not None
    return PromptContent(told.text, row["hash"] and row["hash"].hex(), plain, row["waits"])


async def store_button_secret(
    tx: Transaction, prompt: Prompt, secret: str, seen: PromptContent
) -> None:
    """What the buttons of a prompt bring back, as a hash alone, and what its message shows."""
    place = {"hash": seen.hash}
    await tx.execute(_BUTTONS, prompt.workspace_id, prompt.id, hashed(secret), place)


async def mark_sent(tx: Transaction, prompt: Prompt, place: Mapping[str, Any]) -> None:
    await tx.execute(_SENT, prompt.workspace_id, prompt.id, dict(place))


async def mark_failed(tx: Transaction, prompt: Prompt, problem: Problem) -> None:
    """It is tried again, unless it was tried often enough or never can be sent."""
    over = prompt.tries >= TRIES or not problem.retryable
    await tx.execute(_FAILED, prompt.workspace_id, prompt.id, problem.as_dict(), over)


async def find_pressed_prompt(
    tx: Transaction, workspace_id: UUID, prompt_id: UUID, secret: str, target: str
) -> tuple[Prompt, Mapping[str, Any]] | None:
    """The prompt whose button brings this back, and where it stands; None for any other."""
    row = await tx.fetchrow(_PRESSED, workspace_id, prompt_id, target)
    if row is None or row["secret_hash"] != hashed(secret):
        return None
    values = dict(row)
    values.pop("secret_hash")
    place = values.pop("place")
    return Prompt(**values), place


async def load_form(tx: Transaction, prompt: Prompt) -> Mapping[str, Any] | None:
    """The form of the question that a prompt is about."""
    if prompt.about != "approval":
        return None
    row = await tx.fetchrow(_FORM, prompt.workspace_id, prompt.about_id)
    return None if row is None else row["form"]


async def is_open(tx: Transaction, prompt: Prompt, seen: str | None) -> bool:
    """Whether what a prompt showed still waits, and is still the same."""
    row = await tx.fetchrow(_OPEN[prompt.about], prompt.workspace_id, prompt.about_id, seen)
    return row is not None and bool(row["open"])


async def load_role(tx: Transaction, workspace_id: UUID, member_id: UUID) -> str | None:
    """The role of somebody who is still a member."""
    row = await tx.fetchrow(_ROLE, workspace_id, member_id)
    return None if row is None else str(row["role"])
