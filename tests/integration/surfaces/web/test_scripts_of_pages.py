"""What the scripts of the pages work out, run without a browser."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from mainspring.actions.script.sandbox.place import find_deno
from mainspring.contracts.limits import Limits
from mainspring.definition.secret_use import secret_uses
from mainspring.surfaces import web
from tests.kit.house import document, step

_FOLDER = Path(web.__file__).parent
AN_ID = "01900000-0000-7000-8000-0000000000ff"


def _worked_out(body: str, tmp_path: Path) -> Any:
    """What a module of a few lines writes as JSON."""
    told = subprocess.run(
        [find_deno(), "run", "--no-config", "--no-lock", "--no-remote", "--no-prompt", "-"],
        input=body.replace("@/", f"{_FOLDER.as_uri()}/"),
        env={"PATH": os.environ["PATH"], "DENO_DIR": str(tmp_path), "DENO_NO_UPDATE_CHECK": "1"},
        cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert told.returncode == 0, told.stderr
    return json.loads(told.stdout)


def test_triggers_bounds_and_times_are_told_in_words(tmp_path: Path) -> None:
    told = _worked_out(
        """
        import { boundWords, span, triggerWords, usd } from "@/words.js";
        const at = (cron) => triggerWords({ type: "schedule", config: { cron, timezone: "UTC" } });
        console.log(JSON.stringify({
          crons: ["30 7 * * 1-5", "*/5 * * * *", "0 9 * * *", "0 16 * * 7", "0 0 1 */2 *"].map(at),
          event: triggerWords({ type: "event", config: { event_type: "a.b", filters: {} } }),
          bounds: [["hosts", ["a.example", "b.example"]], ["hosts", []], ["max_tokens", 9],
            ["board", "CRM"], ["ids", [1, 2]]].map(([name, bound]) => boundWords(name, bound)),
          spans: [0.2, 59.9, 600, 3661, 200000].map(span),
          money: [0, 0.5, 0.000012, 1].map(usd),
        }));
        """,
        tmp_path,
    )
    assert told == {
        "crons": [
            "Monday to Friday at 07:30, in UTC", "every 5 minutes, in UTC",
            "every day at 09:00, in UTC", "every Sunday at 16:00, in UTC",
            "on the schedule 0 0 1 */2 *, in UTC",
        ],
        "event": "at an event a.b that fits its filter",
        "bounds": [
            "at a.example, b.example", "nowhere", "tokens at most 9", "board CRM", "ids: 1, 2",
        ],
        "spans": ["200 ms", "1 min", "10 min", "1 h 1 min", "2 days 7 h"],
        "money": ["$0", "$0.50", "$0.000012", "$1.00"],
    }  # fmt: skip


def test_the_page_names_the_secrets_that_activation_asks_for(tmp_path: Path) -> None:
    source = 'await brains.http_fetch({url: "https://a.example", headers: {x: "{{in_script}}"}});'
    made = document(
        step("one", "script", {"source": source}),
        step("two", "slack_post", {"token": "{{ secrets.in_step }}", "text": "{{ inputs.x }}"}),
        triggers=[
            {"id": "t", "type": "webhook", "config": {"signature": {"secret": "in_trigger"}}}
        ],
        execution={
            "on_failure": [step("late", "slack_post", {"token": "{{ secrets.in_rescue }}"})]
        },
    )
    shown = _worked_out(
        f"""
        import {{ secretNames }} from "@/words.js";
        console.log(JSON.stringify(secretNames({json.dumps(made)})));
        """,
        tmp_path,
    )
    assert shown == sorted({use.secret for use in secret_uses(made, Limits())})
    assert shown == ["in_rescue", "in_script", "in_step", "in_trigger"]


def test_who_is_not_signed_in_goes_to_sign_in_and_comes_back_to_pages_of_ours_alone(
    tmp_path: Path,
) -> None:
    told = _worked_out(
        f"""
        import {{ ask, arrive, wantedPage }} from "@/page.js";
        const kept = new Map(), gone = [], none = {{}};
        const put = (name, value) => Object.defineProperty(globalThis, name, {{ value }});
        put("localStorage", {{
          getItem: (key) => kept.get(key) ?? null,
          setItem: (key, value) => kept.set(key, value),
          removeItem: (key) => kept.delete(key),
        }});
        put("location", {{
          pathname: "/automations/{AN_ID}", hash: "#run-{AN_ID}", replace: (to) => gone.push(to),
        }});
        put("document", {{ getElementById: () => none }});
        put("fetch", async () => new Response("{{}}", {{ status: 401 }}));
        arrive(() => gone.push("filled"));
        await new Promise((done) => setTimeout(done, 0));
        const back = [wantedPage(), wantedPage()];
        const led = (path, at = Date.now()) => {{
          kept.set("mainspring.wanted", JSON.stringify({{ path, at }}));
          return wantedPage();
        }};
        console.log(JSON.stringify({{
          gone, back,
          ours: ["/automations", "/inbox"].map((path) => led(path)),
          stale: led("/inbox", Date.now() - 16 * 60 * 1000),
          foreign: ["//evil.example", "https://evil.example/inbox", "/\\\\evil.example",
            "/inbox/../x", "javascript:alert(1)", "/inbox?x=//evil.example", "/automations/x", 7,
            null].map((path) => led(path)),
        }}));
        """,
        tmp_path,
    )
    assert told["gone"] == ["/sign-in"]
    assert told["back"] == [f"/automations/{AN_ID}#run-{AN_ID}", "/"]
    assert told["ours"] == ["/automations", "/inbox"]
    assert told["stale"] == "/"
    assert set(told["foreign"]) == {"/"}
