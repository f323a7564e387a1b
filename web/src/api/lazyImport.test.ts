import { afterEach, expect, it, vi } from "vitest";
import { importWhenReachable } from "./lazyImport";

afterEach(() => vi.unstubAllGlobals());

/** A fake server with one response per request; null: no response. */
const server = (...answers: (number | null)[]) =>
  vi.stubGlobal("fetch", () => {
    const status = answers.shift();
    return status ? Promise.resolve(new Response("", { status })) : Promise.reject(new TypeError());
  });

const part = (...answers: (string | null)[]) =>
  vi.fn(() => {
    const found = answers.shift();
    return found ? Promise.resolve(found) : Promise.reject(new Error("not fetched"));
  });

it("imports nothing before the server is reachable", async () => {
  server(null, 502, null, 200);
  const load = part("the screen");
  expect(await importWhenReachable(load, 1)()).toBe("the screen");
  expect(load).toHaveBeenCalledTimes(1);
});

it("also waits when the server becomes unreachable meanwhile", async () => {
  server(200, null, null, 200);
  expect(await importWhenReachable(part(null, "the screen"), 1)()).toBe("the screen");
});

it("does not wait for a module that no longer exists", async () => {
  server(200, 200);
  await expect(importWhenReachable(part(null, "too late"), 1)()).rejects.toThrow("not fetched");
});
