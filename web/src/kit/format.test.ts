import { expect, test } from "vitest";
import { escapeInvisible } from "./format";

test("invisible characters are escaped, whatever their category", () => {
  const hidden = [
    0x00ad,
    0x034f,
    0x061c,
    0x115f,
    0x1160,
    0x17b4,
    0x17b5,
    0x180e,
    0x200b,
    0x200c,
    0x200d,
    0x200e,
    0x200f,
    0x2028,
    0x202e,
    0x2060,
    0x2064,
    0x2066,
    0x206f,
    0x2800,
    0x3164,
    0xfeff,
    0xffa0,
    0xfff9,
    0xe0001,
    0xe0041,
    0xe007f,
    0xe0100,
    0xe0fff,
    0x0,
    0x1b,
    0x7f,
    0x85,
  ];
  for (const code of hidden) {
    const spelled = `\\u${code.toString(16).padStart(4, "0")}`;
    expect(escapeInvisible(`a${String.fromCodePoint(code)}b`)).toBe(`a${spelled}b`);
  }
  expect(escapeInvisible("a\rb\ud83d")).toBe("a\\u000db\\ud83d");
  const tags = [..."hi"].map((one) => String.fromCodePoint(0xe0000 + one.charCodeAt(0))).join("");
  expect(escapeInvisible(`Lunch?${tags}`)).toBe("Lunch?\\ue0068\\ue0069");
});

test("visible characters stay, including joiners inside emoji and joined scripts", () => {
  const seen = ["a\tb\r\nc\n", "Grüße, 你好, שלום", "👩‍💻 ❤️‍🔥 🇩🇪", "می‌خواهم", "क्‍ष", "e\u0301 \u00a0"];
  for (const text of seen) expect(escapeInvisible(text)).toBe(text);
  expect(escapeInvisible("pay\u200dpal\u200c")).toBe("pay\\u200dpal\\u200c");
});
