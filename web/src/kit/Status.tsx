// A status badge: text and colour, never colour alone.

import { Badge } from "@mantine/core";
import { humanize, type Tone, toneOf } from "./format";

const COLORS: Record<Tone, string> = { good: "teal", bad: "red", busy: "yellow", quiet: "gray" };

export const colorOf = (word: string) => COLORS[toneOf(word)];

export function Status({ value, label: text }: { value: string; label?: string }) {
  return (
    <Badge
      color={colorOf(value)}
      variant="light"
      radius="sm"
      tt="none"
      fw={600}
      miw="max-content"
    >
      {text ?? humanize(value)}
    </Badge>
  );
}
