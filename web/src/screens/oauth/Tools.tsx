// The tools of an access level, by name.

import { Badge, Box, Button, Collapse, Group, ScrollArea, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { ChevronDown } from "lucide-react";
import type { Role } from "../../api/session";
import { escapeInvisible } from "../../kit/format";
import { type Tool, toolsFor } from "./consentText";
import { t } from "../../strings";

export function Tools({ tools, role }: { tools: readonly Tool[]; role: Role }) {
  const [open, { toggle }] = useDisclosure(false);
  const offered = toolsFor(tools, role);
  const changing = offered.filter((tool) => tool.effect !== "read").length;
  return (
    <Box>
      <Button
        variant="subtle"
        size="compact-sm"
        px={0}
        onClick={toggle}
        aria-expanded={open}
        rightSection={
          <ChevronDown
            size={14}
            style={{ transform: open ? "rotate(180deg)" : undefined }}
          />
        }
      >
        {t.counts.tools(offered.length)}
        {changing ? t.oauth.ofWhichMakeChanges(changing) : t.oauth.noneOfWhichMakesChanges}
      </Button>
      <Collapse expanded={open}>
        <ScrollArea.Autosize mah={260} mt="xs" type="auto" viewportProps={{ tabIndex: 0 }}>
          <Stack gap={6} component="ul" p={0} m={0} style={{ listStyle: "none" }}>
            {offered.map((tool) => (
              <Group
                key={tool.id}
                component="li"
                gap="xs"
                wrap="nowrap"
                justify="space-between"
              >
                <Text size="sm" className="wrap-anywhere">
                  {escapeInvisible(tool.label)} <span className="mono">{tool.id}</span>
                </Text>
                <Mark tool={tool} />
              </Group>
            ))}
          </Stack>
        </ScrollArea.Autosize>
      </Collapse>
    </Box>
  );
}

function Mark({ tool }: { tool: Tool }) {
  if (tool.effect === "read") return null;
  return (
    <Badge
      size="sm"
      radius="sm"
      tt="none"
      variant="light"
      color={tool.confirmation ? "teal" : "yellow"}
      miw="fit-content"
    >
      {tool.confirmation ? t.oauth.createsADraftFirst : t.oauth.makesChanges}
    </Badge>
  );
}
