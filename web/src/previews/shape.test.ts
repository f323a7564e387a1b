import { describe, expect, it } from "vitest";
import { destinationOf, kindOf, type PreviewDraft, shapeOf } from "./shape";

const draft = (more: Partial<PreviewDraft>): PreviewDraft => ({
  capability: "send_email",
  action: "send_email",
  source: null,
  family: "",
  within: "",
  account: null,
  arguments: {},
  ...more,
});

describe("the preview of a draft", () => {
  it("is an e-mail with its lines, its text, its files and nothing lost", () => {
    const given = {
      to: ["ada@example.com"],
      cc: [],
      subject: "Friday",
      text: "It works.",
      html: "<b>It works.</b>",
      importance: "high",
      attachments: [{ filename: "plan.pdf", mime_type: "application/pdf", bytes: 2048 }],
    };
    const shape = shapeOf(draft({ family: "email", arguments: given }));
    expect(shape.kind).toBe("email");
    expect(shape.title).toBe("Friday");
    expect(shape.lines.map((one) => one.name)).toEqual(["to", "cc"]);
    expect(shape.texts.map((one) => one.name)).toEqual(["text", "html"]);
    expect(shape.files).toEqual([{
      filename: "plan.pdf",
      mimeType: "application/pdf",
      bytes: 2048,
    }]);
    expect(shape.rest).toEqual([{ name: "importance", value: "high" }]);
  });

  it("reads the nested fields of an action, and keeps the outer ones", () => {
    const shape = shapeOf(draft({
      family: "message",
      within: "input",
      arguments: {
        input: { channel: "#sales", text: "Hi" },
        install_id: "x",
        request: "Say hi.",
        attachments: [{ filename: "a.txt" }],
      },
    }));
    expect(shape.texts).toEqual([{ name: "text", value: "Hi" }]);
    expect(shape.rest).toEqual([{ name: "request", value: "Say hi." }]);
    expect(shape.files.map((one) => one.filename)).toEqual(["a.txt"]);
  });

  it("recognizes requests and rows, and shows everything else by its fields", () => {
    expect(kindOf(draft({ arguments: { url: "https://example.com/hook", method: "POST" } })))
      .toBe("request");
    expect(kindOf(draft({ arguments: { board_id: "b", values: { a: 1 } } }))).toBe("rows");
    const other = shapeOf(
      draft({ family: "unheard_of", arguments: { one: 1, two: "", three: false } }),
    );
    expect(other.kind).toBe("fields");
    for (const family of ["constructor", "toString", "__proto__"]) {
      const odd = shapeOf(draft({ family, arguments: { one: 1 } }));
      expect([odd.kind, odd.rest]).toEqual(["fields", [{ name: "one", value: 1 }]]);
    }
    expect(other.rest).toEqual([{ name: "one", value: 1 }, { name: "three", value: false }]);
  });

  it("names the destination by the integration or by the action", () => {
    const known = [{ name: "chat", label: "Chat" }, { name: "tracker", label: "Tracker" }];
    const place = (source: string | null, capability: string, action = capability) =>
      destinationOf({ source, capability, action }, known);
    expect(place(null, "chat_post")).toBe("Chat");
    expect(place("tracker", "x", "comment")).toBe("Tracker");
    expect(place(null, "http_request")).toBeNull();
  });
});
