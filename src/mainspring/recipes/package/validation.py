"""Validating that a recipe declares exactly what it needs.

A person is shown the grants, hosts, secrets and connections of the envelope before installing. They
are compared with those of the compiled template. Undeclared needs are hidden, and unneeded
declarations are misleading; both are rejected.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from mainspring.connections.ingestion.declared import INGEST
from mainspring.contracts.capability import Capability
from mainspring.contracts.errors import Finding, Invalid
from mainspring.contracts.grant import Grant
from mainspring.contracts.limits import Limits
from mainspring.contracts.registry import Vocabulary
from mainspring.definition.grants import find_missing_grants, is_covered_by
from mainspring.definition.hosts import parse_host_entry
from mainspring.definition.json_schema import check_schema, compile_schema
from mainspring.definition.script.findings import KV
from mainspring.definition.secret_use import find_script_secrets, find_secret_uses
from mainspring.definition.strict_json import encode_canonical, join_pointer
from mainspring.definition.suggestions import suggest_nearest
from mainspring.definition.validate import ValidationReport, validate
from mainspring.recipes.compiling import compile_automation
from mainspring.recipes.package.references import (
    RecipePackage,
    ReferenceValues,
    build_stand_ins,
    fill,
    fill_with_stand_ins,
)
from mainspring.recipes.package.template_schemas import WORKFLOW_TEMPLATES
from mainspring.workspace.boards.columns import RowValidator, complete_columns
from mainspring.workspace.boards.datasets import check_datasets

# Hard-coded ids, which only exist in the author's workspace.

_ID: Final = re.compile(
    r"(?<![0-9a-f])[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(?![0-9a-f])",
    re.IGNORECASE,
)
_HINT: Final = (
    "Name its source: a dependency, {{ install.<as>.id }}, or a setting, "
    "{{ install.settings.<name> }}."
)


def find_hard_coded_ids(document: Mapping[str, Any]) -> Iterator[Finding]:
    """Find ids in a template, its grants and its settings."""
    for key in ("template", "grants", "hosts", "settings"):
        yield from _find_ids(document.get(key), f"/{key}")


def _find_ids(value: Any, at: str) -> Iterator[Finding]:
    if isinstance(value, str):
        if _ID.search(value):
            yield _build_id_finding(at)
    elif isinstance(value, Mapping):
        for name, part in value.items():
            if _ID.search(name):
                yield _build_id_finding(join_pointer(at, name))
            yield from _find_ids(part, join_pointer(at, name))
    elif isinstance(value, list | tuple):
        for number, part in enumerate(value):
            yield from _find_ids(part, join_pointer(at, number))


def _build_id_finding(at: str) -> Finding:
    detail = "This is an id of one workspace. It is invalid in every other workspace."
    return Finding(at, detail, "hard_coded_id", _HINT)


# The needs of the compiled template, compared with the envelope.

_PUBLISHER: Final = re.compile(r"\{\{-?\s*publisher\.([A-Za-z0-9_]{1,64})\s*-?\}\}")
_OF_PUBLISHER: Final = "publisher."
_FETCH: Final = "http_fetch"


@dataclass(frozen=True, slots=True)
class CompiledNeeds:
    """Grants, hosts, secrets and connections that a recipe's runs need."""

    grants: tuple[Grant, ...]
    hosts: frozenset[str]
    secrets: frozenset[str]
    publisher_secrets: frozenset[str]
    # Required connections; optional ones are separate.
    connections: frozenset[str]
    connections_used: frozenset[str]
    # Capabilities that use a connection which nothing in the recipe names.
    unnamed: frozenset[str]


def compute_needs(
    template: Mapping[str, Any],
    document: Mapping[str, Any],
    grants: tuple[Grant, ...],
    vocabulary: Vocabulary,
    limits: Limits,
) -> CompiledNeeds:
    """Compute the needs of a validated definition with its grants."""
    named = {use.secret for use in find_secret_uses(document, limits)} | find_script_secrets(
        document
    )
    secrets = {one for one in named if not one.startswith(_OF_PUBLISHER)}
    published = {one.removeprefix(_OF_PUBLISHER) for one in named - secrets}
    needed, used, unnamed = _collect_connections(document, grants, vocabulary)
    return CompiledNeeds(
        grants=grants,
        hosts=frozenset(_iterate_hosts(grants)),
        secrets=frozenset(secrets),
        publisher_secrets=frozenset({*published, *_iterate_publisher_secrets(template)}),
        connections=frozenset(needed),
        connections_used=frozenset(used),
        unnamed=frozenset(unnamed),
    )


def find_undeclared_needs(filled: Mapping[str, Any], needs: CompiledNeeds) -> Iterator[Finding]:
    """Find undeclared needs and unneeded declarations."""
    yield from _compare_grants(filled.get("grants", ()), needs)
    yield from _compare_hosts(filled.get("hosts", ()), needs)
    requires = filled.get("requires", {})
    lines = _list_names(requires.get("secrets", ()), "name")
    yield from _compare_names("secret", "/requires/secrets", "name", lines, needs.secrets)
    lines = _list_names(requires.get("publisher_secrets", ()), "name")
    at = "/requires/publisher_secrets"
    yield from _compare_names("secret of the publisher", at, "name", lines, needs.publisher_secrets)
    lines = _list_names(requires.get("connections", ()), "integration")
    at, used = "/requires/connections", needs.connections_used
    yield from _compare_names("connection", at, "integration", lines, needs.connections, used)
    for name in sorted(needs.unnamed):
        detail = f"{name} uses a connection that the recipe does not declare."
        hint = f'Bound the grant for {name}, as in "params": {{"source": "gmail"}}.'
        yield Finding("/grants", detail, "hidden_connection", hint)


def _compare_grants(
    declared: Iterable[Mapping[str, Any]], needs: CompiledNeeds
) -> Iterator[Finding]:
    told = [Grant(one["capability"], one.get("params", {})) for one in declared]
    # The automation's own key-value store need not be declared.
    asked = (one for one in needs.grants if one.capability not in KV)
    for need in find_missing_grants(asked, told):
        detail = f"It could call {_format_grant(need)}, which the recipe does not declare."
        hint = "Add this to grants, or narrow what the template asks for."
        yield Finding("/grants", detail, "hidden_grant", hint)
    for number, one in enumerate(told):
        if is_listed_twice(one, told[:number]):
            detail = f"{_format_grant(one)} is declared already."
            yield Finding(join_pointer("/grants", number), detail, "grant_twice")
        elif spare := find_missing_grants([one], needs.grants):
            detail = (
                f"The recipe asks for {_format_grant(spare[0])}, which its template does not need."
            )
            yield Finding(join_pointer("/grants", number), detail, "unused_grant", "Leave it out.")


def is_listed_twice(one: Grant, others: Iterable[Grant]) -> bool:
    return any(is_covered_by(other, one) for other in others)


def _format_grant(grant: Grant) -> str:
    if not grant.params:
        return grant.capability
    return f"{grant.capability} with {encode_canonical(dict(grant.params)).decode()}"


def _compare_hosts(declared: Collection[Any], needs: CompiledNeeds) -> Iterator[Finding]:
    bad = False
    for number, host in enumerate(declared):
        if parse_host_entry(host) is None:
            bad = True
            detail = "A host is a bare name, without scheme, path or wildcard."
            hint = 'Write it like "api.example.com".'
            yield Finding(join_pointer("/hosts", number), detail, "bad_host", hint)
    if bad:
        return
    told = Grant(_FETCH, {"hosts": list(declared)})
    for host in sorted(needs.hosts):
        if not is_covered_by(told, Grant(_FETCH, {"hosts": [host]})):
            detail = f"It could reach {host}, which the recipe does not declare."
            yield Finding("/hosts", detail, "hidden_host", "Add it to hosts.")
    reached = Grant(_FETCH, {"hosts": sorted(needs.hosts)})
    for number, host in enumerate(declared):
        if not is_covered_by(reached, Grant(_FETCH, {"hosts": [host]})):
            detail = f"The recipe names {host}, which its template does not reach."
            yield Finding(join_pointer("/hosts", number), detail, "unused_host", "Leave it out.")


def _compare_names(
    what: str,
    at: str,
    key: str,
    lines: list[str],
    needed: Collection[str],
    used: Collection[str] = (),
) -> Iterator[Finding]:
    code = what.partition(" ")[0]
    for name in sorted(set(needed) - set(lines)):
        detail = f"It uses the {what} {name!r}, which the recipe does not declare."
        yield Finding(at, detail, f"hidden_{code}", f"Add it to {at[1:].replace('/', '.')}.")
    for number, name in enumerate(lines):
        if name not in needed and name not in used:
            detail = f"The recipe asks for the {what} {name!r}, which its template does not use."
            hint = suggest_nearest(name, sorted(set(needed) - set(lines))) or "Leave it out."
            yield Finding(join_pointer(at, number, key), detail, f"unused_{code}", hint)


def _list_names(entries: Iterable[Mapping[str, Any]], key: str) -> list[str]:
    return [str(one[key]) for one in entries]


def _iterate_hosts(grants: Iterable[Grant]) -> Iterator[str]:
    for grant in grants:
        hosts = grant.params.get("hosts")
        yield from (str(host) for host in hosts) if isinstance(hosts, list) else ()


def _iterate_publisher_secrets(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield from _PUBLISHER.findall(value)
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _iterate_publisher_secrets(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _iterate_publisher_secrets(part)


def _collect_connections(
    document: Mapping[str, Any], grants: Iterable[Grant], vocabulary: Vocabulary
) -> tuple[set[str], set[str], set[str]]:
    needed: set[str] = set()
    used: set[str] = set()
    unnamed: set[str] = set()
    for grant in grants:
        known = vocabulary.capabilities.get(grant.capability)
        if known is None:
            continue
        route = known.annotations.route
        if route is not None and route.connection != "none":
            (needed if route.connection == "needed" else used).add(route.integration)
        if known.annotations.pin:
            needed.add(grant.capability.partition(".")[0])
        for argument in known.annotations.connected:
            named = _list_argument_values(argument, grant, known, document)
            needed |= named
            if not named:
                unnamed.add(grant.capability)
    return needed, used, unnamed


def _list_argument_values(
    argument: str, grant: Grant, known: Capability, document: Mapping[str, Any]
) -> set[str]:
    """Return the possible values of an argument: from the grant, else from the steps."""
    bound = grant.params.get(argument)
    if bound is not None:
        values = bound if isinstance(bound, list) else [bound]
        return {value for value in values if isinstance(value, str)}
    spelt = [*_iterate_argument_values(document, known.id, argument)]
    # A templated argument may use any connection.
    fixed = all(isinstance(value, str) and "{" not in value for value in spelt)
    return {str(value) for value in spelt} if spelt and fixed else set()


def _iterate_argument_values(value: Any, action: str, argument: str) -> Iterator[Any]:
    if isinstance(value, Mapping):
        config = value.get("config")
        if value.get("action") == action and isinstance(config, Mapping):
            yield config.get(argument)
        for part in value.values():
            yield from _iterate_argument_values(part, action, argument)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _iterate_argument_values(part, action, argument)


_AT: Final = "/template"
# Mapping of the compiled definition to the script's fields.
_IN_SCRIPT: Final = (
    ("/plan/0/config/source", "/template/script/source"),
    ("/plan/0/config/grants", "/template/script/tool_grants"),
    ("/triggers", "/template/script/triggers"),
)

# Metadata keys that other packages reserve.
RESERVED_METADATA: Final = frozenset(
    {"watches_integration", "authored_by_automation", "acknowledged_http_fetch_hosts"}
)
_FILLED: Final = ("template", "grants", "hosts")
# Codes for undeclared needs.
ASKS_MORE: Final = frozenset({"hidden_grant", "hidden_host", "bad_host"})

PackageJudge = Callable[[RecipePackage, Mapping[str, Any], Vocabulary, Limits], Iterable[Finding]]


def validate_package(
    package: RecipePackage, vocabulary: Vocabulary, limits: Limits
) -> list[Finding]:
    """Find everything that prevents publishing or installing a recipe."""
    found = [*find_hard_coded_ids(package.document)]
    filled = fill_with_stand_ins(package.document)
    found += _JUDGES[package.kind](package, filled, vocabulary, limits)
    return list(dict.fromkeys(found))


def compile_definition(package: RecipePackage, template: Mapping[str, Any]) -> dict[str, Any]:
    """Compile a resolved template."""
    assert package.kind in ("automation", "integration")
    if package.kind == "integration" and "script" not in template:
        # The slug identifies its pages, since it is unique in the catalog.
        template = {"slug": package.slug, **template}
    return compile_automation(
        package.kind, template, name=package.name, description=package.description
    )


def _validate_automation(
    package: RecipePackage, filled: Mapping[str, Any], vocabulary: Vocabulary, limits: Limits
) -> Iterator[Finding]:
    try:
        document = compile_definition(package, filled["template"])
    except Invalid as wrong:
        at_whole = Finding("", wrong.detail, wrong.code)
        for finding in wrong.findings or (at_whole,):
            yield replace(finding, pointer=_AT + finding.pointer)
        return
    yield from _find_reserved_names(package, document)
    report = validate(document, vocabulary, limits)
    yield from (_map_finding(package, finding) for finding in report.findings)
    if report.ok:
        yield from find_undeclared_needs(
            filled, _compute_package_needs(filled, document, report, vocabulary, limits)
        )
        yield from _validate_examples(package, document, limits)


def validate_filled(
    package: RecipePackage, filling: ReferenceValues, vocabulary: Vocabulary, limits: Limits
) -> list[Finding]:
    """Validate an automation with the real values of an install.

    It is invalid with them, or needs more than it declares.
    """
    parts = {key: package.document[key] for key in _FILLED if key in package.document}
    filled = {**package.document, **fill(parts, filling)}
    document = compile_definition(package, filled["template"])
    report = validate(document, vocabulary, limits)
    if not report.ok:
        return [_map_finding(package, finding) for finding in report.findings]
    found = find_undeclared_needs(
        filled, _compute_package_needs(filled, document, report, vocabulary, limits)
    )
    return [
        *_find_reserved_names(package, document),
        *(one for one in found if one.code in ASKS_MORE),
    ]


def find_faulty_settings(
    package: RecipePackage, filling: ReferenceValues, vocabulary: Vocabulary, limits: Limits
) -> list[str]:
    """Find the settings whose values cause the problem."""
    usual = build_stand_ins(package.document).settings
    found = []
    for name in filling.settings:
        other = replace(filling, settings={**filling.settings, name: usual.get(name)})
        try:
            better = not validate_filled(package, other, vocabulary, limits)
        except Invalid:
            better = False
        found += [name] if better else []
    return found


def _find_reserved_names(package: RecipePackage, document: Mapping[str, Any]) -> Iterator[Finding]:
    """Find reserved names: internal metadata, and slugs of others."""
    written = package.template.get("definition", {}).get("metadata")
    for key in written if isinstance(written, Mapping) else ():
        if key in RESERVED_METADATA:
            at = join_pointer(f"{_AT}/definition/metadata", key)
            detail = f"{key} is a reserved tag."
            yield Finding(at, detail, "reserved_metadata", "Leave it out.")
    for pointer, source in _iterate_sources(document.get("plan"), "/plan"):
        if source != package.slug:
            detail = f"Pages are brought in under the slug of the recipe, {package.slug!r}."
            declared = "definition" not in package.template
            at = f"{_AT}/slug" if declared else f"{_AT}/definition{pointer}"
            yield Finding(at, detail, "slug_of_another", "Write the slug of the recipe.")


def _iterate_sources(value: Any, at: str) -> Iterator[tuple[str, Any]]:
    """Yield the source name of each step that reads, nested steps included."""
    if isinstance(value, Mapping):
        config = value.get("config")
        if value.get("action") == INGEST and isinstance(config, Mapping):
            yield f"{at}/config/source", config.get("source")
        for name, part in value.items():
            yield from _iterate_sources(part, join_pointer(at, name))
    elif isinstance(value, list | tuple):
        for number, part in enumerate(value):
            yield from _iterate_sources(part, join_pointer(at, number))


def _compute_package_needs(
    filled: Mapping[str, Any],
    document: Mapping[str, Any],
    report: ValidationReport,
    vocabulary: Vocabulary,
    limits: Limits,
) -> CompiledNeeds:
    return compute_needs(filled["template"], document, report.grants, vocabulary, limits)


def _map_finding(package: RecipePackage, finding: Finding) -> Finding:
    """Map a finding about the definition to the recipe."""
    if "definition" in package.template:
        return replace(finding, pointer=f"{_AT}/definition{finding.pointer}")
    if "script" not in package.template:
        return replace(finding, pointer=_AT)
    for compiled, written in _IN_SCRIPT:
        if finding.pointer.startswith(compiled):
            return replace(finding, pointer=written + finding.pointer.removeprefix(compiled))
    return replace(finding, pointer=f"{_AT}/script")


def _validate_examples(
    package: RecipePackage, document: Mapping[str, Any], limits: Limits
) -> Iterator[Finding]:
    """Validate the examples against their automation."""
    schema = document.get("inputs", {}).get("schema", {"type": "object"})
    if check_schema(schema, limits):
        return
    judge = compile_schema(schema, limits)
    defaults = {
        name: part["default"]
        for name, part in schema.get("properties", {}).items()
        if isinstance(part, Mapping) and "default" in part
    }
    for number, example in enumerate(package.examples):
        if "inputs" in example:
            at = join_pointer("/examples", number, "inputs")
            yield from judge.findings({**defaults, **example["inputs"]}, at)


def _validate_board(
    package: RecipePackage, filled: Mapping[str, Any], vocabulary: Vocabulary, limits: Limits
) -> Iterator[Finding]:
    del vocabulary
    template = filled["template"]
    datasets = template.get("datasets", [])
    try:
        check_datasets(datasets, f"{_AT}/datasets")
    except Invalid as wrong:
        yield from wrong.findings
        return
    size = len(template.get("dashboard", "").encode())
    if size > limits.board_dashboard_bytes:
        detail = f"A dashboard has at most {limits.board_dashboard_bytes:,} bytes."
        yield Finding(f"{_AT}/dashboard", detail, "dashboard_too_large")
    for part in ("skills", "forms"):
        yield from _find_duplicate_names(template.get(part, ()), f"{_AT}/{part}")
    yield from _validate_rows(template, limits)
    yield from _check_asks_nothing(package)


def _validate_rows(template: Mapping[str, Any], limits: Limits) -> Iterator[Finding]:
    known = {one["name"]: one for one in template.get("datasets", ())}
    known.setdefault("default", {"name": "default"})
    for name, rows in template.get("rows", {}).items():
        at = join_pointer(_AT, "rows", name)
        if name not in known:
            yield Finding(at, f"The board has no dataset called {name!r}.", "unknown_dataset")
            continue
        columns = complete_columns(known[name].get("columns", []))
        check = RowValidator(columns, limits, known[name].get("dedupe_key_field"))
        for number, row in enumerate(rows):
            check.check_values(row, join_pointer(at, number))
            check.encode(row, join_pointer(at, number))
        yield from check.findings


def _find_duplicate_names(entries: Iterable[Mapping[str, Any]], at: str) -> Iterator[Finding]:
    seen: set[str] = set()
    for number, entry in enumerate(entries):
        if entry["name"] in seen:
            detail = f"Two are called {entry['name']!r}."
            yield Finding(join_pointer(at, number, "name"), detail, "name_twice")
        seen.add(entry["name"])


def _validate_workflow(
    package: RecipePackage, filled: Mapping[str, Any], vocabulary: Vocabulary, limits: Limits
) -> Iterator[Finding]:
    del vocabulary, limits
    template = filled["template"]
    known = {one.slug for one in package.dependencies}
    board = template.get("board")
    if board is not None and board not in known:
        detail = f"{board!r} is not among the dependencies."
        yield Finding(f"{_AT}/board", detail, "unknown_dependency", "Declare it in dependencies.")
    for number, name in enumerate(template.get("automations", ())):
        if name not in known and name not in WORKFLOW_TEMPLATES:
            detail = f"{name!r} is not a dependency or a template of workflows."
            yield Finding(join_pointer(_AT, "automations", number), detail, "unknown_dependency")
    yield from _check_asks_nothing(package)


def _validate_bundle(
    package: RecipePackage, filled: Mapping[str, Any], vocabulary: Vocabulary, limits: Limits
) -> Iterator[Finding]:
    del vocabulary, limits
    seen: set[str] = set()
    for number, member in enumerate(filled["template"]["members"]):
        at = join_pointer(_AT, "members", number, "slug")
        if member["slug"] == package.slug:
            yield Finding(at, "A bundle does not hold itself.", "bundle_of_itself")
        if member["slug"] in seen:
            yield Finding(at, f"{member['slug']!r} is in this bundle twice.", "member_twice")
        seen.add(member["slug"])
    yield from _check_asks_nothing(package)


def _check_asks_nothing(package: RecipePackage) -> Iterator[Finding]:
    """Boards, workflows and bundles call nothing themselves."""
    for key in ("grants", "hosts", "requires"):
        declared = package.document.get(key)
        if declared and (key != "requires" or any(declared.values())):
            detail = f"A {package.kind} calls nothing by itself, so it asks for no {key}."
            hint = "Leave it out; each recipe that comes along says what it asks for."
            yield Finding(f"/{key}", detail, "unused_grant", hint)


_JUDGES: Final[Mapping[str, PackageJudge]] = {
    "automation": _validate_automation,
    "integration": _validate_automation,
    "board": _validate_board,
    "workflow": _validate_workflow,
    "bundle": _validate_bundle,
}
