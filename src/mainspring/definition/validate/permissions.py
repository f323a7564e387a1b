"""Grants: they name capabilities there are, and they cover what the plan will call."""

from __future__ import annotations

from typing import Any

from mainspring.contracts.grant import Grant
from mainspring.contracts.registry import Vocabulary
from mainspring.definition.grants import HOSTED, NEVER_GRANTED, missing, needs
from mainspring.definition.hosts import listed_site
from mainspring.definition.pointers import under
from mainspring.definition.validate.outline import Outline, StepOutline
from mainspring.definition.validate.report import Sheet
from mainspring.definition.words import did_you_mean


def check_grants(outline: Outline, vocabulary: Vocabulary, sheet: Sheet) -> None:
    """Judges written grants, and the needs of every step whose config is sound."""
    given = None if outline.grants is None else _written(outline.grants, vocabulary, sheet)
    broken = [finding.pointer for finding in sheet.findings]
    used: set[str] = set()
    for step in outline.steps():
        if not _is_sound(step, broken):
            continue
        for need in needs(step.action or "", step.config or {}, vocabulary):
            used.add(need.capability)
            _check_need(step, need, given, vocabulary, sheet)
    _check_use(given, used, sheet)


def _written(entries: list[Any], vocabulary: Vocabulary, sheet: Sheet) -> list[Grant]:
    found = []
    for place, entry in enumerate(entries):
        if not isinstance(entry, dict) or not isinstance(entry.get("capability"), str):
            continue
        params = entry.get("params", {})
        if isinstance(params, dict):
            grant = Grant(entry["capability"], params)
            _check_written(grant, f"/grants/{place}", vocabulary, sheet)
            found.append(grant)
    return found


def _check_written(grant: Grant, at: str, vocabulary: Vocabulary, sheet: Sheet) -> None:
    if grant.capability.startswith(NEVER_GRANTED):
        detail = f"{grant.capability} is for administrators and can never be granted."
        sheet.wrong(f"{at}/capability", detail, "never_granted", "Remove the grant.")
        return
    if grant.capability not in vocabulary.capabilities:
        detail = f"There is no capability called {grant.capability[:100]!r}."
        suggestion = did_you_mean(grant.capability, vocabulary.capabilities)
        sheet.wrong(f"{at}/capability", detail, "unknown_capability", suggestion)
        return
    if grant.capability in HOSTED and "hosts" not in grant.params:
        detail = f"A grant for {grant.capability} must name the hosts it may reach."
        sheet.wrong(f"{at}/params", detail, "hosts_missing", 'Add "hosts": ["example.com"].')
    for key, bound in grant.params.items():
        _check_bound(grant, key, bound, under(at, "params", key), vocabulary, sheet)


def _check_bound(
    grant: Grant, key: str, bound: Any, at: str, vocabulary: Vocabulary, sheet: Sheet
) -> None:
    if key == "hosts":
        for place, host in enumerate(bound if isinstance(bound, list) else [bound]):
            if not isinstance(bound, list) or listed_site(host) is None:
                sheet.wrong(
                    at if not isinstance(bound, list) else f"{at}/{place}",
                    "Hosts are a list of exact names, each with a port or without.",
                    "bad_host",
                    'Write it like "api.example.com" or "api.example.com:8443".',
                )
        return
    arguments = vocabulary.capabilities[grant.capability].input_schema.get("properties", {})
    if key not in arguments:
        detail = f"{grant.capability} has no argument called {key!r}, so no call would fit."
        sheet.wrong(at, detail, "unknown_argument", did_you_mean(key, arguments))
    elif key.startswith("max_") and (isinstance(bound, bool) or not isinstance(bound, int | float)):
        sheet.wrong(at, f"{key} is an upper bound and must be a number.", "type")


def _check_need(
    step: StepOutline, need: Grant, given: list[Grant] | None, vocabulary: Vocabulary, sheet: Sheet
) -> None:
    if need.capability not in vocabulary.capabilities:
        detail = f"The step calls {need.capability!r}, which is not there."
        suggestion = did_you_mean(need.capability, vocabulary.capabilities)
        sheet.wrong(under(step.pointer, "action"), detail, "unknown_capability", suggestion)
    elif given is None and need.capability in HOSTED and not need.params.get("hosts"):
        sheet.wrong(
            under(step.pointer, "config", "url"),
            "The host of this URL cannot be read from the definition.",
            "host_unknown",
            "Write the host as plain text, or add a grant: "
            f'{{"capability": "{need.capability}", "params": {{"hosts": ["example.com"]}}}}.',
        )
    elif given is not None:
        for lack in missing([need], given):
            _report_lack(step, lack, sheet)


def _report_lack(step: StepOutline, lack: Grant, sheet: Sheet) -> None:
    hosts = lack.params.get("hosts")
    where = f" for {', '.join(hosts)}" if hosts else ""
    sheet.wrong(
        under(step.pointer, "action"),
        f"The step calls {lack.capability}{where}, which the grants do not cover.",
        "not_granted",
        f"Add {lack.capability}{where} to grants, or leave grants out to have them derived.",
    )


def _check_use(given: list[Grant] | None, used: set[str], sheet: Sheet) -> None:
    for place, grant in enumerate(given or ()):
        if grant.capability not in used:
            sheet.doubtful(
                f"/grants/{place}",
                f"No step calls {grant.capability}.",
                "unused_grant",
                "Remove the grant.",
            )


def _is_sound(step: StepOutline, broken: list[str]) -> bool:
    """An action reads its needs from its config, so the config must have the right shape."""
    at = under(step.pointer, "config")
    return step.config is not None and not any(
        pointer == at or pointer.startswith(at + "/") for pointer in broken
    )
