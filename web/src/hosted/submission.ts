// A hosted form and its submission: requests to the server, and the rules of the page.

import { isObject } from "../form/pointers";
import type { Finding, Json, Schema } from "../form/values";
import { locale } from "../strings";

export type FileRule = { max_bytes: number; types: string[] };
export type FormPage = { title: string | null; text: string | null; fields: string[] };
export type Form = {
  access: "public" | "members";
  title: string;
  text: string;
  submit: string | null;
  pages: FormPage[];
  schema: Schema;
  files: Record<string, FileRule>;
  open: boolean;
  token: string;
  csrf: string | null;
};
export type FormAnswer = { text: string | null; content_type: string | null; body: unknown };
export type Receipt = {
  status: "received" | "answered";
  repeated: boolean;
  thank_you: string | null;
  redirect: string | null;
  answer: FormAnswer | null;
};

/** A refused request, as the server describes it. */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    readonly detail: string,
    readonly suggestion: string | null,
    readonly findings: Finding[],
    readonly retryAfter: number | null,
  ) {
    super(detail);
  }
}

export async function readRefusal(response: Response): Promise<Refusal> {
  let found: Json = {};
  try {
    const document: unknown = await response.json();
    if (isObject(document)) found = document as Json;
  } catch {
    // A proxy answered with something else.
  }
  const errors = Array.isArray(found.errors) ? found.errors as Json[] : [];
  const retryAfter = Number(response.headers.get("Retry-After"));
  return new Refusal(
    response.status,
    String(found.code ?? ""),
    String(found.detail ?? ""),
    typeof found.suggestion === "string" ? found.suggestion : null,
    errors.map((one) => ({
      pointer: String(one.pointer ?? ""),
      detail: String(one.detail ?? ""),
      level: "error" as const,
      ...(typeof one.suggestion === "string" ? { suggestion: one.suggestion } : {}),
    })),
    retryAfter > 0 ? retryAfter : null,
  );
}

const pathOf = (link: string) => `/api/v1/forms/${encodeURIComponent(link)}`;

export async function loadForm(link: string): Promise<Form> {
  const response = await fetch(pathOf(link), { credentials: "same-origin" });
  if (!response.ok) throw await readRefusal(response);
  return await response.json() as Form;
}

/** JSON, or with files a multipart body that begins with it. */
function bodyOf(
  values: Json,
  website: string,
  files: Record<string, File>,
  headers: Record<string, string>,
): { headers: Record<string, string>; body: BodyInit } {
  const submission = JSON.stringify({ values, website });
  const chosen = Object.entries(files);
  if (!chosen.length) {
    return { headers: { ...headers, "Content-Type": "application/json" }, body: submission };
  }
  const body = new FormData();
  body.append("submission", submission);
  for (const [name, file] of chosen) body.append(name, file, file.name);
  return { headers, body };
}

export async function sendForm(
  link: string,
  form: Form,
  values: Json,
  website: string,
  files: Record<string, File> = {},
): Promise<Receipt> {
  const headers: Record<string, string> = {
    "Form-Token": form.token,
    ...(form.csrf ? { "X-CSRF-Token": form.csrf } : {}),
  };
  const response = await fetch(pathOf(link), {
    method: "POST",
    credentials: "same-origin",
    ...bodyOf(values, website, files, headers),
  });
  if (!response.ok) throw await readRefusal(response);
  return await response.json() as Receipt;
}

/** The schema of the fields of one page that are not files. */
export function schemaOfPage(form: Form, page: FormPage): Schema {
  const shown = page.fields.filter((name) => !(name in form.files));
  const properties = (form.schema.properties ?? {}) as Record<string, Schema>;
  const required = (form.schema.required ?? []) as string[];
  return {
    ...form.schema,
    properties: Object.fromEntries(
      shown.filter((name) => name in properties).map((name) => [name, properties[name]!]),
    ),
    required: required.filter((name) => shown.includes(name)),
  };
}

/** The initial values: the defaults of the schema, except those that the server computes. */
export function initialValues(schema: Schema): Json {
  const properties = (schema.properties ?? {}) as Record<string, Schema>;
  return Object.fromEntries(
    Object.entries(properties).flatMap(([name, one]) =>
      one.default === undefined ||
        (typeof one.default === "string" && /^\$[a-z_]+$/.test(one.default))
        ? []
        : [[name, one.default]]
    ),
  );
}

/** The first page with a field that one of the findings is about; -1: none. */
export const pageOfFindings = (pages: readonly FormPage[], findings: readonly Finding[]): number =>
  pages.findIndex(({ fields }) =>
    findings.some(({ pointer }) => fields.includes(pointer.split("/")[1] ?? ""))
  );

/** A redirect that may be followed: the server only sends https, and nothing else is opened. */
export const isSafeRedirect = (url: string | null): url is string =>
  url !== null && /^https:\/\//.test(url);

/** A size in the largest unit that it fills. */
export function formatSize(bytes: number): string {
  const units = ["byte", "kilobyte", "megabyte", "gigabyte"];
  const at = Math.min(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), units.length - 1);
  return new Intl.NumberFormat(locale, {
    style: "unit",
    unit: units[at]!,
    unitDisplay: at ? "short" : "long",
    maximumFractionDigits: 1,
  }).format(bytes / 1000 ** at);
}
