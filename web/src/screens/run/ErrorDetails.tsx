// An error with its remedy, and its text to copy for support.

import { Alert, Group, Stack, Text } from "@mantine/core";
import { TriangleAlert } from "lucide-react";
import type { ReactNode } from "react";
import { CopyButton } from "../../kit/Copy";
import { t } from "../../strings";

type ErrorDocument = Record<string, unknown>;
type Finding = { pointer?: string; detail?: string };

const text = (value: unknown) => (typeof value === "string" && value ? value : null);

export function ErrorDetails(
  { error, about, children }: { error: ErrorDocument; about: ErrorDocument; children?: ReactNode },
) {
  const findings = Array.isArray(error.errors) ? error.errors as Finding[] : [];
  const title = text(error.title) ?? t.run.itFailed;
  return (
    <Alert color="red" variant="light" icon={<TriangleAlert size={16} />} title={title}>
      <Stack gap="xs">
        <Text size="sm" className="wrap-anywhere">
          {text(error.detail) ?? t.run.noFurtherDetails}
        </Text>
        {findings.filter((one) => one.detail && one.detail !== error.detail).map((
          one,
          at,
        ) => (
          <Text size="sm" key={at} className="wrap-anywhere">
            <span className="mono">{one.pointer || "/"}</span>: {one.detail}
          </Text>
        ))}
        {text(error.suggestion) ? <Text size="sm" fw={600}>{text(error.suggestion)}</Text> : null}
        <Group gap="xs">
          {children}
          <CopyButton
            text={JSON.stringify({ ...about, problem: error }, null, 2)}
            label={t.run.copyTheProblem}
          />
          {text(error.code) ? <Text size="xs" className="mono">{text(error.code)}</Text> : null}
        </Group>
      </Stack>
    </Alert>
  );
}
