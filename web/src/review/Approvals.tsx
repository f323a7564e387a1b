// Each outside write with what a person agrees to (destination, account and text) and its approval
// mode: ask each time, or send automatically.

import { Box, SegmentedControl, Stack, Text } from "@mantine/core";
import { isEqualJson, valueAt } from "../form/pointers";
import { escapeInvisible } from "../kit/format";
import type { ImpactOf } from "./reviewText";
import { t } from "../strings";

type Write = ImpactOf["writes"][number];
export type Choose = (pointer: string, value: unknown) => void;

const CHOICES = [
  { value: "ask", label: t.review.askMeEachTime },
  { value: "automatic", label: t.review.sendAutomatically },
];

/** The mode in the current definition; otherwise the reviewed one. */
export function modeOf(write: Write, definition: unknown): Write["mode"] {
  const step = valueAt(definition, write.pointer);
  if (step === undefined) return write.mode;
  if (isEqualJson(step, write.values.automatic)) return "automatic";
  return isEqualJson(step, write.values.ask) ? "ask" : write.mode;
}

const MEANS: Record<Write["mode"], string> = {
  ask: t.review.eachTimeADraftWaits,
  automatic: t.review.itIsSentWithoutAsking,
};

type Props = { writes: Write[]; definition?: unknown; choose?: Choose };

export function Approvals({ writes, definition, choose }: Props) {
  return (
    <Stack gap="lg" component="ul" p={0} m={0} style={{ listStyle: "none" }}>
      {writes.map((write) => (
        <Box component="li" key={write.pointer + write.capability}>
          <Sent write={write} />
          <Mode write={write} definition={definition} choose={choose} />
        </Box>
      ))}
    </Stack>
  );
}

/** The destination, the account and the text. */
function Sent({ write }: { write: Write }) {
  return (
    <Stack gap={4} mb={8}>
      <Text size="sm" fw={600} className="wrap-anywhere">{escapeInvisible(write.says)}</Text>
      <Text size="xs" c="dimmed" className="wrap-anywhere">
        {t.review.step(
          write.account ? t.review.account(escapeInvisible(write.account)) : "",
          escapeInvisible(write.step),
          <span className="mono">{escapeInvisible(write.capability)}</span>,
        )}
      </Text>
      {write.text
        ? (
          <Text
            size="sm"
            component="blockquote"
            className="wrap-anywhere"
            aria-label={t.review.textOf(write.step)}
            m={0}
            px="sm"
            py={6}
            mah={220}
            style={{
              whiteSpace: "pre-wrap",
              overflowY: "auto",
              borderInlineStart: "3px solid var(--line)",
            }}
          >
            {escapeInvisible(write.text)}
          </Text>
        )
        : (
          <Text size="xs" c="dimmed">
            {write.text === null ? t.review.theTextIsWrittenIn : t.review.noText}
          </Text>
        )}
    </Stack>
  );
}

function Mode({ write, definition, choose }: { write: Write } & Omit<Props, "writes">) {
  const mode = modeOf(write, definition);
  const fixed = !choose || write.only_asks_because;
  return (
    <>
      {fixed ? null : (
        <SegmentedControl
          size="xs"
          fullWidth
          mb={4}
          data={CHOICES}
          value={mode}
          onChange={(next) => choose(write.pointer, write.values[next as Write["mode"]])}
          aria-label={t.review.approvalOf(write.step, write.capability)}
        />
      )}
      <Text size="xs" c="dimmed">
        {mode === "automatic" && write.text === null
          ? t.review.itIsSentWithoutAskingTo
          : MEANS[mode]} {write.only_asks_because ?? ""}
      </Text>
    </>
  );
}
