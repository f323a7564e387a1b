// All findings in one list; each entry links to its field.

import { Alert, Anchor, Stack, Text } from "@mantine/core";
import { TriangleAlert } from "lucide-react";
import { escapeInvisible } from "../kit/format";
import { describePointer } from "./pointers";
import type { Finding } from "./values";
import { t } from "../strings";

const MOST = 8;

type Props = { findings: readonly Finding[]; document: unknown; onOpen: (pointer: string) => void };

export function FindingList({ findings, document, onOpen }: Props) {
  const errors = findings.filter((one) => one.level === "error");
  if (!errors.length) return null;
  return (
    <Alert
      color="red"
      variant="light"
      icon={<TriangleAlert size={16} />}
      title={t.form.errorToFix(errors.length)}
    >
      <Stack gap={4}>
        {errors.slice(0, MOST).map(({ pointer, detail }) => (
          <Text size="sm" key={pointer + detail}>
            <Anchor
              component="button"
              type="button"
              size="sm"
              c="inherit"
              td="underline"
              onClick={() => onOpen(pointer)}
            >
              {escapeInvisible(describePointer(document, pointer))}
            </Anchor>
            : {escapeInvisible(detail)}
          </Text>
        ))}
        {errors.length > MOST
          ? <Text size="sm">{t.form.andMore(errors.length - MOST)}</Text>
          : null}
      </Stack>
    </Alert>
  );
}
