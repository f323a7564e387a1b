"""What the page of a proposal puts together of a rehearsal, run without a browser."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

from mainspring.authoring.rehearsing_schemas import REHEARSED
from tests.kit.page_scripts import DESK, worked_out

EVIL = "<img src=x onerror=alert(1)>"


def test_a_rehearsal_is_shown_firing_by_firing_and_text_stays_text(tmp_path: Path) -> None:
    found: dict[str, Any] = copy.deepcopy(REHEARSED["examples"][0])
    [firing] = found["firings"]
    firing["differences"][0] |= {
        "says": EVIL, "fields": [{"pointer": "/to", "then": None, "now": EVIL}],
    }  # fmt: skip
    skipped = {**firing, "now": None, "differences": [], "otherwise": False, "note": "Skipped."}
    found["firings"].append(skipped)
    told = worked_out(
        f"""
        {DESK}
        const {{ rehearsalParts }} = await import("@/rehearsal.js");
        const host = page("rehearsal");
        host.append(...rehearsalParts({json.dumps(found)}));
        console.log(JSON.stringify({{ text: host.text, images: [...host.all()]
          .filter((one) => one.tagName?.toLowerCase() === "img").length }}));
        """,
        tmp_path,
    )
    assert told["images"] == 0
    for words in (
        found["summary"], EVIL, "otherwise", "the same", "Now: drafted send_email $0.002",
        "Now: not run", "Skipped.", "/to", "cost $0.",
    ):  # fmt: skip
        assert words in told["text"], words
