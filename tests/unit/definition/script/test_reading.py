"""A script says what it imports, how it begins, what it calls and which secrets it spells."""

from __future__ import annotations

import pytest

from mainspring.definition.script import SourceLocation, is_sdk, read_script
from tests.unit.definition.script.examples import EXAMPLES, REVENUE, SDK


def _calls(source: str) -> list[str]:
    return [call.capability for call in read_script(source).calls]


@pytest.mark.parametrize("source", EXAMPLES)
def test_every_example_is_read_without_a_fault(source: str) -> None:
    script = read_script(source)

    assert script.faults == ()
    assert script.style == "top_level"
    assert {call.capability for call in script.calls} == EXAMPLES[source]


def test_a_placeholder_in_a_header_is_known_with_the_site_it_goes_to() -> None:
    (found,) = read_script(REVENUE).placeholders

    assert (found.name, found.part, found.site) == (
        "stripe_api_key",
        "headers",
        "api.stripe.com:443",
    )
    lines = REVENUE.splitlines()
    assert lines[found.place.line - 1][found.place.column - 1 :].startswith("{{stripe_api_key}}")


@pytest.mark.parametrize(
    "specifier",
    [
        SDK,
        "http://127.0.0.1:8080/sdks/automation-sdk-v1.ts",
        "mainspring",
        "mainspring/automation-sdk-v1",
    ],
)
def test_the_sdk_goes_by_these_names(specifier: str) -> None:
    assert is_sdk(specifier)
    assert read_script(f'import {{ brains }} from "{specifier}"').imports[0].is_sdk


@pytest.mark.parametrize(
    "specifier",
    [
        "npm:mainspring",
        "mainspring/other",
        "./mainspring",
        "file:///sdks/automation-sdk-v1.ts",
        "https://brains/sdks/automation-sdk-v1.ts?x",
        "https://brains/x/automation-sdk-v1.ts",
        "data:text/javascript,1",
        "https://[/sdks/automation-sdk-v1.ts",
        "",
        "https:///sdks/automation-sdk-v1.ts",
    ],
)
def test_nothing_else_is_the_sdk(specifier: str) -> None:
    assert not is_sdk(specifier)


@pytest.mark.parametrize(
    ("source", "specifier", "kind"),
    [
        ('import x from "npm:a"', "npm:a", "static"),
        ('import "node:fs"', "node:fs", "static"),
        ("import * as a from 'b'", "b", "static"),
        ('import type { A } from "a"', "a", "type"),
        ('import a = require("fs")', "fs", "require"),
        ('const a = require("fs")', "fs", "require"),
        ('export * from "a"', "a", "export"),
        ('export { a as b } from "a"', "a", "export"),
        ('const a = await import("jsr:@x/y")', "jsr:@x/y", "dynamic"),
        ("await import(`a`)", "a", "dynamic"),
        ("await import(name)", None, "dynamic"),
        ("await import(`./${name}`)", None, "dynamic"),
        (r'import "\x61"', "a", "static"),
        ("import.meta.url", "import.meta", "meta"),
    ],
)
def test_every_kind_of_import_is_seen(source: str, specifier: str | None, kind: str) -> None:
    (found,) = read_script(f"\n  {source};").imports

    assert (found.specifier, found.kind, found.place.line) == (specifier, kind, 2)


@pytest.mark.parametrize(
    "source",
    [
        '// import "a"',
        '/* import "a" */',
        "const a = 'import \"a\"'",
        'const a = /import "a"/',
        'const a = `import "a"`',
        'require(ready, "it was not ready")',
    ],
)
def test_what_only_looks_like_an_import_is_none(source: str) -> None:
    assert read_script(source).imports == ()


@pytest.mark.parametrize(
    ("source", "entry"),
    [
        ("export default async () => 1", "default"),
        ("export default function go() {}", "default"),
        ("export async function main() {}", "main"),
        ("export const run = async () => 1", "run"),
        ("async function go() {}\nexport { go as main }", "main"),
        ("async function go() {}\nexport { go as default }", "default"),
        ("export function run() {}\nexport function main() {}", "main"),
        ("export const other = 1", None),
        ("export type main = string", None),
        ("type main = string\nexport type { main }", None),
        ("async function main() {}\nawait main()", None),
        ("namespace a { export function main() {} }", None),
        ("// export default 1", None),
        ("return 1", None),
        ("", None),
    ],
)
def test_a_script_begins_at_its_first_line_or_in_what_it_exports(
    source: str, entry: str | None
) -> None:
    script = read_script(source)

    assert (script.entry, script.style) == (entry, "function" if entry else "top_level")


@pytest.mark.parametrize(
    "source",
    [
        "brains.search({})",
        'brains["search"]({})',
        "brains?.search?.({})",
        "(brains as any).search!({})",
        "globalThis.brains.search()",
        "const f = brains.search",
        "pages.map(brains.search)",
        "brains.search.call(brains, {})",
        f'import {{ brains as b }} from "{SDK}"; b.search()',
        f'import * as sdk from "{SDK}"; sdk.brains.search()',
        f'import b from "{SDK}"; b.search()',
        "const b = brains; b.search()",
        "const { search } = brains; search()",
        "const { search: find } = brains; find()",
        "export async function main({ brains }) { await brains.search() }",
        "export async function main({ brains: b }: Handed) { await b.search() }",
        "export default async ({ brains: b = 1 }) => b.search()",
        "export default (ctx) => ctx.brains.search()",
        "export default async ctx => { const { brains: b } = ctx; await b.search() }",
        "class A { async go() { await this.brains.search() } }",
    ],
)
def test_a_call_is_followed_through_the_names_of_the_sdk(source: str) -> None:
    assert _calls(source) == ["search"]


@pytest.mark.parametrize(
    "source",
    [
        "brains.automation_kv.get({})",
        'brains["automation_kv.get"]({})',
        'brains["automation_kv"].get({})',
        "const { automation_kv: kv } = brains; kv.get({})",
        "const kept = brains.automation_kv; kept.get({})",
    ],
)
def test_a_name_with_a_dot_is_one_capability(source: str) -> None:
    assert _calls(source)[-1] == "automation_kv.get"


@pytest.mark.parametrize(
    "source",
    [
        "other.search()",
        "// brains.search()",
        "'brains.search()'",
        "brains[name]()",
        "search()",
        f'import {{ brains as b }} from "{SDK}"; rows.sort((a, b) => b.at() - a.at())',
        f'import {{ brains as b }} from "{SDK}"; rows.map(function ({{ x: [b] }}) {{ b.at() }})',
    ],
)
def test_what_is_no_call_of_the_sdk_is_none(source: str) -> None:
    assert _calls(source) == []


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ('"https://api.example.com/a"', "api.example.com"),
        ("'https://api.example.com:8443/a'", "api.example.com:8443"),
        ("`https://api.example.com/${id}`", "api.example.com"),
        ('"https://api.example.com/" + id', "api.example.com"),
        ('("https://api.example.com/" + id + "/x") as string', "api.example.com"),
        (r'"https:\/\/api.example.com/"', "api.example.com"),
        (r'"\x68ttps://\u{61}pi.example.com/"', "api.example.com"),
        ('"https://api.example.com/{{key}}"', "api.example.com"),
        ("`https://${host}/a`", None),
        ("`https://api.example.com${path}`", None),
        ('"https://api.example.com" + path', None),
        ('"https://{{host}}/a"', None),
        ('"https://a@b.com/"', None),
        ('id - "https://api.example.com/"', None),
        ("url", None),
    ],
)
def test_a_host_is_known_when_the_text_spells_it(url: str, host: str | None) -> None:
    (call,) = read_script(f"brains.http_fetch({{ method: 'GET', url: {url} }})").calls

    assert call.host == host


@pytest.mark.parametrize(
    "entries",
    [
        "url: 'https://a.com/', ...more",
        "url: 'https://a.com/', [name]: more",
        "url: 'https://a.com/', url",
        "url: 'https://a.com/', get url() { return more }",
        "url: 'https://a.com/', ['url']: more",
    ],
)
def test_a_host_that_something_else_may_replace_is_not_known(entries: str) -> None:
    source = f"brains.http_fetch({{ headers: {{ a: '{{{{key}}}}' }}, {entries} }})"
    script = read_script(source)

    assert script.calls[0].host is None
    assert [one.site for one in script.placeholders] == [""]


def test_a_host_after_what_it_replaces_is_known() -> None:
    (call,) = read_script("brains.http_fetch({ ...more, url: 'https://a.com/' })").calls

    assert call.host == "a.com"


@pytest.mark.parametrize(
    ("argument", "part"),
    [
        ("{ url: 'https://a.com/?k={{key}}' }", "url"),
        ("{ 'url': base + '?k={{ key }}' }", "url"),
        ("{ headers: { Authorization: `Bearer {{ secrets.key }}` } }", "headers"),
        ("{ headers: { a: more ? '{{key}}' : '' } }", "headers"),
        ("{ headers: { ...(more ? { a: '{{key}}' } : {}) } }", "headers"),
        ("{ headers: { a: `Basic ${more ?? '{{key}}'}` } }", "headers"),
        ("{ query: { a: ['{{key}}'] } }", "query"),
        ("({ query: { a: '{{key}}' as string } })", "query"),
        ("{ body: '{{key}}' }", ""),
        ("{ json: { headers: '{{key}}' } }", ""),
        ("{ headers: { a: btoa('{{key}}') } }", ""),
        ("{ headers: { '{{key}}': 'a' } }", ""),
        ("{ headers: { a: () => '{{key}}' } }", ""),
        ("[{ url: '{{key}}' }]", ""),
        ("{}, { url: '{{key}}' }", ""),
        (r"{ body: '\x7b{key}}' }", ""),
    ],
)
def test_a_placeholder_is_in_a_part_of_a_request_or_in_none(argument: str, part: str) -> None:
    (found,) = read_script(f"await brains.http_fetch({argument})").placeholders

    assert (found.name, found.part) == ("key", part)


@pytest.mark.parametrize(
    "source",
    [
        "// {{key}}",
        "/* {{key}} */",
        "const a = /{{key}}/",
        "{{key}}",
        "'{{ a.b }}'",
        "'{{}}'",
        "`{{${key}}}`",
        "'{key}'",
        "'{{key}'",
        "`{{${1}key}}`",
    ],
)
def test_what_only_looks_like_a_placeholder_is_none(source: str) -> None:
    assert read_script(source).placeholders == ()


def test_columns_count_characters_and_lines_count_from_one() -> None:
    source = 'const é = "😀";\r\n"😀é"; brains.search("ü{{key}}")'
    script = read_script(source)

    assert script.calls[0].place == SourceLocation(2, 7)
    assert script.placeholders[0].place == SourceLocation(2, 23)
    assert str(script.calls[0].place) == "line 2, column 7"


def test_a_place_far_into_a_file_of_many_signs_is_exact() -> None:
    source = "// " + "é😀" * 3_000 + "\n" + "/*" + "😀" * 2_000 + "*/ brains.search()"

    assert read_script(source).calls[0].place == SourceLocation(2, 2_006)


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("const a = 1;\nconst = 3;", 2),
        ("const a = 1;\n}", 2),
        ("const a = [1 2];", 1),
        ("f(\n1;", 2),
        ("const a = 'x;\n", 1),
        ("please write me an automation", 1),
    ],
)
def test_a_fault_has_its_place(source: str, line: int) -> None:
    assert read_script(source).faults[0].place.line == line


@pytest.mark.parametrize(
    "source",
    [
        "for await (const a of b) { await a }",
        "const f = <T,>(x: T): T => x; let c = <any>b;",
        "const a = b satisfies C; enum D { E } type F = { [K in keyof G]?: H }",
        "abstract class A<T> { #b = 1; static { } constructor(private c: T) { } }",
        "label: for (;;) { break label }",
        "const a = b ?? c?.d ?? 1_000n ** 2n;",
        "#!/usr/bin/env deno\n'use strict'\nreturn",
        "\ufeffreturn 1",
    ],
)
def test_the_language_of_today_is_read(source: str) -> None:
    assert read_script(source).faults == ()


@pytest.mark.parametrize(
    "call",
    [
        'brains.http_request({ url: "https://a.com/x" })',
        'fetch("https://a.com/x")',
        "fetch(`https://a.com/${id}`, { method: 'POST' })",
        'globalThis.fetch(("https://a.com/" + id) as string, init)',
    ],
)
def test_a_request_by_another_name_is_a_call_of_http_fetch(call: str) -> None:
    (found,) = read_script(f"const r = await {call};").calls
    assert (found.capability, found.host) == ("http_fetch", "a.com")


@pytest.mark.parametrize(
    "source",
    [
        "fetch(url)",
        'fetch(Deno.env.get("BRAINS_MCP_URL"), { method: "POST" })',
        'const fetch = (a) => a; fetch("https://a.com/")',
        'function fetch(a) {} fetch("https://a.com/")',
        'export default ({ fetch }) => fetch("https://a.com/")',
        'const { get: fetch } = own; fetch("https://a.com/")',
        'store.fetch("https://a.com/")',
        'fetch(...["https://a.com/"])',
    ],
)
def test_a_fetch_to_an_unknown_place_or_of_the_script_itself_is_no_call(source: str) -> None:
    assert read_script(source).calls == ()


def test_placeholders_of_a_fetch_are_in_its_address_and_headers() -> None:
    source = """
        fetch("https://a.com/?k={{one}}", { headers: { a: `Bearer {{two}}` }, body: "{{three}}" });
        fetch(new URL("https://a.com/{{four}}"), { headers: new Headers({ a: "{{five}}" }) });
        fetch(url, { headers: [["a", "{{six}}"]] });
    """
    found = {one.name: (one.part, one.site) for one in read_script(source).placeholders}
    assert found == {
        "one": ("url", "a.com:443"),
        "two": ("headers", "a.com:443"),
        "three": ("", ""),
        "four": ("", ""),
        "five": ("", ""),
        "six": ("headers", ""),
    }
