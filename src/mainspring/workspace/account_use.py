"""An automation and its owner's accounts: who may have them used, and how.

Runs go over the connections of the member who made the automation. Somebody else may change
it, yet not what is asked of those accounts: reading another's mail, or writing in their name,
would be reaching into their pocket. Everything else of the automation stays theirs to change.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from mainspring.contracts.errors import Finding, PermissionDenied
from mainspring.contracts.grant import Grant
from mainspring.definition.json_values import encode_canonical
from mainspring.definition.pointers import join_pointer

# What these call is decided while they run, by words or by code that somebody wrote.
_DECIDE_THEMSELVES: Final = frozenset({"agent.run", "agent_task", "script"})


def check_accounts(
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    widened: Sequence[Grant],
    lent: frozenset[str],
) -> None:
    """Refuses a version, by somebody other than the owner, that uses the owner's accounts anew.

    ``lent`` are the capabilities of this version that reach those accounts.
    """
    if not lent:
        return
    findings = [
        Finding(
            "/grants",
            f"This version may call {grant.capability} in ways that the one in force may not.",
            "grant_widened",
        )
        for grant in widened
        if grant.capability in lent
    ]
    known = {_hash_step(step) for _, step in _iterate_steps(before)}
    findings += [
        Finding(
            pointer,
            f"The step {step.get('step_id')} would use the owner's accounts in another way.",
            "account_used_anew",
        )
        for pointer, step in _iterate_steps(after)
        if step.get("action") in lent | _DECIDE_THEMSELVES and _hash_step(step) not in known
    ]
    if findings:
        raise PermissionDenied(
            "This automation goes over its owner's accounts, and this version would use them in "
            "another way.",
            code="accounts_used_anew",
            findings=findings,
            suggestion="Let its owner save this version, or save it as an automation of your own.",
        )


def _hash_step(step: Mapping[str, Any]) -> bytes:
    """What a step does, apart from its name and place."""
    kept = {key: step.get(key) for key in ("action", "config", "when")}
    return encode_canonical(kept)


def _iterate_steps(document: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every step of a definition with its pointer, nested ones and last words included."""
    yield from _iterate_listed_steps(document.get("plan"), "/plan")
    last = (document.get("execution") or {}).get("on_failure")
    yield from _iterate_listed_steps(last, "/execution/on_failure")


def _iterate_listed_steps(steps: Any, at: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for number, step in enumerate(steps if isinstance(steps, list) else ()):
        if not isinstance(step, Mapping):
            continue
        here = join_pointer(at, number)
        yield here, step
        config = step.get("config")
        if isinstance(config, Mapping):
            yield from _iterate_listed_steps(config.get("steps"), f"{here}/config/steps")
