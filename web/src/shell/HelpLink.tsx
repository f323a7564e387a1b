// The link to the documentation of this screen, with the version of the server.

import { Group, Text, UnstyledButton, VisuallyHidden } from "@mantine/core";
import { CircleHelp } from "lucide-react";
import { t } from "../strings";
import { helpPage } from "./helpPages";

const version = document.querySelector<HTMLMetaElement>("meta[name=version]")?.content ?? "";

export function HelpLink({ path }: { path: string }) {
  return (
    <UnstyledButton
      component="a"
      href={helpPage(path)}
      target="_blank"
      rel="noopener"
      w="100%"
      px="xs"
      py={4}
    >
      <Group gap="xs" justify="space-between" wrap="nowrap">
        <Group gap="xs" wrap="nowrap">
          <CircleHelp size={16} aria-hidden /> <Text size="sm">{t.shell.help}</Text>
        </Group>
        <Text size="xs" c="dimmed">{version}</Text>
      </Group>
      <VisuallyHidden>{t.shell.opensInANewTab}</VisuallyHidden>
    </UnstyledButton>
  );
}
