// A cron expression with its description, its next fire times, and a warning if it fires too often.

import { Group, Stack, Text, TextInput } from "@mantine/core";
import { TriangleAlert } from "lucide-react";
import { useMemo } from "react";
import { capitalize, describeCron } from "../kit/format";
import { formatLocalTime, localTime, nextFireTimes, parseCron, shortestInterval } from "./cron";
import { useFormContext } from "./formContext";
import { type FieldProps, Frame, useField } from "./Frame";
import { above, under, valueAt } from "./pointers";
import { t } from "../strings";

const OFTEN = 15;

export function CronField(field: FieldProps) {
  const form = useFormContext();
  const texts = useField(field);
  const line = typeof field.value === "string" ? field.value : "";
  return (
    <Frame
      field={field}
      texts={texts}
      more={<FireTimes line={line} at={field.at} isWarned={texts.findings.length > 0} />}
    >
      <TextInput
        id={texts.id}
        value={line}
        className="mono"
        autoComplete="off"
        placeholder="0 9 * * 1-5"
        readOnly={form.readOnly}
        error={texts.wrong}
        aria-describedby={texts.described}
        onChange={(event) => form.set(field.at, event.currentTarget.value)}
      />
    </Frame>
  );
}

function FireTimes({ line, at, isWarned }: { line: string; at: string; isWarned: boolean }) {
  const form = useFormContext();
  const named = valueAt(form.current(), under(above(at), "timezone"));
  const zone = typeof named === "string" && named ? named : "UTC";
  const cron = useMemo(() => parseCron(line), [line]);
  const next = useMemo(() => {
    const now = localTime(zone, new Date());
    return cron && now ? nextFireTimes(cron, now, 3) : [];
  }, [cron, zone]);
  if (!cron) return null;
  const spelt = describeCron(line);
  const gap = shortestInterval(cron);
  return (
    <Stack gap={4} mt={6} aria-live="polite">
      <Text size="sm" c="dimmed">
        {spelt ? `${capitalize(spelt)}. ` : ""}
        {next.length
          ? t.form.nextTimeZone(next.map(formatLocalTime).join(" · "), zone)
          : t.form.itNeverFires}
      </Text>
      {gap < OFTEN && !isWarned
        ? (
          <Group gap={6} wrap="nowrap" align="flex-start" c="var(--busy)">
            <TriangleAlert
              size={14}
              aria-hidden
              style={{ flex: "none", marginTop: 3 }}
            />
            <Text size="sm" c="inherit">
              {t.form.thisChecksEveryToReact(gap === 1 ? t.form.minute : t.form.minutes(gap))}
            </Text>
          </Group>
        )
        : null}
    </Stack>
  );
}
