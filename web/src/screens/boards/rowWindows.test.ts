import { expect, test } from "vitest";
import type { Row } from "./rows";
import { type Load, RowWindows } from "./rowWindows";

const rowsFrom = (offset: number, limit: number): Row[] =>
  Array.from({ length: limit }, (_, at) => ({ row_id: String(offset + at) }));
const finish = () => new Promise((resolve) => setTimeout(resolve, 0));

test("the total of a later page is kept", async () => {
  const pages = [{ total: 11, more: true }, { total: 25, more: true }, { total: 12, more: true }];
  const load: Load = (offset, limit) =>
    Promise.resolve({ rows: rowsFrom(offset, limit), ...pages.shift()! });
  const windows = new RowWindows(load, 10, 1, 0);
  for (const [first, total] of [[0, 11], [10, 25], [0, 25]] as const) {
    windows.setVisibleRange(first, first);
    await finish();
    expect([windows.total, windows.more]).toEqual([total, true]);
  }
  pages.push({ total: 3, more: false });
  await windows.reload(0, 5);
  expect([windows.total, windows.more]).toEqual([3, false]);
});

test("fetches windows once, cancels invisible ones and evicts the oldest", async () => {
  const asked: number[] = [];
  const given: AbortSignal[] = [];
  const held: (() => void)[] = [];
  const load: Load = (offset, limit, signal) => {
    asked.push(offset);
    given.push(signal);
    return new Promise((resolve) => {
      held.push(() => resolve({ rows: rowsFrom(offset, limit), total: 1000 }));
    });
  };
  const windows = new RowWindows(load, 10, 3, 0);
  windows.setVisibleRange(0, 15);
  windows.setVisibleRange(0, 15);
  expect(asked).toEqual([0, 10]);
  held.forEach((let_) => let_());
  await finish();
  expect(windows.row(12)?.row_id).toBe("12");
  expect(windows.total).toBe(1000);

  windows.setVisibleRange(500, 505);
  windows.setVisibleRange(900, 905);
  expect(given[2]?.aborted).toBe(true);
  held.splice(2).forEach((let_) => let_());
  await finish();
  expect(windows.row(500)).toBeUndefined();
  expect(windows.row(900)?.row_id).toBe("900");

  windows.setVisibleRange(0, 5);
  windows.setVisibleRange(950, 955);
  held.forEach((let_) => let_());
  await finish();
  expect(windows.held).toBe(3);
  expect(windows.row(0)?.row_id).toBe("0");
  expect(windows.row(12)).toBeUndefined();
});

test("a changed row is shown, an error is reported, and a stale response is ignored", async () => {
  let fail = false;
  const windows = new RowWindows(
    (offset, limit) =>
      fail
        ? Promise.reject(new Error("no"))
        : Promise.resolve({ rows: rowsFrom(offset, limit), total: 20 }),
    10,
    3,
    0,
  );
  windows.setVisibleRange(0, 5);
  await finish();
  windows.patch("3", { name: "Ada" });
  expect(windows.row(3)?.name).toBe("Ada");
  windows.setVisibleRange(10, 15);
  await windows.reload(0, 5);
  expect(windows.row(3)?.name).toBeUndefined();
  fail = true;
  windows.setVisibleRange(10, 12);
  await finish();
  expect((windows.problem as Error).message).toBe("no");
  expect(windows.row(3)?.row_id).toBe("3");
});
