// The home screen: a welcome for a new installation, later the inbox, recent runs and next runs.

import { Button, Stack } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { useState } from "react";
import { api } from "../../api/client";
import { isUnnamed, useHasRole, useSession } from "../../api/session";
import { QueryResult } from "../../kit/QueryResult";
import { CopyAs } from "../../kit/Copy";
import { PageHead } from "../../kit/PageHead";
import { Checklist } from "./Checklist";
import { hasLooked, hide, isHidden } from "./firstSteps";
import { type Automation, isNew, type Run, type Task, tasksOf } from "./homeSummary";
import { Overview } from "./Overview";
import { Welcome } from "./Welcome";
import { t } from "../../strings";

const MANY = 100;

export default function Home() {
  const automations = api.useQuery("get", "/api/v1/automations", {
    params: { query: { limit: MANY } },
  });
  const runs = api.useQuery("get", "/api/v1/runs", { params: { query: { limit: MANY } } });
  return (
    <QueryResult of={automations} lines={6}>
      {(made) => (
        <QueryResult of={runs} lines={6}>
          {(ran) => <Known automations={made.items} runs={ran.items} />}
        </QueryResult>
      )}
    </QueryResult>
  );
}

/** Whether something external is connected: a model, or an account. */
function useConnectedOnce(): boolean {
  const models = api.useQuery("get", "/api/v1/models");
  const integrations = api.useQuery("get", "/api/v1/integrations", {});
  const accounts = integrations.data?.integrations.some((one) => one.connection !== null) ??
    false;
  return (models.data?.connections.length ?? 0) > 0 || accounts;
}

function Known({ automations, runs }: { automations: Automation[]; runs: Run[] }) {
  const who = useSession();
  const connected = useConnectedOnce();
  const tasks = tasksOf({
    named: !isUnnamed(who.user) && who.user.has_password,
    automations: automations.length,
    runs: runs.length,
    looked: hasLooked(who.workspace.id),
    connected,
  });
  const mayWrite = useHasRole("editor");
  const name = isUnnamed(who.user) ? "" : who.user.name || who.user.email;
  if (mayWrite && automations.length === 0) {
    return (
      <>
        <PageHead
          title={name ? t.home.welcome(name) : t.home.welcome2}
          sub={t.home.whatDoYouWantTo}
        />
        <Welcome tasks={tasks} />
      </>
    );
  }
  return (
    <>
      <PageHead
        title={name ? t.home.hello(name) : t.home.hello2}
        sub={who.workspace.name}
        right={
          <>
            {mayWrite
              ? (
                <Button component={Link} to="/new" leftSection={<Plus size={16} />}>
                  {t.home.newAutomation}
                </Button>
              )
              : null}
            <CopyAs
              operations={[
                {
                  label: t.home.listRuns,
                  operation: {
                    method: "GET",
                    path: "/api/v1/runs",
                    tool: "list_runs",
                  },
                },
                {
                  label: t.home.listAutomations,
                  operation: { method: "GET", path: "/api/v1/automations" },
                },
              ]}
            />
          </>
        }
      />
      <Stack>
        <FirstSteps tasks={tasks} />
        <Overview automations={automations} runs={runs} />
      </Stack>
    </>
  );
}

/** The remaining first steps, until they are done or dismissed. */
function FirstSteps({ tasks }: { tasks: Task[] }) {
  const { workspace } = useSession();
  const mayWrite = useHasRole("editor");
  const [hidden, setHidden] = useState(() => isHidden(workspace.id));
  if (!mayWrite || hidden || tasks.every((one) => one.done)) return null;
  const close = () => {
    hide(workspace.id);
    setHidden(true);
  };
  return <Checklist tasks={tasks} wide onHide={isNew(tasks) ? undefined : close} />;
}
