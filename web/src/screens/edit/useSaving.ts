// Saving a version, and the result: saved, saved pending consent, or a conflict.

import { useState } from "react";
import { client, refresh, type Schemas } from "../../api/client";
import { Problem } from "../../api/problem";
import type { Json } from "../../form/values";
import { t } from "../../strings";

export type Saved = Schemas["SavedShape"];
export type Clash = {
  version: Schemas["VersionSummary"] | undefined;
  /** The author's name, if the user is allowed to see it. */
  by: string;
  definition: unknown;
};

async function nameOf(id: string | undefined): Promise<string> {
  const members = await client.GET("/api/v1/members").catch(() => null);
  const found = members?.data?.members.find((one) => one.id === id);
  return found?.name || found?.email || t.edit.someoneElse;
}

async function clashOf(automation_id: string): Promise<Clash> {
  const path = { path: { automation_id } };
  const [automation, versions] = await Promise.all([
    client.GET("/api/v1/automations/{automation_id}", { params: path }),
    client.GET("/api/v1/automations/{automation_id}/versions", { params: path }),
  ]);
  const version = versions.data?.items.find((one) => one.in_force);
  return {
    version,
    by: await nameOf(version?.author),
    definition: automation.data?.definition,
  };
}

async function saveVersion(
  automation_id: string,
  version: number,
  definition: Json,
): Promise<Saved> {
  const { data } = await client.PUT("/api/v1/automations/{automation_id}", {
    params: { path: { automation_id }, header: { "if-match": `"${version}"` } },
    body: definition,
  });
  return data!;
}

export function useSaving(automationId: string | undefined) {
  const [busy, setBusy] = useState(false);
  const [saved, setSaved] = useState<Saved | null>(null);
  const [clash, setClash] = useState<Clash | null>(null);
  const [problem, setProblem] = useState<unknown>(null);
  const save = async (definition: Json, version: number): Promise<Saved | null> => {
    setBusy(true);
    setProblem(null);
    setClash(null);
    try {
      const made = automationId
        ? await saveVersion(automationId, version, definition)
        : (await client.POST("/api/v1/automations", { body: definition })).data!;
      setSaved(made);
      void refresh("/api/v1/automations", "/api/v1/consents");
      return made;
    } catch (error) {
      const isClash = error instanceof Problem &&
        (error.status === 409 || error.status === 412);
      if (isClash && automationId && error.code !== "name_taken") {
        setClash(
          await clashOf(automationId).catch(() => ({
            version: undefined,
            by: "",
            definition: undefined,
          })),
        );
      }
      setProblem(error);
      return null;
    } finally {
      setBusy(false);
    }
  };
  const forget = () => {
    setClash(null);
    setProblem(null);
  };
  return { busy, saved, clash, problem, save, forget };
}
