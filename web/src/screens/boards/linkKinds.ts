// What a board can be linked to: the adapters of the integrations, as the server describes them.

import { api } from "../../api/client";
import type { Integration } from "../integrations/states";

export type LinkKind = Integration["adapters"][number] & {
  /** The integration that provides its connection. */
  source: string;
};

/** The adapters of all integrations, including third-party plug-ins. */
export function linkKinds(integrations: Pick<Integration, "name" | "adapters">[]): LinkKind[] {
  return integrations
    .flatMap(({ name, adapters }) => adapters.map((one) => ({ ...one, source: name })))
    .sort((one, other) => one.label.localeCompare(other.label));
}

export function useLinkKinds(): LinkKind[] {
  const { data } = api.useQuery("get", "/api/v1/integrations");
  return linkKinds(data?.integrations ?? []);
}

/** The initial arguments of a read operation, as form text. */
export function sampleText(sample: Record<string, unknown> | undefined): string {
  return sample && Object.keys(sample).length ? JSON.stringify(sample) : "";
}

/** The target of a link, in one line. */
export function describeTarget(ref: Record<string, unknown>): string {
  if (typeof ref.url === "string") return ref.url;
  if (ref.owner && ref.repo) return `${ref.owner}/${ref.repo}`;
  const values = Object.values(ref).filter((one) => typeof one !== "object");
  return values.map(String).join(" ");
}
