"""The dialog that sets an automation going shows what that will cost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mainspring.surfaces.web.files import FILES, read_file
from tests.kit.page_scripts import PAPER, worked_out

TEXTS = {file.name: read_file(file).decode() for file in FILES}
SENTENCE = "About $0.59 a month."
FORECAST: dict[str, Any] = {
    "sentence": SENTENCE,
    "runs_per_month": {"why": "22 times."},
    "usd_per_run": {"basis": "bounded", "why": "Reckoned."},
    "notes": ["Others share."],
}


def test_the_price_and_what_is_worth_a_look_are_told_and_warnings_come_first(
    tmp_path: Path,
) -> None:
    note = {"level": "note", "text": "A note."}
    warning = {"level": "warning", "text": "<b>Dear.</b>", "suggestion": "Lower it."}
    told = worked_out(
        f"""
        {PAPER}
        const {{ costLines }} = await import("@/activating.js");
        const lines = (one, flags) => costLines(one, flags).map((line) => line.text);
        const forecast = {json.dumps(FORECAST)};
        console.log(JSON.stringify([
          lines(forecast, []), lines(forecast, {json.dumps([note] * 6 + [warning])}),
          lines({{ ...forecast, notes: [], usd_per_run: {{ basis: "free" }} }}, []),
          lines(null, []),
        ]));
        """,
        tmp_path,
    )
    alone = [SENTENCE, "22 times. Reckoned.", "Others share."]
    flags = "<b>Dear.</b> Lower it." + "A note." * 4
    assert told == [
        alone,
        [*alone, "Worth a look", flags, "and 2 more: mainspring review shows all of them."],
        [SENTENCE],
        ["What it costs could not be looked up just now; its caps hold all the same."],
    ]


def test_the_price_stands_above_the_place_where_a_person_agrees() -> None:
    dialog = TEXTS["automation.html"].partition('id="activate-dialog"')[2]
    script = TEXTS["automation.js"]

    assert dialog.index('id="activate-cost"') < dialog.index('id="agreed"')
    assert dialog.index('id="agreed"') < dialog.index("</dialog>")
    # It is looked up anew, after the version that is agreed to was read, and before the dialog.
    opened = script[script.index('onPress(byId("activate")') :]
    assert opened.index("read()") < opened.index("fillCost()") < opened.index("openActivate(")


def test_what_waits_for_consent_is_read_first_and_answered_with_its_digest(
    tmp_path: Path,
) -> None:
    consent = {
        "origin": "import",
        "status": "waiting",
        "additions": [{"says": "It may call <b>http_fetch</b>."}, {"says": "It starts daily."}],
    }
    told = worked_out(
        f"""
        {PAPER}
        const {{ consentLines }} = await import("@/activating.js");
        const consent = {json.dumps(consent)};
        const lines = (one) => consentLines(one).map((line) => line.text);
        console.log(JSON.stringify([
          lines(null), lines(consent), lines({{ ...consent, status: "refused" }})[1],
        ]));
        """,
        tmp_path,
    )
    why = "It was imported from a file."
    assert told == [
        [],
        [
            "It waits for your consent",
            why,
            "It may call <b>http_fetch</b>.It starts daily.",
        ],
        f"{why} Somebody has refused it before.",
    ]
    dialog = TEXTS["automation.html"].partition('id="activate-dialog"')[2]
    script = TEXTS["automation.js"]
    assert dialog.index('id="activate-consent"') < dialog.index('id="agreed"')
    sent = script[script.index('dialog("activate"') :]
    assert sent.index("digest: consent.digest, agree: true") < sent.index("/activate`")
