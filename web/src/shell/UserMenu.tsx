// The user menu: workspace switcher, settings, theme, and sign-out.

import {
  Avatar,
  Box,
  Group,
  Menu,
  Text,
  UnstyledButton,
  useMantineColorScheme,
} from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { Check, ChevronsUpDown, LogOut, Monitor, Moon, Settings, Sun } from "lucide-react";
import { client, setCsrf } from "../api/client";
import { unsubscribe } from "../api/push";
import { isUnnamed, useSession } from "../api/session";
import { useAction } from "../kit/useAction";
import { switchWorkspace } from "./switchWorkspace";
import { clearAll } from "../kit/unsentInput";
import { escapeInvisible } from "../kit/format";
import { t } from "../strings";

const SCHEMES = [
  { value: "light", label: t.shell.light, icon: Sun },
  { value: "dark", label: t.shell.dark, icon: Moon },
  { value: "auto", label: t.shell.systemDefault, icon: Monitor },
] as const;

export function UserMenu() {
  const who = useSession();
  const navigate = useNavigate();
  const { act } = useAction();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const name = isUnnamed(who.user) ? t.shell.owner : who.user.name || who.user.email;
  const look = (id: string) => act(() => switchWorkspace(id, () => navigate({ to: "/" })));
  const leave = () =>
    act(async () => {
      await client.DELETE("/api/v1/session");
      await unsubscribe();
      setCsrf(null);
      clearAll();
      location.replace("/sign-in");
    });
  return (
    <Menu width={250} position="top-start" shadow="md">
      <Menu.Target>
        <UnstyledButton w="100%" p="xs">
          <Group wrap="nowrap" gap="sm">
            <Avatar size={32} radius="xl" color="spring" name={name} />
            <Box flex={1} style={{ minWidth: 0 }}>
              <Text size="sm" fw={600} truncate>{escapeInvisible(who.workspace.name)}</Text>
              <Text size="xs" c="dimmed" truncate>
                {isUnnamed(who.user) ? name : `${name} · ${who.role}`}
              </Text>
            </Box>
            <ChevronsUpDown size={15} aria-hidden />
          </Group>
        </UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>{t.shell.workspaces}</Menu.Label>
        {who.workspaces.map((one) => (
          <Menu.Item
            key={one.id}
            onClick={() => one.id !== who.workspace.id && void look(one.id)}
            rightSection={one.id === who.workspace.id
              ? <Check size={14} aria-label={t.shell.thisOne} />
              : null}
          >
            {escapeInvisible(one.name)}
          </Menu.Item>
        ))}
        <Menu.Divider />
        <Menu.Label>{t.shell.appearance}</Menu.Label>
        {SCHEMES.map(({ value, label, icon: Icon }) => (
          <Menu.Item
            key={value}
            leftSection={<Icon size={14} />}
            onClick={() => setColorScheme(value)}
            rightSection={colorScheme === value
              ? <Check size={14} aria-label={t.shell.selected} />
              : null}
          >
            {label}
          </Menu.Item>
        ))}
        <Menu.Divider />
        <Menu.Item
          leftSection={<Settings size={14} />}
          onClick={() => void navigate({ to: "/settings" })}
        >
          {t.shell.settings}
        </Menu.Item>
        <Menu.Item leftSection={<LogOut size={14} />} onClick={() => void leave()}>
          {t.shell.signOut}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
