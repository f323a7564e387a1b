// Connecting a model: its API dialect, its URL and its key.

import {
  Alert,
  Button,
  Group,
  Modal,
  PasswordInput,
  Select,
  Stack,
  TagsInput,
  TextInput,
} from "@mantine/core";
import { CircleCheck, TriangleAlert } from "lucide-react";
import { useEffect, useState } from "react";
import { client, refresh } from "../../api/client";
import { byPointer, Problem, sentence } from "../../api/problem";
import { ProblemNote } from "../../kit/QueryResult";
import { distributeErrors } from "../../kit/formErrors";
import type { Connection } from "./Models";
import { t } from "../../strings";

const KINDS = [
  { value: "anthropic", label: t.models.anthropic },
  { value: "openai", label: t.models.openai },
  { value: "groq", label: t.models.groq },
  { value: "compatible", label: t.models.openaiCompatibleServerOllamaVllm },
];
type ConnectInput = {
  name: string;
  kind: string;
  base_url: string;
  key: string;
  models: string[];
  usual_model: string;
};
const EMPTY: ConnectInput = {
  name: "anthropic",
  kind: "anthropic",
  base_url: "",
  key: "",
  models: [],
  usual_model: "",
};

type Props = { opened: boolean; onClose: () => void; changed: Connection | null };

export function ConnectForm({ opened, onClose, changed }: Props) {
  const [given, setGiven] = useState(EMPTY);
  const [problem, setProblem] = useState<unknown>(null);
  const [tested, setTested] = useState<{ works: boolean; detail: string } | null>(null);
  const [busy, setBusy] = useState(false);
  useEffect(() => {
    setProblem(null);
    setTested(null);
    setGiven(changed ? asGiven(changed) : EMPTY);
  }, [opened, changed]);
  const change = (more: Partial<ConnectInput>) => setGiven((before) => ({ ...before, ...more }));
  const errors = problem instanceof Problem ? byPointer(problem.findings) : {};
  const { rest } = distributeErrors(problem, ["name", "base_url", "key", "usual_model"]);
  const submit = async (event: React.FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setProblem(null);
    try {
      await connect(given);
      setTested(await tryOut(given.name));
    } catch (refusal) {
      setProblem(refusal);
    } finally {
      setBusy(false);
    }
  };
  const isOwn = given.kind === "compatible";
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      title={changed ? t.models.change(changed.name) : t.models.connectAModel}
      centered
      size="lg"
    >
      <form onSubmit={(event) => void submit(event)}>
        <Stack>
          <Select
            label={t.models.provider}
            data={KINDS}
            value={given.kind}
            allowDeselect={false}
            disabled={changed !== null}
            onChange={(kind) =>
              kind && change({ kind, name: kind === "compatible" ? "local" : kind })}
          />
          <TextInput
            label={t.models.name}
            required
            disabled={changed !== null}
            value={given.name}
            error={errors["/name"]}
            description={t.models.definitionsReferToModelsAs}
            onChange={(event) => change({ name: event.currentTarget.value })}
          />
          {isOwn || given.base_url
            ? (
              <TextInput
                label={t.models.address}
                required={isOwn}
                placeholder="http://127.0.0.1:11434/v1"
                value={given.base_url}
                error={errors["/base_url"]}
                onChange={(event) => change({ base_url: event.currentTarget.value })}
              />
            )
            : null}
          <PasswordInput
            label={t.models.apiKey}
            required={!isOwn && !changed}
            value={given.key}
            error={errors["/key"]}
            autoComplete="new-password"
            description={changed?.has_key
              ? t.models.leaveItEmptyToKeep
              : t.models.encryptedAndNeverShownAgain}
            onChange={(event) => change({ key: event.currentTarget.value })}
          />
          {isOwn
            ? (
              <TagsInput
                label={t.models.models}
                description={t.models.modelNamesEmptyAllModels}
                value={given.models}
                onChange={(models) => change({ models })}
              />
            )
            : null}
          <TextInput
            label={t.models.defaultModel}
            description={t.models.usedWhenNoModelIs}
            value={given.usual_model}
            error={errors["/usual_model"]}
            onChange={(event) => change({ usual_model: event.currentTarget.value })}
          />
          {rest ? <ProblemNote problem={rest} /> : null}
          {tested
            ? (
              <Alert
                role="status"
                variant="light"
                color={tested.works ? "teal" : "yellow"}
                icon={tested.works ? <CircleCheck size={16} /> : <TriangleAlert size={16} />}
              >
                {tested.detail}
              </Alert>
            )
            : null}
          <Group justify="flex-end" gap="xs">
            <Button variant="default" onClick={onClose}>
              {tested ? t.models.close : t.models.cancel}
            </Button>
            <Button type="submit" loading={busy}>{t.models.saveAndTest}</Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

const asGiven = (one: Connection): ConnectInput => ({
  name: one.name,
  kind: one.kind,
  base_url: one.base_url ?? "",
  key: "",
  models: one.models,
  usual_model: one.usual_model ?? "",
});

async function connect(
  { name, kind, base_url, key, models, usual_model }: ConnectInput,
): Promise<void> {
  await client.PUT("/api/v1/models/connections/{name}", {
    params: { path: { name } },
    body: {
      kind: kind as Connection["kind"],
      ...(base_url ? { base_url } : {}),
      ...(key ? { key } : {}),
      ...(models.length ? { models } : {}),
      ...(usual_model ? { usual_model } : {}),
    },
  });
  await refresh("/api/v1/models");
}

/** A connection that does not answer is saved: its server may be started later. */
async function tryOut(name: string): Promise<{ works: boolean; detail: string }> {
  try {
    const { data } = await client.POST("/api/v1/models/connections/{name}/test", {
      params: { path: { name } },
      body: {},
    });
    return data ?? { works: false, detail: t.models.noResponse };
  } catch (problem) {
    return { works: false, detail: sentence(problem) };
  }
}
