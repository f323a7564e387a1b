// The side menu.

import { Badge, Box, Button, NavLink, ScrollArea, Stack, Text } from "@mantine/core";
import { Link, useRouterState } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { isAtLeast, useHasRole, useSession } from "../api/session";
import { GROUPS, type NavigationEntry } from "./navigation";
import { useWaitingCount } from "./useWaitingCount";
import { escapeInvisible } from "../kit/format";
import { t } from "../strings";

const isHere = (path: string, to: string) =>
  to === "/" ? path === "/" : path === to || path.startsWith(`${to}/`);

export function SideMenu({ onGo }: { onGo: () => void }) {
  const path = useRouterState({ select: (state) => state.location.pathname });
  const waiting = useWaitingCount();
  const who = useSession();
  const mayWrite = useHasRole("editor");
  const entry = ({ to, label, icon: Icon }: NavigationEntry) => (
    <NavLink
      key={to}
      component={Link}
      to={to}
      onClick={onGo}
      label={label}
      active={isHere(path, to)}
      aria-current={isHere(path, to) ? "page" : undefined}
      leftSection={<Icon size={17} strokeWidth={1.8} aria-hidden />}
      rightSection={to === "/inbox" && waiting.all
        ? (
          <Badge size="sm" circle={waiting.all < 10} aria-label={t.shell.waiting(waiting.all)}>
            {waiting.all < 1_000 ? waiting.all : "999+"}
          </Badge>
        )
        : null}
      py={6}
    />
  );
  return (
    <>
      {mayWrite
        ? (
          <Button
            component={Link}
            to="/new"
            onClick={onGo}
            leftSection={<Plus size={16} />}
            fullWidth
            mb="sm"
          >
            {t.shell.newAutomation}
          </Button>
        )
        : null}
      <ScrollArea flex={1} type="hover" scrollbarSize={8}>
        <Stack gap="md" component="nav" aria-label={t.shell.screens}>
          {GROUPS.map((group) => (
            <Box key={group.label ?? "first"}>
              {group.label
                ? (
                  <Text size="xs" c="dimmed" fw={600} px="sm" pb={4}>
                    {escapeInvisible(group.label)}
                  </Text>
                )
                : null}
              {group.places.filter((one) => isAtLeast(who, one.least ?? "viewer")).map(entry)}
            </Box>
          ))}
        </Stack>
      </ScrollArea>
    </>
  );
}
