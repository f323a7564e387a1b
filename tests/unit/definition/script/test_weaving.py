"""A woven script runs as it was written, line by line."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any, Final

import pytest
from deno import find_deno_bin  # type: ignore[import-untyped]

from mainspring.definition.script import HEAD, mark_of, read_script, rewrite_script
from tests.unit.definition.script.examples import EXAMPLES, HOSTILE, SDK

HOST: Final = 'globalThis[Symbol.for("mainspring.sdk")]'

# What each of them returns when it is called with what is below.
RUNS: Final[dict[str, Any]] = {
    "return 1": 1,
    "return 1 // the end": 1,
    "return await brains.x()": "called",
    "": None,
    "// nothing": None,
    f'import {{ brains }} from "{SDK}";\nreturn await brains.x()': "called",
    "import {\r\n  brains as b,\r\n  kv,\r\n} from 'mainspring'; let a\r\nreturn b.at\r\n": "here",
    'import * as sdk from "mainspring"\nreturn await sdk.brains.x()': "called",
    'import b, { kv as k } from "mainspring"\nreturn [await b.x(), k.here]': ["called", True],
    'import b, * as sdk from "mainspring"\nreturn [await b.x(), sdk.kv.here]': ["called", True],
    'import sdk = require("mainspring")\nreturn await sdk.brains.x()': "called",
    'const a = [1]\nimport type { X } from "mainspring"\n;(() => 1)()\nreturn a': [1],
    'const a = 1\nimport "mainspring"\n(() => 1)()\nreturn a': 1,
    'import { brains, type Run } from "mainspring"\nlet a: Run\nreturn await brains.x()': "called",
    'const a = await brains.x()\nimport { brains } from "mainspring"\nreturn a': "called",
    'const { brains: b } = await import("mainspring")\nreturn await b.x()': "called",
    '#!/usr/bin/env deno\n"use strict"\nreturn trigger': "T",
    '\ufeff"use strict"\nreturn input': "I",
    "const input = 1, trigger = 2; let runtime = 3\nreturn input + trigger + runtime": 6,
    "interface A { a: number }\nenum B { C, D }\ntype E = A\nreturn B.D": 1,
    "declare const a: any\ndeclare global { interface Window { a: 1 } }\nreturn 1": 1,
    "export const a = 1\nexport type B = 1\nexport interface C { }\nexport { a }\nreturn a": 1,
    "const b = 1\nexport function a() { return b }\nexport class C { }\nreturn a()": 1,
    'const s = \'import { a } from "mainspring"\', r = /import "mainspring"/\nreturn s.length': 30,
    '/* import "x" */ return `import "mainspring"`': 'import "mainspring"',
    "const f = <T,>(x: T): T => x\nreturn f<number>(1)": 1,
    "for await (const a of [1]) { if (a) return a }": 1,
    "export default async ({ trigger }: any) => trigger": "T",
    "export default async function go({ brains }: any) { return await brains.x() }": "called",
    "export async function main({ trigger }: any) {\n  return trigger\n} // the end": "T",
    'import { brains } from "mainspring"\nexport const run = () => brains.x()': "called",
    "const go = ({ input }: any) => input\nexport { go as main }": "I",
    "const go = () => 1\nexport { go as default }": 1,
    'export { kv } from "mainspring"\nreturn 1': 1,
}
# Types are taken off by the program that runs it; the rest of the module is ours.
_BOOT: Final = """
const brains = { x: async () => "called", at: "here" };
const sdk = { brains, kv: { here: true }, default: brains };
globalThis[Symbol.for("mainspring.sdk")] = sdk;
globalThis.brains = brains;
const told = [];
for (const name of JSON.parse(await new Response(Deno.stdin.readable).text())) {
  try {
    const { default: go } = await import(name);
    told.push(await go({ trigger: "T", runtime: "R", input: "I", brains }) ?? null);
  } catch (error) {
    told.push(String(error));
  }
}
console.log(JSON.stringify(told));
"""


def _told(folder: Path, sources: list[str]) -> list[Any]:
    (folder / "boot.js").write_text(_BOOT, encoding="utf-8")
    names = [f"./{place}.ts" for place in range(len(sources))]
    for name, source in zip(names, sources, strict=True):
        (folder / name).write_bytes(rewrite_script(source).encode())
    done = subprocess.run(
        [find_deno_bin(), "run", "--no-check", "--no-remote", "--allow-read", "boot.js"],
        cwd=folder,
        input=json.dumps(names).encode(),
        capture_output=True,
        check=True,
        env={"NO_COLOR": "1", "DENO_DIR": str(folder / "cache")},
    )
    result = json.loads(done.stdout)
    assert isinstance(result, list)
    return result


def test_a_woven_script_does_what_was_written(tmp_path: Path) -> None:
    result = _told(tmp_path, list(RUNS))

    assert dict(zip(RUNS, result, strict=True)) == RUNS


def test_an_error_shows_the_line_that_was_written(tmp_path: Path) -> None:
    source = 'import { brains } from "mainspring"; throw new Error(where())\n\n'
    source += "function where() {\n  return new Error().stack.split('\\n')[1]\n}"

    (result,) = _told(tmp_path, [source])

    assert "0.ts:4:" in result


@pytest.mark.parametrize("source", [*EXAMPLES, *RUNS, *list(HOSTILE.values())[-5:]])
def test_every_line_keeps_its_number(source: str) -> None:
    made = rewrite_script(source)

    added = 0 if read_script(source.removeprefix("\ufeff")).entry == "default" else 1
    assert made.count("\n") == source.count("\n") + added


def test_what_follows_an_import_keeps_its_column() -> None:
    source = f'import {{ brains }} from "{SDK}"; const a = 1;\nreturn a'

    line = rewrite_script(source).splitlines()[0].removeprefix(HEAD)

    assert line.startswith(f"const {{ brains }} = {HOST};")
    assert line.index("const a") == source.index("const a")


def test_an_import_of_many_lines_is_taken_on_its_first() -> None:
    source = 'export default 1\nimport {\n  kv as k,\r\n  brains,\n} from "mainspring"; k()'
    lines = rewrite_script(source).splitlines()

    assert lines[0].startswith(f"const {{ kv: k, brains }} = {HOST};")
    assert lines[1].strip() == ";"
    assert [line.strip() for line in lines[2:4]] == ["", ""]
    assert lines[4] == " " * len('} from "mainspring"; ') + "k()"


def test_the_mark_at_the_head_of_a_file_is_left_out() -> None:
    assert rewrite_script("\ufeffexport default 1") == "export default 1"


def test_another_import_is_left_for_the_sandbox_to_refuse() -> None:
    assert 'import "node:fs"' in rewrite_script('import "node:fs"')


def test_a_file_that_exports_its_entry_is_left_as_it_is() -> None:
    source = "// {{ import }}\nexport default () => 1"

    assert rewrite_script(source) == source


@pytest.mark.parametrize("head", ["", "\ufeff"])
def test_a_secret_is_marked_where_its_request_spells_it_and_nowhere_else(head: str) -> None:
    spelt = """export default () => brains.http_fetch({ url: `https://ä.com/${"%a{{key}}"}`,
    query: { é: "%b{{{key}}} %c{{ secrets.key }}", b: `%d{{
        key }}`, c: "\\x7b{key}}" }, body: "{{key}}" }) // {{key}}
    """
    source = head + re.sub("%[a-d]", "", spelt)
    marks = {"%a{{": "{{M:", "%b{{{": "{{{M:", "%c{{": "{{M:", "%d{{": "{{M:"}
    expected = spelt
    for at, text in marks.items():
        expected = expected.replace(at, text.replace("M", mark_of(source)))

    assert rewrite_script(source) == expected


def test_no_two_sources_have_one_mark() -> None:
    assert mark_of("return 1") != mark_of("return 2")
    assert re.fullmatch("[0-9a-f]{32}", mark_of("\ud800"))
