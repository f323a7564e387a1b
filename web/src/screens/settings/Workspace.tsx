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
    notifyDone("The workspace was saved.");
    await refresh("/api/v1/session", "/api/v1/workspaces");
  };
  return (
    <Section
      title="This workspace"
      description={mayOwn
        ? "The cap is for all automations together, for one day in UTC. No call that would cross it is made."
        : "Only an owner changes it."}
    >
      <form onSubmit={(event) => void submit(event)}>
        <Stack>
          {refusal.rest ? <ProblemNote problem={refusal.rest} /> : null}
          <TextInput
            label="Name"
            required
            maxLength={200}
            readOnly={!mayOwn}
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
            error={refusal.at("name")}
          />
          <NumberInput
            label="Daily cap in USD"
            placeholder="none"
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
                <Button type="submit" variant="default" loading={busy}>Save</Button>
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
      title="Your workspaces"
      description="Each keeps its own automations, boards, members and money."
    >
      <Stack>
        <Rows label="Workspaces">
          {who.workspaces.map((one) => (
            <Row
              key={one.id}
              title={
                <Group gap="xs">
                  {escapeInvisible(one.name)}
                  {one.id === who.workspace.id
                    ? <Badge variant="light" tt="none">you are here</Badge>
                    : null}
                </Group>
              }
              description={`${capitalize(one.role)} · since ${formatDate(one.created_at)}${
                one.cost_cap_daily_usd === null
                  ? ""
                  : ` · at most ${formatUsd(one.cost_cap_daily_usd)} a day`
              }`}
            >
              {one.id === who.workspace.id ? null : (
                <Button
                  size="compact-sm"
                  variant="default"
                  loading={busy}
                  aria-label={`Look at it: ${one.name}`}
                  onClick={() => void look(one.id)}
                >
                  Look at it
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
      notifyDone(`${data!.name} is made, and you are in it.`);
      await onMade(data!.id);
    });
  };
  return (
    <form onSubmit={submit}>
      {refusal.rest ? <ProblemNote problem={refusal.rest} /> : null}
      <Group align="flex-start" gap="sm">
        <TextInput
          flex="1 1 14rem"
          label="Make another"
          placeholder="Lab"
          required
          maxLength={200}
          autoComplete="off"
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          error={refusal.at("name")}
        />
        <Button type="submit" variant="default" loading={busy} mt={{ base: 0, xs: 25 }}>
          Make workspace
        </Button>
      </Group>
    </form>
  );
}
