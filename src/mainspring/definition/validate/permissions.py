"""Checks of grants: they name existing capabilities and cover what the plan calls."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from mainspring.contracts.agent import AGENT_RUN, AGENT_TASK
from mainspring.contracts.capability import Audience
from mainspring.contracts.grant import Grant
from mainspring.contracts.registry import Vocabulary
from mainspring.definition.grants import (
    NEVER_GRANTED,
    explain_out_of_bounds,
    find_missing_grants,
    is_covered_by,
    list_requested_grants,
)
from mainspring.definition.hosts import is_host_listed, parse_host_entry, parse_template_host
from mainspring.definition.polls import POLL, POLL_TYPES, build_poll_grant
from mainspring.definition.strict_json import join_pointer
from mainspring.definition.suggestions import suggest_capability, suggest_nearest
from mainspring.definition.templates.parser import has_syntax
from mainspring.definition.tool_patterns import (
    HOSTED,
    is_pattern,
    match_pattern,
    read_fixed_params,
    read_tool_name,
)
from mainspring.definition.validate.outline import (
    DefinitionOutline,
    FindingCollector,
    StepOutline,
    TriggerOutline,
)

# Placeholders of secrets in texts where no secret is filled in.

PLACEHOLDER: Final = re.compile(r"\{\{[-+]?\s*secrets\s*\.\s*(\w{1,64})")
_WHERE: Final = "Secrets can be used in the URL, the headers and the query of an HTTP request."


def check_placeholders(document: Mapping[str, Any], sheet: FindingCollector) -> None:
    """Check every text of the document that no pass has parsed as a template."""
    judged = sheet.templates | {finding.pointer for finding in sheet.findings}
    rest: list[tuple[str, Any]] = [("", document)]
    while rest:
        pointer, value = rest.pop()
        if isinstance(value, str):
            found = PLACEHOLDER.search(value)
            if found is not None and pointer not in judged:
                _refuse(pointer, found[1], sheet)
        elif isinstance(value, Mapping):
            for key, entry in value.items():
                found = PLACEHOLDER.search(str(key))
                if found is not None:
                    _refuse(join_pointer(pointer, key), found[1], sheet)
                rest.append((join_pointer(pointer, key), entry))
        elif isinstance(value, list | tuple):
            rest += [(f"{pointer}/{place}", entry) for place, entry in enumerate(value)]


def _refuse(pointer: str, name: str, sheet: FindingCollector) -> None:
    detail = f"The secret {name!r} is not replaced here."
    sheet.wrong(pointer, detail, "template_secret", _WHERE)


_EXPRESSION: Final = re.compile(r"\{([{%#]).*?[}%#]\}", re.DOTALL)
_AFTER_HOST: Final = re.compile(r"[/?#]")


def check_grants(
    outline: DefinitionOutline, vocabulary: Vocabulary, sheet: FindingCollector
) -> None:
    """Check written grants, and the needs of every step with a valid config."""
    given = (
        None if outline.grants is None else _read_written_grants(outline.grants, vocabulary, sheet)
    )
    broken = [finding.pointer for finding in sheet.findings]
    used: set[str] = set()
    for step in outline.steps():
        if _is_never(step.action or "", vocabulary):
            _report_never(
                join_pointer(step.pointer, "action"), step.action or "", vocabulary, sheet
            )
        elif _is_sound(step, broken):
            for need in list_requested_grants(step.action or "", step.config or {}, vocabulary):
                if is_pattern(need.capability):
                    used |= _check_pattern(step, need.capability, given, vocabulary, sheet)
                else:
                    used.add(need.capability)
                    _check_need(step, need, given, vocabulary, sheet)
    for trigger in outline.triggers:
        used |= _check_poll(trigger, given, broken, vocabulary, sheet)
    _check_use(given, used, sheet)


def _check_poll(
    trigger: TriggerOutline,
    given: list[Grant] | None,
    broken: list[str],
    vocabulary: Vocabulary,
    sheet: FindingCollector,
) -> set[str]:
    """Check the need of a poll trigger; returns the capability that it uses."""
    at = join_pointer(trigger.pointer, "config")
    if trigger.type not in POLL_TYPES or trigger.config is None:
        return set()
    if any(pointer == at or pointer.startswith(at + "/") for pointer in broken):
        return set()
    need = build_poll_grant(trigger.type, trigger.config)
    if need is None:
        return set()
    place = join_pointer(at, "capability") if trigger.type == POLL else at
    name = need.capability
    if _is_never(name, vocabulary):
        _report_never(place, name, vocabulary, sheet)
    elif name not in vocabulary.capabilities:
        suggestion = suggest_nearest(name, list_grantable(vocabulary))
        detail = f"There is no capability called {name[:100]!r}."
        sheet.wrong(place, detail, "unknown_capability", suggestion)
    elif name in HOSTED and not need.params["hosts"]:
        sheet.wrong(
            join_pointer(at, "arguments", "url") if trigger.type == POLL else f"{at}/url",
            "This URL has no host that can be checked.",
            "bad_url",
            "Write it like https://example.com/path, without user names.",
        )
    elif given is not None and find_missing_grants([need], given):
        sheet.wrong(
            place,
            f"The trigger reads with {name}, which the grants do not cover.",
            "not_granted",
            f"Add {name} to grants, or leave grants out to have them derived.",
        )
    return {name}


def _check_need(
    step: StepOutline,
    need: Grant,
    given: list[Grant] | None,
    vocabulary: Vocabulary,
    sheet: FindingCollector,
) -> None:
    if _is_never(need.capability, vocabulary):
        _report_never(join_pointer(step.pointer, "action"), need.capability, vocabulary, sheet)
    elif need.capability not in vocabulary.capabilities:
        _report_unknown(step, need, vocabulary, sheet)
    elif (secret := _secret_in_host(step, need)) is not None:
        _report_secret(step, secret, sheet)
    elif _leads_nowhere(step, need):
        _report_url(step, sheet)
    elif given is None:
        _check_host(step, need, sheet)
    elif step.action in (AGENT_RUN, AGENT_TASK):
        _check_agent(step, need, given, sheet)
    elif step.capability is None:
        _check_covered(step, need, given, sheet)
    elif not any(_may_allow(grant, step, need.capability) for grant in given):
        _report_lack(step, need, sheet)


def _check_pattern(
    step: StepOutline,
    pattern: str,
    given: list[Grant] | None,
    vocabulary: Vocabulary,
    sheet: FindingCollector,
) -> set[str]:
    """A pattern expands to what it matches, limited to what written grants allow."""
    found = set(match_pattern(pattern, vocabulary.capabilities))
    if given is None:
        return found
    granted = found & {grant.capability for grant in given}
    if found and not granted:
        sheet.wrong(
            join_pointer(step.pointer, "config", "tools"),
            f"No tool that matches {pattern[:100]!r} is covered by the grants.",
            "not_granted",
            "Add to grants what the step should have, or leave grants out to have them derived.",
        )
    return granted


def _read_written_grants(
    entries: list[Any], vocabulary: Vocabulary, sheet: FindingCollector
) -> list[Grant]:
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


def _check_written(grant: Grant, at: str, vocabulary: Vocabulary, sheet: FindingCollector) -> None:
    if _is_never(grant.capability, vocabulary):
        _report_never(f"{at}/capability", grant.capability, vocabulary, sheet)
        return
    if grant.capability not in vocabulary.capabilities:
        detail = f"There is no capability called {grant.capability[:100]!r}."
        suggestion = suggest_capability(grant.capability, list_grantable(vocabulary))
        sheet.wrong(f"{at}/capability", detail, "unknown_capability", suggestion)
        return
    if grant.capability in HOSTED and "hosts" not in grant.params:
        detail = f"A grant for {grant.capability} must name the hosts it may reach."
        sheet.wrong(f"{at}/params", detail, "hosts_missing", 'Add "hosts": ["example.com"].')
    for key, bound in grant.params.items():
        _check_bound(grant, key, bound, join_pointer(at, "params", key), vocabulary, sheet)


def _check_bound(
    grant: Grant, key: str, bound: Any, at: str, vocabulary: Vocabulary, sheet: FindingCollector
) -> None:
    if key == "hosts":
        for place, host in enumerate(bound if isinstance(bound, list) else [bound]):
            if not isinstance(bound, list) or parse_host_entry(host) is None:
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
        sheet.wrong(at, detail, "unknown_argument", suggest_nearest(key, arguments))
    elif key.startswith("max_") and (isinstance(bound, bool) or not isinstance(bound, int | float)):
        sheet.wrong(at, f"{key} is an upper bound and must be a number.", "type")


def list_grantable(vocabulary: Vocabulary) -> list[str]:
    """The capabilities that a definition may use."""
    return [name for name, entry in vocabulary.capabilities.items() if entry.grantable]


def _is_never(name: str, vocabulary: Vocabulary) -> bool:
    """Whether only people may call it; administration capabilities are recognised by name."""
    known = vocabulary.capabilities.get(name)
    return name.startswith(NEVER_GRANTED) or (known is not None and not known.grantable)


def _report_never(at: str, name: str, vocabulary: Vocabulary, sheet: FindingCollector) -> None:
    known = vocabulary.capabilities.get(name)
    people = known is not None and known.annotations.audience is Audience.PEOPLE
    who = "people" if people else "administrators"
    detail = f"{name[:100]} is for {who} and can never be granted."
    other = suggest_nearest(name, list_grantable(vocabulary))
    sheet.wrong(at, detail, "never_granted", f"Remove it. {other}" if other else "Remove it.")


def _report_unknown(
    step: StepOutline, need: Grant, vocabulary: Vocabulary, sheet: FindingCollector
) -> None:
    detail = f"The step calls {need.capability!r}, which is not there."
    suggestion = suggest_nearest(need.capability, list_grantable(vocabulary))
    sheet.wrong(join_pointer(step.pointer, "action"), detail, "unknown_capability", suggestion)


def _secret_in_host(step: StepOutline, need: Grant) -> str | None:
    """The secret that would determine the host of a request, which no grant can allow."""
    url = _url(step)[1]
    found = PLACEHOLDER.search(url) if isinstance(url, str) else None
    if found is None or need.capability not in HOSTED:
        return None
    before = found.string[: found.start()]
    if not has_syntax(before):
        return None if parse_template_host(found.string) is not None else found[1]
    # An expression may provide the whole prefix; the rest is checked here.
    _, scheme, rest = _EXPRESSION.sub("", before).partition("://")
    return found[1] if scheme and not _AFTER_HOST.search(rest) else None


def _report_secret(step: StepOutline, secret: str, sheet: FindingCollector) -> None:
    sheet.wrong(
        _url(step)[0],
        f"The secret {secret!r} would decide which host is called.",
        "secret_in_host",
        "Write the host as plain text, with the slash that ends it; secrets may follow it, "
        f"as in https://example.com/{{{{ secrets.{secret} }}}}.",
    )


def _url(step: StepOutline) -> tuple[str, Any]:
    """The URL that a step calls and its pointer; for an agent it is among its tools."""
    config = step.config or {}
    entries = config.get("tools")
    for place, entry in enumerate(entries if isinstance(entries, list) else ()):
        if read_tool_name(entry) in HOSTED:
            url = read_fixed_params(entry).get("url")
            below = () if url is None else ("params", "url")
            return join_pointer(step.pointer, "config", "tools", str(place), *below), url
    return join_pointer(step.pointer, "config", "url"), config.get("url")


def _leads_nowhere(step: StepOutline, need: Grant) -> bool:
    """Whether a URL is constant and has no unambiguous host."""
    url = _url(step)[1]
    hostless = need.capability in HOSTED and not need.params.get("hosts")
    return hostless and isinstance(url, str) and not has_syntax(url)


def _report_url(step: StepOutline, sheet: FindingCollector) -> None:
    sheet.wrong(
        _url(step)[0],
        "This URL has no host that can be checked.",
        "bad_url",
        "Write it like https://example.com/path, without user names.",
    )


def _check_host(step: StepOutline, need: Grant, sheet: FindingCollector) -> None:
    """Derived grants name the hosts, so the definition must contain them."""
    if need.capability in HOSTED and not need.params.get("hosts"):
        place, url = _url(step)
        sheet.wrong(
            place,
            "The host of this URL cannot be read from the definition."
            if url is not None
            else f"Which hosts {need.capability} may reach is not set.",
            "host_unknown",
            "Write the host as plain text, or add a grant: "
            f'{{"capability": "{need.capability}", "params": {{"hosts": ["example.com"]}}}}.',
        )


def _check_covered(
    step: StepOutline, need: Grant, given: list[Grant], sheet: FindingCollector
) -> None:
    for lack in find_missing_grants([need], given):
        _report_lack(step, lack, sheet)


def _check_agent(
    step: StepOutline, need: Grant, given: list[Grant], sheet: FindingCollector
) -> None:
    """The arguments that an agent passes to its tools are chosen within their grants."""
    own = need.capability == AGENT_RUN
    hosts = Grant(need.capability, {"hosts": need.params.get("hosts", [])})
    for grant in given:
        if own and _may_allow(grant, step, AGENT_RUN):
            return
        reach = Grant(grant.capability, {"hosts": grant.params.get("hosts", [])})
        if not own and is_covered_by(reach, hosts):
            return
    _report_lack(step, need, sheet)


def _may_allow(grant: Grant, step: StepOutline, capability: str) -> bool:
    """Whether a call can match a grant; templated arguments are checked at the call."""
    if grant.capability != capability:
        return False
    arguments = step.config or {}
    hosts = grant.params.get("hosts")
    if (grant.capability in HOSTED or hosts is not None) and not _may_reach(hosts, arguments):
        return False
    return all(
        explain_out_of_bounds(key, bound, arguments) is None
        for key, bound in grant.params.items()
        if key != "hosts" and not _has_template(arguments.get(key))
    )


def _may_reach(hosts: Any, arguments: Mapping[str, Any]) -> bool:
    if not isinstance(hosts, list):
        return False
    site = parse_template_host(arguments.get("url"))
    return bool(hosts) if site is None else is_host_listed(hosts, site)


def _has_template(value: Any) -> bool:
    if isinstance(value, str):
        return has_syntax(value)
    if isinstance(value, dict):
        return any(map(_has_template, value.values()))
    return isinstance(value, list) and any(map(_has_template, value))


def _report_lack(step: StepOutline, lack: Grant, sheet: FindingCollector) -> None:
    hosts = lack.params.get("hosts")
    where = f" for {', '.join(hosts)}" if hosts else ""
    sheet.wrong(
        join_pointer(step.pointer, "action"),
        f"The step calls {lack.capability}{where}, which the grants do not cover.",
        "not_granted",
        f"Add {lack.capability}{where} to grants, or leave grants out to have them derived.",
    )


def _check_use(given: list[Grant] | None, used: set[str], sheet: FindingCollector) -> None:
    for place, grant in enumerate(given or ()):
        if grant.capability not in used:
            sheet.doubtful(
                f"/grants/{place}",
                f"No step calls {grant.capability}.",
                "unused_grant",
                "Remove the grant.",
            )


def _is_sound(step: StepOutline, broken: list[str]) -> bool:
    """An action derives its needs from its config, so the config must be valid."""
    at = join_pointer(step.pointer, "config")
    return step.config is not None and not any(
        pointer == at or pointer.startswith(at + "/") for pointer in broken
    )
