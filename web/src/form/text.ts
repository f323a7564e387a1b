// JSON as people write it, and where it stops being JSON.

export type Read = { value: unknown } | { problem: string; line: number };

export const spellJson = (
  value: unknown,
): string => (value === undefined ? "" : JSON.stringify(value, null, 2));

function offsetOf(message: string, text: string): number {
  const at = /position (\d+)/.exec(message)?.[1];
  if (at !== undefined) return Number(at);
  return /end of|Unterminated/i.test(message) ? text.length : 0;
}

/** The value, or what is wrong and on which line. */
export function readJson(text: string): Read {
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    const message = error instanceof Error ? error.message : "";
    const before = text.slice(0, offsetOf(message, text));
    const line = before.split("\n").length;
    const column = before.length - before.lastIndexOf("\n");
    const near = text.slice(before.length).trimStart().slice(0, 12).split("\n")[0];
    const what = near ? `something is wrong before “${near}”` : "it ends too soon";
    return { problem: `This is not JSON yet: line ${line}, column ${column}: ${what}.`, line };
  }
}
