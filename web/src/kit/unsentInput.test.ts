// One user's unsent input is never readable by another.

import { beforeEach, expect, it, vi } from "vitest";
import { clearAll, openStorage, setOwner } from "./unsentInput";

const at = (user: string, workspace: string) =>
  setOwner({ user: { id: user }, workspace: { id: workspace } } as never);

const keep = (key: string, text: string) => openStorage(key).keep(text);
const kept = (key: string) => openStorage(key).kept();

/** A fake of sessionStorage: its keys are its own properties. */
function tab(): Storage {
  const hidden = { enumerable: false };
  return Object.defineProperties({} as Record<string, string>, {
    getItem: {
      ...hidden,
      value(this: Record<string, string>, name: string) {
        return this[name] ?? null;
      },
    },
    setItem: {
      ...hidden,
      value(this: Record<string, string>, name: string, text: string) {
        this[name] = text;
      },
    },
    removeItem: {
      ...hidden,
      value(this: Record<string, string>, name: string) {
        delete this[name];
      },
    },
  }) as unknown as Storage;
}

beforeEach(() => {
  vi.stubGlobal("sessionStorage", tab());
  clearAll();
});

it("stores by user and workspace, and removes the input of other users", () => {
  keep("new", "before anybody is known");
  expect(Object.keys(sessionStorage)).toEqual([]);
  at("ada", "tower");
  const place = openStorage("new");
  at("ada", "bridge");
  place.keep("secret plans");
  expect(kept("new")).toBeNull();
  at("ada", "tower");
  expect(kept("new")).toBe("secret plans");
  at("bob", "tower");
  expect(kept("new")).toBeNull();
  expect(Object.keys(sessionStorage)).toEqual([]);
});

it("removes one entry, or all on sign-out, and nothing of other pages", () => {
  at("ada", "tower");
  sessionStorage.setItem("elsewhere", "stays");
  sessionStorage.setItem("mainspring.new.words", "from before");
  keep("a", "1");
  keep("b", "2");
  openStorage("a").forget();
  expect([kept("a"), kept("b")]).toEqual([null, "2"]);
  clearAll();
  keep("c", "after leaving");
  expect(Object.keys(sessionStorage)).toEqual(["elsewhere"]);
});
