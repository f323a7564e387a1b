import { expect, test } from "vitest";
import { isLocal, knownClients } from "./snippets";

const FAR = "https://spring.example.org/mcp";
const all = (answer: { address: string; token: string | null }) => knownClients(answer);

test("every client gets the address, and no token unless one was created", () => {
  for (const known of all({ address: FAR, token: null })) {
    const texts = known.snippets.map((one) => one.text).join("\n");
    expect(texts, known.id).toContain(FAR);
    expect(texts, known.id).not.toContain("Authorization");
  }
});

test("a token is in the texts and never in a link", () => {
  const known = all({ address: FAR, token: "msk_secret" });
  expect(known.filter((one) => one.link)).toEqual([]);
  expect(known.find((one) => one.id === "cursor")?.snippets[0]?.text).toContain(
    "Bearer msk_secret",
  );
});

test("links open the client with the same server", () => {
  const [cursor, code] = ["cursor", "vs-code"].map((id) =>
    all({ address: FAR, token: null }).find((one) => one.id === id)!.link!.href
  );
  expect(JSON.parse(atob(new URL(cursor!).searchParams.get("config")!))).toEqual({ url: FAR });
  expect(JSON.parse(decodeURIComponent(code!.split("?")[1]!))).toMatchObject({
    url: FAR,
    type: "http",
  });
});

test("snippets can be pasted: JSON is valid, and quotes are escaped", () => {
  for (const known of all({ address: "https://it's.example/mcp", token: null })) {
    for (const { language, text } of known.snippets) {
      if (language === "json") expect(() => JSON.parse(text)).not.toThrow();
    }
  }
  const command = all({ address: "https://it's.example/mcp", token: null })
    .find((one) => one.id === "vs-code")!.snippets[1]!.text;
  expect(command).toContain(`it'\\''s`);
});

test("Claude gets a local program if it cannot reach the address", () => {
  expect(isLocal("http://127.0.0.1:8420/mcp") && isLocal("http://[::1]:1/mcp")).toBe(true);
  expect(isLocal(FAR) || isLocal("https://localhost.example/mcp")).toBe(false);
  const claude = all({ address: "http://localhost:8420/mcp", token: null })
    .find((one) => one.id === "claude")!;
  expect(JSON.parse(claude.snippets[0]!.text).mcpServers.mainspring.args).toEqual(["mcp"]);
  // Its connectors accept no token, even if they could reach the address.
  const far = all({ address: FAR, token: "msk_secret" }).find((one) => one.id === "claude")!;
  expect(JSON.parse(far.snippets[0]!.text).mcpServers.mainspring).toEqual({
    command: "mainspring",
    args: ["mcp", "--url", FAR],
    env: { MAINSPRING_TOKEN: "msk_secret" },
  });
});
