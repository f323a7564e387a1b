// The pure functions of the form: pointers, field kinds, names in scope, cron and JSON.

import { describe, expect, it } from "vitest";
import {
  completionsAt,
  findOvertype,
  formatPath,
  insertFilter,
  insertValue,
} from "../code/completion";
import { localTime, nextFireTimes, parseCron, shortestInterval } from "./cron";
import { summarizeStep } from "./stepSummary";
import { withSectionNames } from "./findings";
import { describePointer, isEqualJson, moveItem, renameKey, setAt, valueAt } from "./pointers";
import {
  initialValue,
  kindOf,
  parseNumber,
  resolveSchema,
  tagOf,
  variantAt,
  variantsOf,
} from "./schema";
import { scopeAt } from "./scope";
import { parseJson, spellJson } from "./text";
import type { Schema } from "./values";

describe("places", () => {
  const document = { a: { "x/y": [1, { keep: true, deep: null }] }, odd: 4711 };

  it("sets a value and keeps the identity of everything else", () => {
    const next = setAt(document, "/a/x~1y/1/deep", "here") as typeof document;
    expect(next).toEqual({ a: { "x/y": [1, { keep: true, deep: "here" }] }, odd: 4711 });
    expect(setAt(document, "/new/inner", 1)).toEqual({ ...document, new: { inner: 1 } });
    const other = setAt({ left: document, right: 1 }, "/right", 2) as { left: unknown };
    expect(other.left).toBe(document);
  });

  it("keeps the key order, removes undefined values, and never mutates", () => {
    expect(Object.keys(setAt({ a: 1, b: 2, c: 3 }, "/b", 9) as object)).toEqual(["a", "b", "c"]);
    expect(setAt([1, 2, 3], "/1", undefined)).toEqual([1, 3]);
    expect(setAt({ __proto__x: 1 }, "/__proto__", 5)).toHaveProperty("__proto__x", 1);
    expect(document.a["x/y"]).toHaveLength(2);
    expect(valueAt(document, "/a/x~1y/7")).toBeUndefined();
    expect(valueAt(document, "/constructor")).toBeUndefined();
  });

  it("names a section as the form does", () => {
    const finding = {
      pointer: "/plan/0",
      detail: "There is no input 'nam'.",
      level: "error",
    } as const;
    const suggestion = "Declare 'nam' in inputs.schema.properties.";
    expect(withSectionNames({ ...finding, suggestion }).suggestion)
      .toBe("Declare 'nam' under “Inputs and limits”.");
    expect(withSectionNames(finding)).toEqual({ ...finding, suggestion: undefined });
  });

  it("moves, renames and compares", () => {
    expect(moveItem(["a", "b", "c"], 2, 0)).toEqual(["c", "a", "b"]);
    expect(Object.entries(renameKey({ a: 1, b: 2 }, "a", "z"))).toEqual([["z", 1], ["b", 2]]);
    expect(isEqualJson({ a: [1], b: 2 }, { b: 2, a: [1] })).toBe(true);
    expect(isEqualJson({ a: undefined }, { b: undefined })).toBe(false);
    const plan = { plan: [{ step_id: "post" }] };
    expect(describePointer(plan, "/plan/0/config/channel")).toBe("step post, channel");
  });
});

describe("kinds of fields", () => {
  const root: Schema = {
    $defs: { Inner: { type: "object", properties: { a: { type: "string" } } } },
  };
  const kind = (schema: Schema, value?: unknown, templated = false, name = "x") =>
    kindOf({ name, schema: resolveSchema(schema, root), value, root, templated });

  it("resolves references and removes null", () => {
    const schema = resolveSchema(
      { anyOf: [{ $ref: "#/$defs/Inner" }, { type: "null" }], title: "T" },
      root,
    );
    expect(schema).toMatchObject({ type: "object", title: "T" });
    expect(kind({ $ref: "#/$defs/Inner" }, {})).toBe("group");
  });

  it("reads the hints of external definitions, after its own", () => {
    expect(kind({ type: "string", "x-surfsense-widget": "textarea" })).toBe("text");
    const both = { "x-mainspring-widget": "textarea", "x-surfsense-widget": "jinja" };
    expect(kind({ type: "string", ...both })).toBe("text");
  });

  it("knows each kind, and shows a value that does not match as JSON", () => {
    expect(kind({ type: "string" })).toBe("line");
    expect(kind({ type: "string" }, "a", true)).toBe("template");
    expect(kind({ type: "integer" }, "{{ inputs.n }}", true)).toBe("template");
    expect(kind({ type: "string", format: "cron" }, "0 9 * * *")).toBe("cron");
    expect(kind({ enum: ["a", "b"] }, "a")).toBe("choice");
    expect(kind({ type: "array", items: { enum: ["a"] } }, ["a"])).toBe("choices");
    expect(kind({ type: "array" }, undefined, true, "steps")).toBe("steps");
    expect(kind({ type: "object", additionalProperties: { type: "string" } }, { a: "b" })).toBe(
      "map",
    );
    expect(kind({ type: "object", additionalProperties: { type: "string" } }, { a: 1 })).toBe(
      "json",
    );
    for (const odd of [7, true, ["a"], { b: 1 }, null]) {
      expect(kind({ type: "string" }, odd)).toBe("json");
    }
    expect(kind({ enum: ["a"] }, "z")).toBe("json");
  });

  it("distinguishes variants by their tag, and initializes the required fields", () => {
    const one = { type: "object", required: ["kind"], properties: { kind: { const: "one" } } };
    const two = {
      type: "object",
      required: ["kind", "n"],
      properties: { kind: { const: "two" }, n: { type: "integer" } },
    };
    const schema = { oneOf: [one, two] };
    const variants = variantsOf(schema, root);
    expect(tagOf(schema, variants)).toBe("kind");
    expect(variantAt(schema, variants, { kind: "two" })).toBe(1);
    expect(variantAt(schema, variants, { kind: "three" })).toBe(-1);
    expect(initialValue(two, root)).toEqual({ kind: "two", n: 0 });
    expect(
      variantsOf({ type: "object", oneOf: [{ required: ["a"] }, { required: ["b"] }] }, root),
    ).toEqual([]);
  });
});

describe("templates", () => {
  const document = {
    inputs: { schema: { type: "object", properties: { who: { type: "string" } } } },
    plan: [
      { step_id: "read", action: "get", output_as: "rows" },
      {
        step_id: "each",
        action: "for_each",
        config: {
          as: "row",
          items: "{{ steps.read.list }}",
          steps: [
            { step_id: "inner", action: "get" },
            { step_id: "second", action: "get" },
          ],
        },
      },
      { step_id: "last", action: "get" },
    ],
  };
  const outputs = {
    ofAction: () => ({ type: "object", properties: { list: { type: "array" } } }),
    ofTrigger: () => null,
  };
  const samples = { steps: { read: { list: [{ title: "First" }] } } };
  const names = (pointer: string) => scopeAt({ document, pointer, outputs, samples });
  const allowed = {
    filters: [{ name: "replace", parameters: ["old", "new", "count=null"], description: "" }],
    tests: [{ name: "defined", description: "" }],
  };
  const labels = (text: string, pointer = "/plan/1/config/steps/1/config/x", bare = false) =>
    completionsAt(text, names(pointer), allowed, bare)?.offers.map((one) => one.label);

  it("knows the earlier steps, and the item of a loop", () => {
    expect(labels("{{ steps.")).toEqual(["read", "rows", "inner"]);
    expect(labels("{{ row.")).toEqual(["title"]);
    expect(labels("{{ ")).toContain("index");
    expect(labels("{{ steps.", "/plan/2/when")).toEqual(["read", "rows", "each"]);
    expect(labels("{{ ", "/plan/2/when")).not.toContain("index");
    expect(labels("{{ inputs.")).toEqual(["who"]);
  });

  it("completes filters and tests in expressions, and nothing in plain text", () => {
    expect(labels("{{ a | re")).toEqual(["replace"]);
    expect(labels("{{ a is not ")).toEqual(["defined"]);
    expect(labels("plain te")).toBeUndefined();
    expect(labels("{{ a }} more")).toBeUndefined();
    expect(labels('{{ "in a text ')).toBeUndefined();
    expect(labels("inp", "/plan/2/when", true)).toContain("inputs");
  });

  it("moves over automatically inserted braces and blanks", () => {
    expect(findOvertype(" ", "Day {{ ", " }} plan")).toEqual({ cut: 0, go: 0 });
    expect(findOvertype("}", "{{ 1 + 1 ", " }}")).toEqual({ cut: 1, go: 1 });
    expect(findOvertype("}", "{{ 1", " }}")).toEqual({ cut: 0, go: 2 });
    expect(findOvertype("}", "{{ 1 }", "}")).toEqual({ cut: 0, go: 1 });
    expect(findOvertype("}", "{{ 1 }}", "}")).toBeNull();
    // A literal brace inside the expression is inserted.
    expect(findOvertype("}", '{{ {"a": 1', " }}")).toBeNull();
    expect(findOvertype("}", '{{ {"a": "}"', "} }}")).toEqual({ cut: 0, go: 1 });
    expect(findOvertype("}", '{"a": {"b": 1', "}}")).toBeNull();
    expect(findOvertype(" ", "{{ a", " }}")).toBeNull();
  });

  it("formats a picked path so that it can be parsed", () => {
    expect(formatPath(["steps", "read", "list", "0", "a b"])).toBe("steps.read.list[0]['a b']");
    expect(insertValue("Hi ", 3, "run.id", false)).toEqual({ from: 3, insert: "{{ run.id }}" });
    expect(insertValue("{{  }}", 3, "run.id", false)).toEqual({ from: 3, insert: "run.id" });
    expect(insertFilter("{{ run.id }}", 0, allowed.filters[0]!)).toEqual({
      from: 9,
      insert: ' | replace("old", "new")',
    });
  });
});

describe("cron", () => {
  it("lists the next fire times in its time zone", () => {
    const now = localTime("Europe/Berlin", new Date("2026-11-13T09:30:00Z"))!;
    const next = nextFireTimes(parseCron("0 9 * * 1-5")!, now, 2).map((one) => one.toISOString());
    expect(next).toEqual(["2026-11-16T09:00:00.000Z", "2026-11-17T09:00:00.000Z"]);
    expect(localTime("Mars/Base", new Date())).toBeNull();
  });

  it("finds the shortest interval, and rejects invalid expressions", () => {
    expect(shortestInterval(parseCron("*/5 * * * *")!)).toBe(5);
    expect(shortestInterval(parseCron("55,0 * * * *")!)).toBe(5);
    expect(shortestInterval(parseCron("@hourly")!)).toBe(60);
    expect(shortestInterval(parseCron("0 9 * * *")!)).toBe(1440);
    for (const odd of ["61 * * * *", "* * *", "a b c d e", "5-1 * * * *"]) {
      expect(parseCron(odd)).toBeNull();
    }
  });
});

describe("JSON", () => {
  it("round-trips", () => {
    const value = { a: [1, null, { b: "ü" }], c: false };
    expect(parseJson(spellJson(value))).toEqual({ value });
  });

  it("reports the position of a syntax error", () => {
    expect(parseJson('{\n  "a": 1,\n  oh\n}')).toMatchObject({ line: 3 });
    expect(parseJson('{"a": 1')).toMatchObject({
      problem: expect.stringContaining("unexpected end"),
    });
  });

  it("rejects JSON that parsing would change, with its position", () => {
    expect(parseJson('{\n  "a": 1,\n  "a": 2\n}')).toMatchObject({
      line: 3,
      problem: expect.stringContaining('line 3, column 3: "a" appears twice'),
    });
    expect(parseJson('{"a":\n 1234567890123456789}')).toMatchObject({
      problem: expect.stringContaining("line 2, column 2: 1234567890123456789 has more digits"),
    });
    expect([parseNumber("12.5", false), parseNumber("1234567890123456789", false)])
      .toEqual([12.5, "1234567890123456789"]);
    expect(parseJson("[1, 1e999]")).toMatchObject({
      problem: expect.stringContaining("column 5: 1e999 is larger"),
    });
  });
});

describe("a collapsed step", () => {
  it("has a one-line summary of its config, without secrets", () => {
    const mail = { to: ["ada@example.com"], text: "Dear\nAda", subject: "The  week" };
    expect(summarizeStep({ action: "send_email", config: mail }, undefined)).toBe("The week");
    expect(
      summarizeStep({ config: { token: "{{ secrets.bot }}", channel: "#general" } }, undefined),
    )
      .toBe("#general");
    expect(summarizeStep({ config: { token: "{{ secrets.bot }}" } }, undefined)).toBe("");
    expect(summarizeStep({ config: { steps: [{}, {}] } }, undefined)).toBe("2 steps inside");
    expect(summarizeStep({ config: { text: "x".repeat(400) } }, undefined)).toHaveLength(90);
  });
});
