// One line of a review: an icon, a title and a reason.

import { Box, Group, Stack, Text } from "@mantine/core";
import type { LucideIcon } from "lucide-react";
import type { ReactNode } from "react";

type LineProps = {
  icon: LucideIcon;
  /** Outside this installation: marked by colour and text. */
  strong?: boolean;
  children: ReactNode;
  why?: ReactNode;
};

export function Line({ icon: Icon, strong = false, children, why }: LineProps) {
  return (
    <Group gap="xs" wrap="nowrap" align="flex-start" component="li">
      <Icon
        size={15}
        aria-hidden
        style={{
          flex: "none",
          marginTop: 3,
          color: strong ? "var(--busy)" : "var(--quiet)",
        }}
      />
      <Box style={{ minWidth: 0 }} className="wrap-anywhere">
        <Text size="sm" component="div">{children}</Text>
        {why ? <Text size="xs" c="dimmed" component="div">{why}</Text> : null}
      </Box>
    </Group>
  );
}

export function Lines(
  { title, children, none }: { title: string; children: ReactNode[]; none?: string },
) {
  if (!children.length && !none) return null;
  return (
    <Box>
      <Text size="xs" fw={600} c="dimmed" mb={6}>{title}</Text>
      {children.length
        ? (
          <Stack gap={8} component="ul" p={0} m={0} style={{ listStyle: "none" }}>
            {children}
          </Stack>
        )
        : <Text size="sm" c="dimmed">{none}</Text>}
    </Box>
  );
}
