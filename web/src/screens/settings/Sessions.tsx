// The active sessions, and signing them out.

import { Badge, Button, Group } from "@mantine/core";
import { api, client, refresh } from "../../api/client";
import { QueryResult } from "../../kit/QueryResult";
import { useAction } from "../../kit/useAction";
import { escapeInvisible, formatDate, formatRelative } from "../../kit/format";
import { browserName } from "./browsers";
import { Row, Rows } from "./Rows";
import { Section } from "./Section";

export function Sessions() {
  const sessions = api.useQuery("get", "/api/v1/sessions");
  const { busy, act } = useAction();
  const end = (id: string, name: string) =>
    act(async () => {
      await client.DELETE("/api/v1/sessions/{session_id}", {
        params: { path: { session_id: id } },
      });
      await refresh("/api/v1/sessions");
    }, `${name} is signed out.`);
  return (
    <Section
      title="Where you are signed in"
      description="A session ends after 3 days without use, and after 30 days in any case."
    >
      <QueryResult of={sessions}>
        {(found) => (
          <Rows label="Sessions">
            {found.sessions.map((one) => (
              <Row
                key={one.id}
                title={
                  <Group gap="xs">
                    {one.kind === "terminal" ? escapeInvisible(one.label) : browserName(one.label)}
                    {one.kind === "terminal"
                      ? <Badge variant="light" color="gray" tt="none">terminal</Badge>
                      : null}
                    {one.current ? <Badge variant="light" tt="none">this browser</Badge> : null}
                  </Group>
                }
                description={`Since ${formatDate(one.created_at)} · last seen ${
                  formatRelative(one.seen_at)
                } · until ${formatDate(one.expires_at)} at most`}
              >
                {one.current ? null : (
                  <Button
                    size="compact-sm"
                    variant="default"
                    loading={busy}
                    aria-label={`End ${browserName(one.label)}`}
                    onClick={() => void end(one.id, browserName(one.label))}
                  >
                    End
                  </Button>
                )}
              </Row>
            ))}
          </Rows>
        )}
      </QueryResult>
    </Section>
  );
}
