// User agent strings are long; browser and system are enough to recognize a session.

import { t } from "../../strings";

const MAKERS: Record<string, string> = {
  Edg: "Edge",
  OPR: "Opera",
  CriOS: "Chrome",
  FxiOS: "Firefox",
};

export function browserName(label: string): string {
  const maker = /(Firefox|FxiOS|Edg|OPR|CriOS|Chrome|Safari)\//.exec(preferred(label))?.[1];
  const system = /(Windows|iPhone|iPad|Mac OS X|Android|Linux)/.exec(label)?.[1];
  if (!maker) return label || t.settings.unknownBrowser;
  const where = system ? t.settings.on(system.replace("Mac OS X", "macOS")) : "";
  return `${MAKERS[maker] ?? maker}${where}`;
}

// Edge and Opera also name Chrome, and their own name comes last.
const preferred = (label: string) => /(Edg|OPR)\/[0-9.]+/.exec(label)?.[0] ?? label;
