import { expect, test } from "vitest";
import { de } from "./de";
import * as en from "./en";
import { localeOf, preferredLanguage } from "./language";

test("the browser's first supported language is used", () => {
  expect(preferredLanguage(["de-AT", "en"])).toBe("de");
  expect(preferredLanguage(["fr", "en-GB", "de"])).toBe("en");
  expect(preferredLanguage(["fr"])).toBe("en");
});

test("numbers and dates use the browser's variant of the language", () => {
  expect(localeOf("en", ["de", "en-GB"])).toBe("en-GB");
  expect(localeOf("de", ["en-US"])).toBe("de");
});

test("a count has the plural form of its language", () => {
  expect([en.counts.runs(1), en.counts.runs(1200)]).toEqual(["1 run", "1,200 runs"]);
  expect([de.counts.runs(1), de.counts.runs(1200)]).toEqual(["1 Lauf", "1.200 Läufe"]);
});

test("German has a text for every English one", () => {
  const keys = (catalogue: object): string[] =>
    Object.entries(catalogue).flatMap(([key, value]) =>
      typeof value === "object" ? keys(value).map((one) => `${key}.${one}`) : [key]
    );
  expect(keys(de)).toEqual(keys(en));
});
