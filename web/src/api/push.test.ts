import { expect, test } from "vitest";
import { decode, hashOf, isAppleMobile } from "./push";

test("iOS devices are detected, even with a Mac user agent", () => {
  const phone =
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) AppleWebKit/605.1 Safari/604.1";
  const mac = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1 Safari/605.1";
  expect(isAppleMobile(phone, 5)).toBe(true);
  expect(isAppleMobile(mac, 5)).toBe(true);
  expect(isAppleMobile(mac, 0)).toBe(false);
  expect(isAppleMobile("Mozilla/5.0 (Linux; Android 14) Chrome/126.0", 5)).toBe(false);
});

test("the server's key is decoded from base64url", () => {
  expect([...decode("-_8A")]).toEqual([251, 255, 0]);
});

test("a subscription is matched by the SHA-256 of its endpoint", async () => {
  expect(await hashOf("abc")).toBe(
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
  );
});
