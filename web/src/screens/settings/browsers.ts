// What a browser calls itself is long; two words of it are enough to know it again.

const MAKERS: Record<string, string> = {
  Edg: "Edge",
  OPR: "Opera",
  CriOS: "Chrome",
  FxiOS: "Firefox",
};

export function browserName(label: string): string {
  const maker = /(Firefox|FxiOS|Edg|OPR|CriOS|Chrome|Safari)\//.exec(preferred(label))?.[1];
  const system = /(Windows|iPhone|iPad|Mac OS X|Android|Linux)/.exec(label)?.[1];
  if (!maker) return label || "Unknown browser";
  const where = system ? ` on ${system.replace("Mac OS X", "macOS")}` : "";
  return `${MAKERS[maker] ?? maker}${where}`;
}

// Edge and Opera say that they are Chrome first, and what they are last.
const preferred = (label: string) => /(Edg|OPR)\/[0-9.]+/.exec(label)?.[0] ?? label;
