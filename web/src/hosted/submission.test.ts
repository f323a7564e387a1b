import { expect, test } from "vitest";
import {
  type Form,
  formatSize,
  initialValues,
  isSafeRedirect,
  pageOfFindings,
  readRefusal,
  schemaOfPage,
} from "./submission";

const form: Form = {
  access: "public",
  title: "Leave",
  text: "",
  submit: null,
  pages: [
    { title: null, text: null, fields: ["email"] },
    { title: null, text: null, fields: ["days", "note"] },
  ],
  schema: {
    type: "object",
    additionalProperties: false,
    required: ["email", "note"],
    properties: {
      email: { type: "string", default: "$creator" },
      days: { type: "integer", default: 2 },
      note: { type: "object" },
    },
  },
  files: { note: { max_bytes: 1_000, types: [] } },
  open: true,
  token: "t",
  csrf: null,
};

test("a page has its own fields, and no files", () => {
  const schema = schemaOfPage(form, form.pages[1]!);
  expect(Object.keys(schema.properties)).toEqual(["days"]);
  expect(schema.required).toEqual([]);
  expect(schemaOfPage(form, form.pages[0]!).required).toEqual(["email"]);
});

test("defaults are filled in, except those that the server computes", () => {
  expect(initialValues(form.schema)).toEqual({ days: 2 });
});

test("the first page with a problem is found", () => {
  const at = (pointer: string) =>
    pageOfFindings(form.pages, [{ pointer, detail: "", level: "error" }]);
  expect(at("/days")).toBe(1);
  expect(at("/email/0")).toBe(0);
  expect(at("")).toBe(-1);
});

test("only https is opened", () => {
  expect(isSafeRedirect("https://example.com/thanks")).toBe(true);
  for (const one of ["http://example.com", "javascript:alert(1)", "//example.com", null]) {
    expect(isSafeRedirect(one)).toBe(false);
  }
});

test("a refusal names its fields", async () => {
  const body = {
    code: "form_invalid",
    detail: "No.",
    errors: [{ pointer: "/days", detail: "≤ 30" }],
  };
  const refusal = await readRefusal(new Response(JSON.stringify(body), { status: 422 }));
  expect(refusal.findings).toEqual([{ pointer: "/days", detail: "≤ 30", level: "error" }]);
  const other = await readRefusal(new Response("<html>", { status: 502 }));
  expect([other.status, other.code, other.findings]).toEqual([502, "", []]);
});

test("sizes are readable", () => {
  expect(formatSize(100)).toBe("100 bytes");
  expect(formatSize(2_500_000)).toBe("2.5 MB");
});
