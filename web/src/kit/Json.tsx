// A value as JSON, with a copy button.

import { Box, Code } from "@mantine/core";
import { CopyIcon } from "./Copy";
import { escapeInvisible } from "./format";
import { t } from "../strings";

export function Json(
  { value, label, most = 360 }: { value: unknown; label: string; most?: number },
) {
  const text = typeof value === "string" ? value : JSON.stringify(value, null, 2) ?? "null";
  return (
    <Box pos="relative">
      <Box pos="absolute" top={6} right={6}>
        <CopyIcon text={text} label={t.kit.copy2(label)} />
      </Box>
      <Code
        block
        fz={12.5}
        mah={most}
        style={{ overflow: "auto", whiteSpace: "pre-wrap", overflowWrap: "anywhere" }}
        tabIndex={0}
        role="region"
        aria-label={label}
      >
        {escapeInvisible(text)}
      </Code>
    </Box>
  );
}
