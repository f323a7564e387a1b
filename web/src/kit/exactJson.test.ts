// Losses of parsing JSON in a browser are detected before parsing.

import { expect, it } from "vitest";
import { findInexactNumbers, findParseLoss, indentJson, rawValue } from "./exactJson";

it("finds numbers that parsing would change, and ignores strings", () => {
  const text = '{"a":[1234567890123456789,-9007199254740993,1e999],"b":"1234567890123456789"}';
  expect(findInexactNumbers(text)).toEqual(["1234567890123456789", "-9007199254740993", "1e999"]);
  expect(
    findInexactNumbers('{"a":[9007199254740991,1e+22,0.1,-0,"say \\"1234567890123456789\\""]}'),
  )
    .toEqual([]);
  expect(findParseLoss(text)).toMatchObject({ at: 6, token: "1234567890123456789" });
});

it("finds duplicate keys, whatever their escapes", () => {
  expect(findParseLoss('{"a":{"b":1},"c":{"b":1,"\\u0062":2}}')).toMatchObject({ at: 24 });
  expect(findParseLoss('{"a":["a","a",{"a":1},{"a":"a"}],"b":"a"}')).toBeNull();
});

it("extracts and indents a part without changing a value", () => {
  const text =
    '{"x":{"payload":0},"payload": {"id":1234567890123456789,"n":[],"o":{"p":"},{"}},"z":1}';
  const part = rawValue(text, "payload")!;
  expect(part).toBe('{"id":1234567890123456789,"n":[],"o":{"p":"},{"}}');
  expect(rawValue(text, "p")).toBeNull();
  const plain = '{"a":[1,{"b":"c: d"},[]],"e":{},"f":null}';
  expect(indentJson(plain)).toBe(JSON.stringify(JSON.parse(plain), null, 2));
  expect(indentJson(part)).toContain('"id": 1234567890123456789,');
});
