"""Errors, limits and settings."""

from __future__ import annotations

import importlib

from scripts.reference_pages.codes import codes
from scripts.reference_pages.markdown import code, page, sentence, table


def errors_page() -> str:
    kinds = importlib.import_module("mainspring.contracts.errors").KINDS
    rows = [
        (
            code(kind),
            str(made.status),
            made.title,
            "yes" if made.retryable else "no",
            sentence(made.__doc__),
        )
        for kind, made in sorted(kinds.items(), key=lambda item: (item[1].status, item[0]))
    ]
    names = {made.__name__ for made in kinds.values()}
    written = [(code(name), made, output) for name, made, output in codes(names)]
    return page(
        "Errors",
        "Every failure is one RFC 9457 problem document, the same on every surface: `type` is "
        "`urn:mainspring:problem:<kind>`, `detail` is a sentence for a person, `code` is for "
        "programs, and `errors` lists each finding with its JSON pointer.",
        "## Kinds",
        table(("Kind", "Status", "Title", "Retried", "Meaning"), rows),
        "## Codes",
        "`…` stands for a value of the case at hand. Without a code of its own, a problem "
        "carries its kind as the code.",
        table(("Code", "Said by", "Sentence"), written),
    )


def limits_page() -> str:
    limits = importlib.import_module("mainspring.contracts.limits").list_limits()
    rows = [
        (code(name), f"{default:,}", unit, code(f"MAINSPRING_LIMIT_{name.upper()}"), output)
        for name, default, unit, output in limits
    ]
    return page(
        "Limits",
        "Sizes and counts nothing may exceed. An operator sets any of them with the variable "
        "beside it; a limit that is not in this table does not exist.",
        table(("Limit", "Default", "Unit", "Variable", "What it bounds"), rows),
    )


def settings_page() -> str:
    settings = importlib.import_module("mainspring.settings").all_settings()
    rows = [(code(variable), default, output) for variable, default, output in settings]
    return page(
        "Settings",
        "Read from the environment once, at the start. A value that cannot be used stops the "
        "start and is named.",
        table(("Variable", "Default", "Meaning"), rows),
    )
