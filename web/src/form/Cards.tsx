// A collapsible card for a step or a trigger, with a menu and a badge for its findings.

import { Badge, Box, Group, Paper, Text, UnstyledButton } from "@mantine/core";
import { ChevronDown, ChevronRight } from "lucide-react";
import type { ReactNode } from "react";
import { useFormContext } from "./formContext";
import { useFindings } from "./findings";
import { useCollapsible } from "./focus";
import { type ItemActions, ItemMenu } from "./List";
import { FindingMessages } from "./Frame";
import { t } from "../strings";

type Props = {
  at: string;
  title: string;
  sub?: ReactNode;
  icon?: ReactNode;
  moves: ItemActions;
  what: string;
  openAtFirst: boolean;
  children: () => ReactNode;
};

function Count({ at }: { at: string }) {
  const findings = useFindings(at, true);
  const errors = findings.filter((one) => one.level === "error").length;
  const others = findings.filter((one) => one.level === "warning").length;
  if (errors) {
    return <Badge color="red" variant="light" tt="none">{t.counts.problems(errors)}</Badge>;
  }
  return others
    ? <Badge color="yellow" variant="light" tt="none">{t.counts.warnings(others)}</Badge>
    : null;
}

export function FoldCard({ at, title, sub, icon, moves, what, openAtFirst, children }: Props) {
  const form = useFormContext();
  const [isOpen, setOpen] = useCollapsible(at, openAtFirst);
  const own = useFindings(at, false);
  return (
    <Paper withBorder radius="md" p="sm" className="fold-card" data-pointer={at}>
      <Group gap="xs" wrap="nowrap" justify="space-between">
        <UnstyledButton
          onClick={() => setOpen(!isOpen)}
          aria-expanded={isOpen}
          style={{ flex: 1, minWidth: 0 }}
        >
          <Group gap="xs" wrap="nowrap">
            {isOpen
              ? <ChevronDown size={15} aria-hidden className="still" />
              : <ChevronRight size={15} aria-hidden className="still" />}
            {icon}
            <Box style={{ minWidth: 0 }}>
              <Text fw={600} size="sm" lineClamp={2}>{title}</Text>
              {sub ? <Text size="xs" c="dimmed" truncate component="div">{sub}</Text> : null}
            </Box>
          </Group>
        </UnstyledButton>
        <Group gap={4} wrap="nowrap">
          <Count at={at} />
          {form.readOnly ? null : <ItemMenu moves={moves} what={what} at={at} />}
        </Group>
      </Group>
      <FindingMessages findings={own} />
      {isOpen ? <div className="card-body">{children()}</div> : null}
    </Paper>
  );
}
