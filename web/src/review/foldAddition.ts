// Where a long addition is folded. Head and rest together are all of it.

const LONGEST = 600;
const HEAD = 400;

export function foldAddition(text: string): { head: string; rest: string } {
  const letters = Array.from(text);
  if (letters.length <= LONGEST) return { head: text, rest: "" };
  return { head: letters.slice(0, HEAD).join(""), rest: letters.slice(HEAD).join("") };
}
