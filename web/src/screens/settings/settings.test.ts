import { expect, test } from "vitest";
import { browserName } from "./browsers";
import { mayChange, rolesToGive } from "./roles";
import { endsAt, isAlive } from "./tokenText";

test("a browser is identified by name and system", () => {
  const chrome =
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0 Safari/537.36";
  expect(browserName(chrome)).toBe("Chrome on Linux");
  expect(browserName(`${chrome.replace("X11; Linux x86_64", "Windows NT 10.0")} Edg/126.0`)).toBe(
    "Edge on Windows",
  );
  const phone =
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) AppleWebKit/605.1 Version/17.0 Mobile Safari/604.1";
  expect(browserName(phone)).toBe("Safari on iPhone");
  expect(browserName("curl")).toBe("curl");
  expect(browserName("")).toBe("Unknown browser");
});

test("only an owner assigns owners and admins, and nobody changes themselves", () => {
  const user = { id: "me" } as never;
  expect(rolesToGive("admin")).toEqual(["viewer", "operator", "editor"]);
  expect(rolesToGive("owner")).toContain("admin");
  expect(rolesToGive("editor")).toEqual([]);
  expect(mayChange({ role: "owner", user }, { id: "me", role: "owner" })).toBe(false);
  expect(mayChange({ role: "owner", user }, { id: "x", role: "admin" })).toBe(true);
  expect(mayChange({ role: "admin", user }, { id: "x", role: "admin" })).toBe(false);
  expect(mayChange({ role: "admin", user }, { id: "x", role: "editor" })).toBe(true);
});

test("an expired token is not shown as valid", () => {
  const now = Date.parse("2026-03-01T00:00:00Z");
  expect(isAlive({ revoked_at: null, expires_at: null }, now)).toBe(true);
  expect(isAlive({ revoked_at: "2026-02-01T00:00:00Z", expires_at: null }, now)).toBe(false);
  expect(isAlive({ revoked_at: null, expires_at: "2026-02-28T00:00:00Z" }, now)).toBe(false);
  expect(endsAt("30", now)).toBe("2026-03-31T00:00:00.000Z");
  expect(endsAt("", now)).toBeNull();
});
