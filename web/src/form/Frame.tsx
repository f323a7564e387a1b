// The frame of a form field: label, control, hint and findings.

import {
  ActionIcon,
  Box,
  Code,
  Group,
  Input,
  Stack,
  Text,
  Tooltip,
  VisuallyHidden,
} from "@mantine/core";
import { CircleAlert, Info, TriangleAlert, X } from "lucide-react";
import { type ReactNode, useId } from "react";
import { escapeInvisible } from "../kit/format";
import { useFormContext } from "./formContext";
import { useFindings } from "./findings";
import { hintOf, titleOf } from "./schema";
import type { Finding, Schema } from "./values";
import { t } from "../strings";

/** The props of every field. */
export type FieldProps = {
  name: string;
  schema: Schema;
  root: Schema;
  value: unknown;
  at: string;
  required: boolean;
  /** Whether templates are allowed here. */
  templated: boolean;
};

const LOOKS = {
  error: { Icon: CircleAlert, color: "var(--bad)", word: t.form.problem },
  warning: { Icon: TriangleAlert, color: "var(--busy)", word: t.form.warning },
  note: { Icon: Info, color: "var(--quiet)", word: t.form.note },
};

export function FindingMessages({ findings, id }: { findings: readonly Finding[]; id?: string }) {
  if (!findings.length) return null;
  return (
    <Stack gap={4} mt={6} id={id}>
      {findings.map(({ pointer, detail, level, suggestion }) => {
        const { Icon, color, word } = LOOKS[level];
        return (
          <Group
            key={pointer + detail}
            gap={6}
            wrap="nowrap"
            align="flex-start"
            c={color}
          >
            <Box pt={2} component="span" lh={0}>
              <Icon size={14} aria-hidden />
            </Box>
            <Text size="sm" className="wrap-anywhere" c="inherit">
              <VisuallyHidden>{word}</VisuallyHidden>
              {escapeInvisible(detail)}
              {suggestion ? ` ${escapeInvisible(suggestion)}` : ""}
            </Text>
          </Group>
        );
      })}
    </Stack>
  );
}

export const isWrong = (findings: readonly Finding[]) =>
  findings.some((one) => one.level === "error");

/** The ids and texts of a field, for its frame and its control. */
export function useField(field: FieldProps, deep = false) {
  const id = useId();
  const findings = useFindings(field.at, deep);
  const title = titleOf(field.name, field.schema);
  const hint = hintOf(field.schema);
  const described = [hint ? `${id}-hint` : "", findings.length ? `${id}-said` : ""].filter(
    Boolean,
  ).join(" ");
  return {
    id,
    title,
    hint,
    findings,
    described: described || undefined,
    wrong: isWrong(findings),
  };
}

type FieldTexts = ReturnType<typeof useField>;
type Props = {
  field: FieldProps;
  texts: FieldTexts;
  children: ReactNode;
  /** Small buttons to the right of the label. */
  aside?: ReactNode;
  /** The control is not an element that a label can reference. */
  unlabelled?: boolean;
  /** Optional values that cannot be cleared by typing get a remove button. */
  removable?: boolean;
  more?: ReactNode;
};

function RemoveButton({ field, title }: { field: FieldProps; title: string }) {
  const form = useFormContext();
  return (
    <Tooltip label={t.form.remove}>
      <ActionIcon
        size="sm"
        variant="subtle"
        color="gray"
        aria-label={t.form.remove2(title)}
        onClick={() => form.set(field.at, undefined)}
      >
        <X size={14} />
      </ActionIcon>
    </Tooltip>
  );
}

export function Frame(
  { field, texts, children, aside, unlabelled, removable, more }: Props,
) {
  const form = useFormContext();
  const { id, title, hint, findings } = texts;
  const isCode = !form.plain && title.toLowerCase().replaceAll(" ", "_") !== field.name &&
    !/^[0-9]+$/.test(field.name);
  const canTakeOut = removable && !field.required && field.value !== undefined && !form.readOnly;
  return (
    <Box data-pointer={field.at} style={{ minWidth: 0 }}>
      <Group gap={6} justify="space-between" wrap="nowrap" mb={4} mih={22}>
        <Group gap={6} wrap="wrap">
          <Input.Label
            htmlFor={unlabelled ? undefined : id}
            labelElement={unlabelled ? "div" : "label"}
            required={field.required && !form.readOnly}
          >
            {title}
          </Input.Label>
          {isCode ? <Code fz={11}>{escapeInvisible(field.name)}</Code> : null}
        </Group>
        <Group gap={2} wrap="nowrap">
          {aside}
          {canTakeOut ? <RemoveButton field={field} title={title} /> : null}
        </Group>
      </Group>
      {children}
      {more}
      {hint ? <Input.Description id={`${id}-hint`} mt={4}>{hint}</Input.Description> : null}
      <FindingMessages findings={findings} id={`${id}-said`} />
    </Box>
  );
}
