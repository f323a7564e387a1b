// The active sessions, and signing them out.

import { Badge, Button, Group } from "@mantine/core";
import { api, client, refresh } from "../../api/client";
import { QueryResult } from "../../kit/QueryResult";
import { useAction } from "../../kit/useAction";
import { escapeInvisible, formatDate, formatRelative } from "../../kit/format";
import { browserName } from "./browsers";
import { Row, Rows } from "./Rows";
import { Section } from "./Section";
import { t } from "../../strings";

export function Sessions() {
  const sessions = api.useQuery("get", "/api/v1/sessions");
  const { busy, act } = useAction();
  const end = (id: string, name: string) =>
    act(async () => {
      await client.DELETE("/api/v1/sessions/{session_id}", {
        params: { path: { session_id: id } },
      });
      await refresh("/api/v1/sessions");
    }, t.settings.isSignedOut(name));
  return (
    <Section
      title={t.settings.yourSessions}
      description={t.settings.aSessionEndsAfter3}
    >
      <QueryResult of={sessions}>
        {(found) => (
          <Rows label={t.settings.sessions}>
            {found.sessions.map((one) => (
              <Row
                key={one.id}
                title={
                  <Group gap="xs">
                    {one.kind === "terminal" ? escapeInvisible(one.label) : browserName(one.label)}
                    {one.kind === "terminal"
                      ? <Badge variant="light" color="gray" tt="none">{t.settings.terminal}</Badge>
                      : null}
                    {one.current
                      ? <Badge variant="light" tt="none">{t.settings.thisBrowser}</Badge>
                      : null}
                  </Group>
                }
                description={t.settings.sinceLastUsedExpires(
                  formatDate(one.created_at),
                  formatRelative(one.seen_at),
                  formatDate(one.expires_at),
                )}
              >
                {one.current ? null : (
                  <Button
                    size="compact-sm"
                    variant="default"
                    loading={busy}
                    aria-label={t.settings.end2(browserName(one.label))}
                    onClick={() => void end(one.id, browserName(one.label))}
                  >
                    {t.settings.end}
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
