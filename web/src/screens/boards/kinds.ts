// What a board can be linked to: the adapters of the integrations, as the server describes them.

import { api } from "../../api/client";
import type { Integration } from "../integrations/states";

export type LinkKind = Integration["adapters"][number] & {
  /** The name under which its connection is asked for. */
  source: string;
};

/** Every adapter of every integration, those of third-party plug-ins included. */
export function linkKinds(integrations: Pick<Integration, "name" | "adapters">[]): LinkKind[] {
  return integrations
    .flatMap(({ name, adapters }) => adapters.map((one) => ({ ...one, source: name })))
    .sort((one, other) => one.label.localeCompare(other.label));
}

export function useLinkKinds(): LinkKind[] {
  const { data } = api.useQuery("get", "/api/v1/integrations");
  return linkKinds(data?.integrations ?? []);
}

/** What a form shows of the arguments that a reading starts with. */
export function sampleText(sample: Record<string, unknown> | undefined): string {
  return sample && Object.keys(sample).length ? JSON.stringify(sample) : "";
}

/** What a link points at, in one line. */
export function refWords(ref: Record<string, unknown>): string {
  if (typeof ref.url === "string") return ref.url;
  if (ref.owner && ref.repo) return `${ref.owner}/${ref.repo}`;
  const values = Object.values(ref).filter((one) => typeof one !== "object");
  return values.map(String).join(" ");
}
