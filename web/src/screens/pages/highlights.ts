// A snippet split at its matches. Offsets count code points, and a code point may be two UTF-16
// units.

export type Part = { text: string; marked: boolean };

export function splitAtMatches(snippet: string, highlights: number[][]): Part[] {
  const signs = [...snippet];
  const parts: Part[] = [];
  let at = 0;
  const add = (until: number, marked: boolean) => {
    if (until > at) parts.push({ text: signs.slice(at, until).join(""), marked });
    at = Math.max(at, until);
  };
  for (const [start, end] of [...highlights].sort((a, b) => (a[0] ?? 0) - (b[0] ?? 0))) {
    if (start === undefined || end === undefined || end <= at) continue;
    add(Math.min(start, signs.length), false);
    add(Math.min(end, signs.length), true);
  }
  add(signs.length, false);
  return parts;
}
