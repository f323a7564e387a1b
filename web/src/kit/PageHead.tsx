// The header of every screen: breadcrumbs, title and actions.

import { Anchor, Box, Group, Text, Title } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { ChevronLeft } from "lucide-react";
import { type ReactNode, useEffect } from "react";
import { escapeInvisible } from "./format";

type Props = {
  title: string;
  /** Badges next to the title. */
  beside?: ReactNode;
  sub?: ReactNode;
  right?: ReactNode;
  back?: { to: string; label: string };
};

export function PageHead({ title, beside, sub, right, back }: Props) {
  const shown = escapeInvisible(title);
  useEffect(() => {
    document.title = `${shown} · Mainspring`;
  }, [shown]);
  return (
    <Box mb="lg" component="header">
      {back
        ? (
          <Anchor
            component={Link}
            to={back.to}
            size="sm"
            c="dimmed"
            mb={4}
            display="inline-block"
          >
            <Group gap={2} component="span">
              <ChevronLeft size={14} aria-hidden /> {escapeInvisible(back.label)}
            </Group>
          </Anchor>
        )
        : null}
      <Group justify="space-between" align="flex-start" gap="md">
        <Box style={{ minWidth: 0, flex: "1 1 20rem" }}>
          <Group gap="sm" align="center">
            <Title order={1} size="h2" className="wrap-anywhere">{shown}</Title>
            {beside}
          </Group>
          {sub ? <Text c="dimmed" size="sm" mt={4} component="div">{sub}</Text> : null}
        </Box>
        {right ? <Group gap="xs">{right}</Group> : null}
      </Group>
    </Box>
  );
}
