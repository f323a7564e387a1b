// The name of a step in URLs: "fetch", "share[1]" for the second item of a list, and "fetch/12" for
// line 12 of its output.

export const keyOf = (row: { step: string; item: string }) =>
  row.item ? `${row.step}[${row.item}]` : row.step;

export function readKey(key: string): { step: string; item: string } {
  const found = /^([^[]*)\[([^\]]*)\]$/.exec(key);
  return found ? { step: found[1]!, item: found[2]! } : { step: key, item: "" };
}

/** The step and the line in a URL fragment. */
export function readLine(hash: string): { key: string; line: number } | null {
  try {
    const found = /^#?(.+)\/([0-9]+)$/.exec(decodeURIComponent(hash));
    return found ? { key: found[1]!, line: Number(found[2]) } : null;
  } catch {
    return null;
  }
}

export const writeLine = (key: string, line: number) => `#${encodeURIComponent(key)}/${line}`;

/** Items are numbered from 0 in the record, and from 1 on the page. */
export const describeItem = (item: string) =>
  item.split(".").map((part) => String(Number(part) + 1)).join(" · ");
