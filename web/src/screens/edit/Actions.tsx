// The actions of the editor, and whether the draft is valid.

import { Button, Group, Modal, Stack, Text } from "@mantine/core";
import { useHotkeys } from "@mantine/hooks";
import { Check, CircleAlert, Loader } from "lucide-react";
import { memo, useState } from "react";
import type { Schemas } from "../../api/client";
import { useHasRole } from "../../api/session";
import { Diff } from "../../code";
import { CopyAs } from "../../kit/Copy";
import type { Validation } from "./useValidation";
import { t } from "../../strings";

const spelt = (value: unknown) => JSON.stringify(value, null, 2);

type ActionsProps = {
  automation: Schemas["AutomationDetail"] | undefined;
  /** The current draft; the copied operations use the last validated one. */
  current: () => unknown;
  isDirty: boolean;
  verdict: Validation;
  broken: string | null;
  compared: unknown;
  busy: boolean;
  onSave: () => void;
};

export const Actions = memo(function Actions(
  { automation, current, isDirty, verdict, broken, compared, busy, onSave }: ActionsProps,
) {
  const may = useHasRole("editor");
  const [isAsking, ask] = useState(false);
  const path = automation ? `/api/v1/automations/${automation.id}` : "/api/v1/automations";
  const operations = [
    {
      label: t.edit.save,
      operation: {
        method: automation ? "PUT" as const : "POST" as const,
        path,
        body: verdict.of,
      },
    },
    {
      label: t.edit.validate,
      operation: {
        method: "POST" as const,
        path: "/api/v1/validate",
        body: verdict.of,
      },
    },
  ];
  const isBad = verdict.state === "bad" || broken !== null;
  const canSave = may && isDirty && !isBad && !busy;
  const request = () => (automation ? ask(true) : onSave());
  useHotkeys([["mod+S", () => canSave ? request() : undefined]], [], true);
  return (
    <>
      <CopyAs operations={operations} />
      {may
        ? (
          <Button
            disabled={!isDirty || isBad}
            loading={busy}
            onClick={request}
          >
            {automation ? t.edit.saveAsNewVersion : t.edit.saveAutomation}
          </Button>
        )
        : null}
      <Modal
        opened={isAsking}
        onClose={() => ask(false)}
        title={t.edit.saveAsNewVersion}
        size="xl"
      >
        <Stack>
          <Text size="sm" c="dimmed">{t.edit.changesFromTheActiveVersion}</Text>
          {isAsking
            ? (
              <Diff
                before={spelt(compared)}
                after={spelt(current())}
                label={t.edit.changes}
              />
            )
            : null}
          <Group justify="flex-end" gap="xs">
            <Button variant="default" onClick={() => ask(false)}>{t.edit.keepEditing}</Button>
            <Button
              data-autofocus
              onClick={() => {
                ask(false);
                onSave();
              }}
            >
              {t.edit.save2}
            </Button>
          </Group>
        </Stack>
      </Modal>
    </>
  );
});

/** One line: whether the draft is valid. */
export const Judgement = memo(
  function Judgement({ verdict, broken }: { verdict: Validation; broken: string | null }) {
    const errors = verdict.findings.filter((one) => one.level === "error").length;
    const warnings = verdict.findings.filter((one) => one.level === "warning").length;
    const [text, Icon, color] = broken
      ? [broken, CircleAlert, "var(--bad)"] as const
      : verdict.state === "bad"
      ? [
        t.edit.errorToFixBeforeYou(errors),
        CircleAlert,
        "var(--bad)",
      ] as const
      : verdict.state === "good"
      ? [
        warnings ? t.edit.itCanBeSavedWith(warnings) : t.edit.readyToSave,
        Check,
        "var(--good)",
      ] as const
      : verdict.state === "asking"
      ? [t.edit.validating, Loader, "var(--quiet)"] as const
      : [
        t.edit.theServerDidNotRespond,
        CircleAlert,
        "var(--busy)",
      ] as const;
    return (
      <Group gap="xs" wrap="nowrap" c={color} role="status" px={4}>
        <Icon size={16} aria-hidden style={{ flex: "none" }} />
        <Text size="sm" c="inherit">{text}</Text>
      </Group>
    );
  },
);
