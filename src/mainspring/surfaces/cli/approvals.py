"""``approvals`` and ``rules``: what plans ask of people, and what people need not be asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import orjson

from mainspring.contracts.errors import Conflict, Finding, Invalid, NotFound
from mainspring.definition.escaping import escape_json
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.columns import short_id
from mainspring.surfaces.cli.connection import open_client
from mainspring.surfaces.cli.formatting import hint
from mainspring.surfaces.cli.person_prompt import check_person, confirm
from mainspring.surfaces.cli.screen import one_line
from mainspring.surfaces.cli.terminal_prompt import Ask

if TYPE_CHECKING:
    from mainspring.surfaces.cli.context import CommandContext
    from mainspring.surfaces.cli.http_client import ApiClient
    from mainspring.surfaces.cli.screen import Screen


_BY_PEOPLE: Final = "Only a person can answer the question of a run."
_RULES_BY_PEOPLE: Final = "Only a person can accept a standing rule."


async def show_approvals(context: CommandContext, screen: Screen, *, most: int) -> int:
    async with open_client(context) as where:
        found = await _call(where, "list_approvals", limit=min(most, 100))
    if screen.for_programs:
        screen.answer(found)
    elif found["approvals"]:
        for one in found["approvals"]:
            screen.say(*_question(one, screen), "")
        screen.say(f"  {hint('approvals', 'approve', 'QUESTION')}")
    else:
        screen.say("No questions are waiting.")
    return exits.DONE


async def answer_question(
    context: CommandContext,
    screen: Screen,
    text: str,
    *,
    approved: bool,
    answer: str | None,
    ask: Ask | None = None,
) -> int:
    """Tells a waiting run what a person has answered at the terminal."""
    arguments: dict[str, Any] = {"decision": "approved" if approved else "declined"}
    if answer is not None:
        arguments["answer"] = _json(answer)
    async with open_client(context) as where:
        listed = []
        # One that was answered before is found too, and says so.
        for status in ("pending", "approved", "declined", "expired"):
            found = await _call(where, "list_approvals", limit=100, status=status)
            listed += found["approvals"]
        one = _meant(listed, "approval_id", text, "question")
        if one["form"] is not None and approved and answer is None:
            detail = "This question has a form: say what it asks for."
            raise Invalid(
                detail,
                findings=[Finding("/answer", detail, "answer_missing")],
                suggestion='Give --answer with JSON, such as \'{"day": "2026-12-01"}\'.',
            )
        if one["status"] == "pending":
            check_person(where, screen, ask, _BY_PEOPLE)
            shown = [*_question(one, screen)]
            if answer is not None:
                shown.append(f"  answer     {one_line(answer, 400)}")
            said = "Approve this?" if approved else "Decline this?"
            if not await confirm(screen, shown, said, ask):
                screen.say("Not answered. The run keeps waiting.")
                return exits.DONE
        told = await _call(
            where, "answer_approval", confirmed=True, approval_id=one["approval_id"], **arguments
        )
    if screen.for_programs:
        screen.answer(told)
    else:
        screen.say("Approved. The run continues with your answer." if approved else "Declined.")
    return exits.DONE


async def show_rules(context: CommandContext, screen: Screen) -> int:
    async with open_client(context) as where:
        found = await _call(where, "list_standing_rules")
    if screen.for_programs:
        screen.answer(found)
    elif found["rules"]:
        for one in found["rules"]:
            screen.say(*_rule(one, screen), "")
    else:
        screen.say("There are no standing rules. Every draft waits for approval.")
    return exits.DONE


async def decide(
    context: CommandContext, screen: Screen, text: str, what: str, ask: Ask | None = None
) -> int:
    """Accepts a rule once a person was asked; declines or withdraws one."""
    async with open_client(context) as where:
        listed = (await _call(where, "list_standing_rules", limit=100))["rules"]
        rule = _meant(listed, "rule_id", text, "rule")
        rule_id = rule["rule_id"]
        if what == "accept":
            check_person(where, screen, ask, _RULES_BY_PEOPLE)
            asked = "Send these without asking?"
            if not await confirm(screen, _rule(rule, screen), asked, ask):
                screen.say("Nothing was accepted.")
                return exits.DONE
        if what == "withdraw":
            told = await _call(where, "withdraw_standing_rule", rule_id=rule_id)
        else:
            told = await _call(
                where, "decide_standing_rule", confirmed=True, rule_id=rule_id, decision=what
            )
    if screen.for_programs:
        screen.answer(told)
    else:
        screen.say(f"The rule is {told['status']}.")
    return exits.DONE


async def _call(where: ApiClient, capability: str, *, confirmed: bool = False, **value: Any) -> Any:
    return await where.call(capability, value, confirmed=confirmed)


def _meant(found: Sequence[Mapping[str, Any]], key: str, text: str, what: str) -> Mapping[str, Any]:
    """The one whose id begins so."""
    close = [one for one in found if str(one[key]).startswith(text.lower())]
    close = close or [one for one in found if str(one[key]).endswith(text.lower())]
    if len(close) == 1:
        return close[0]
    if close:
        raise Conflict(f"More than one {what} begins with {text!r}.", code="ambiguous")
    raise NotFound(f"There is no {what} that begins with {text!r}.", code=f"no_{what}")


def _json(text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        detail = 'The answer must be JSON, such as \'{"day": "2026-12-01"}\'.'
        raise Invalid(detail, findings=[Finding("/answer", detail, "not_json")]) from None


def _question(one: Mapping[str, Any], screen: Screen) -> Iterator[str]:
    yield f"{short_id(one['approval_id'], screen)}  {one_line(one['title'])}"
    yield f"  asked by   {one_line(one['automation'])}"
    if one["message"]:
        yield f"  message    {one_line(one['message'])}"
    if one["form"] is not None:
        yield f"  form       {escape_json(one['form'])}"
    if one["roles"] is not None:
        yield f"  for        {', '.join(one['roles'])}"
    yield f"  until      {one['expires_at']}"


def _rule(one: Mapping[str, Any], screen: Screen) -> Iterator[str]:
    yield f"{short_id(one['rule_id'], screen)}  {one['status']}  {one['capability']}"
    yield f"  automation  {one_line(one['automation'])}, version {one['version']}"
    yield f"  exactly     {escape_json(one['pattern'])}"
    yield f"  confirmed   {one['seen']} times unchanged before, sent {one['uses']} times since"
