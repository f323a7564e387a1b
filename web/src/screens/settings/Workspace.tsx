// The workspace: its name, its daily cap, other workspaces, and the export.

import { Badge, Button, Group, NumberInput, Stack, TextInput } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { client, refresh } from "../../api/client";
import { useHasRole, useSession } from "../../api/session";
import { ProblemNote } from "../../kit/QueryResult";
import { notifyDone, useAction } from "../../kit/useAction";
import { useSubmit } from "../../kit/formErrors";
import { capitalize, escapeInvisible, formatDate, formatUsd } from "../../kit/format";
import { switchWorkspace } from "../../shell/switchWorkspace";
import { Row, Rows } from "./Rows";
import { Section, Sections } from "./Section";
import { ExportSection, ImportSection } from "./Files";
import { t } from "../../strings";

export function Workspace() {
  const mayEdit = useHasRole("editor");
  return (
    <Sections>
      <Details />
      <Others />
      <ExportSection />
      {mayEdit ? <ImportSection /> : null}
    </Sections>
  );
}

function Details() {
  const { workspace } = useSession();
  const mayOwn = useHasRole("owner");
  const [name, setName] = useState(workspace.name);
  const [cap, setCap] = useState<string | number>(workspace.cost_cap_daily_usd ?? "");
  const { busy, refusal, send } = useSubmit("name", "cost_cap_daily_usd");
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const done = await send(() =>
      client.PATCH("/api/v1/workspaces/{workspace_id}", {
        params: { path: { workspace_id: workspace.id } },
        body: { name: name.trim(), cost_cap_daily_usd: cap === "" ? null : cap },
      })
    );
    if (!done) return;
    notifyDone(t.settings.theWorkspaceWasSaved);
    await refresh("/api/v1/session", "/api/v1/workspaces");
  };
  return (
    <Section
      title={t.settings.thisWorkspace}
      description={mayOwn ? t.settings.theLimitAppliesToAll : t.settings.onlyAnOwnerCanChange}
    >
      <form onSubmit={(event) => void submit(event)}>
        <Stack>
          {refusal.rest ? <ProblemNote problem={refusal.rest} /> : null}
          <TextInput
            label={t.settings.name}
            required
            maxLength={200}
            readOnly={!mayOwn}
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
            error={refusal.at("name")}
          />
          <NumberInput
            label={t.settings.dailyLimitInUsd}
            placeholder={t.settings.none}
            min={0}
            decimalScale={4}
            hideControls
            readOnly={!mayOwn}
            value={cap}
            onChange={setCap}
            error={refusal.at("cost_cap_daily_usd")}
          />
          {mayOwn
            ? (
              <Group>
                <Button type="submit" variant="default" loading={busy}>{t.settings.save}</Button>
              </Group>
            )
            : null}
        </Stack>
      </form>
    </Section>
  );
}

function Others() {
  const who = useSession();
  const navigate = useNavigate();
  const { busy, act } = useAction();
  const look = (id: string) => act(() => switchWorkspace(id, () => navigate({ to: "/" })));
  return (
    <Section
      title={t.settings.yourWorkspaces}
      description={t.settings.eachHasItsOwnAutomations}
    >
      <Stack>
        <Rows label={t.settings.workspaces}>
          {who.workspaces.map((one) => (
            <Row
              key={one.id}
              title={
                <Group gap="xs">
                  {escapeInvisible(one.name)}
                  {one.id === who.workspace.id
                    ? <Badge variant="light" tt="none">{t.settings.current}</Badge>
                    : null}
                </Group>
              }
              description={t.settings.since3(
                capitalize(one.role),
                formatDate(one.created_at),
                one.cost_cap_daily_usd === null
                  ? ""
                  : t.settings.atMostPerDay(formatUsd(one.cost_cap_daily_usd)),
              )}
            >
              {one.id === who.workspace.id ? null : (
                <Button
                  size="compact-sm"
                  variant="default"
                  loading={busy}
                  aria-label={t.settings.switchTo(one.name)}
                  onClick={() => void look(one.id)}
                >
                  {t.settings.switch}
                </Button>
              )}
            </Row>
          ))}
        </Rows>
        <Another onMade={look} />
      </Stack>
    </Section>
  );
}

function Another({ onMade }: { onMade: (id: string) => Promise<boolean> }) {
  const [name, setName] = useState("");
  const { busy, refusal, send } = useSubmit("name");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void send(async () => {
      const { data } = await client.POST("/api/v1/workspaces", {
        body: { name: name.trim() },
      });
      notifyDone(t.settings.isCreatedYouAreIn(data!.name));
      await onMade(data!.id);
    });
  };
  return (
    <form onSubmit={submit}>
      {refusal.rest ? <ProblemNote problem={refusal.rest} /> : null}
      <Group align="flex-start" gap="sm">
        <TextInput
          flex="1 1 14rem"
          label={t.settings.newWorkspace}
          placeholder="Lab"
          required
          maxLength={200}
          autoComplete="off"
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          error={refusal.at("name")}
        />
        <Button type="submit" variant="default" loading={busy} mt={{ base: 0, xs: 25 }}>
          {t.settings.createWorkspace}
        </Button>
      </Group>
    </form>
  );
}
