// The empty state: ways to create an automation.

import { Anchor, Button, Code, List } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { Archive, SearchX, Workflow } from "lucide-react";
import { Empty } from "../../kit/Empty";

export function NoneYet() {
  return (
    <Empty
      icon={Workflow}
      title="No automations yet"
      actions={
        <>
          <Button component={Link} to="/new">Describe one in words</Button>
          <Button component={Link} to="/codex" variant="default">
            Start from a recipe
          </Button>
        </>
      }
    >
      Each one rests until somebody has looked at it here and activates it. It is made in one of
      these ways:
      <List size="sm" ta="left" mt="sm" spacing={6}>
        <List.Item>
          <Anchor component={Link} to="/new" size="sm" underline="always">
            Say what should happen
          </Anchor>{" "}
          and read what becomes of it.
        </List.Item>
        <List.Item>
          <Anchor component={Link} to="/codex" size="sm" underline="always">
            Take a recipe
          </Anchor>{" "}
          that somebody has tried, and make it yours.
        </List.Item>
        <List.Item>
          Let an assistant do it over{" "}
          <Anchor component={Link} to="/connect" size="sm" underline="always">
            MCP
          </Anchor>, or save a file: <Code>mainspring save orders.ts</Code>.
        </List.Item>
      </List>
    </Empty>
  );
}

export function NoneFound({ clear }: { clear: () => void }) {
  return (
    <Empty
      icon={SearchX}
      title="Nothing fits"
      actions={<Button variant="default" onClick={clear}>Show all of them</Button>}
    >
      No automation is like that. Search looks at names and goals.
    </Empty>
  );
}

export function NoneArchived() {
  return (
    <Empty icon={Archive} title="Nothing was put away">
      An automation that is archived rests here with all its history, and can be brought back.
    </Empty>
  );
}
