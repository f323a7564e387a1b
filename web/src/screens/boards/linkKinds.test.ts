import { describe, expect, it } from "vitest";
import { linkKinds, sampleText } from "./linkKinds";

const adapter = (kind: string, label: string) => ({
  kind,
  label,
  description: "",
  connection: "needed" as const,
  fields: [],
  operations: [],
});

describe("what a board can be linked to", () => {
  it("is every adapter that the server describes, with the name of its connection", () => {
    const found = linkKinds([
      { name: "acme", adapters: [adapter("acme_notes", "Notes"), adapter("acme_jobs", "Jobs")] },
      { name: "plain", adapters: [] },
    ]);
    expect(found.map(({ kind, source }) => [kind, source])).toEqual([
      ["acme_jobs", "acme"],
      ["acme_notes", "acme"],
    ]);
  });

  it("shows settings only if a read operation has initial arguments", () => {
    expect(sampleText({})).toBe("");
    expect(sampleText({ days: 14 })).toBe('{"days":14}');
  });
});
