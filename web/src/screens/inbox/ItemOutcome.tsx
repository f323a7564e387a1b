// The outcome of an answered or expired item.

import { Alert, Button, Group, Stack, Text } from "@mantine/core";
import { RotateCcw } from "lucide-react";
import { api } from "../../api/client";
import { useHasRole } from "../../api/session";
import { useAction } from "../../kit/useAction";
import { useUrlState } from "../../kit/urlState";
import { Json } from "../../kit/Json";
import { Status } from "../../kit/Status";
import { escapeInvisible, formatDateTime, formatRelative } from "../../kit/format";
import { redraft } from "./answers";
import { describeDraftOutcome, type Draft } from "./items";
import { t } from "../../strings";

/** The name of a member; former members have none. */
export function useNameOf(): (id: string | null | undefined) => string {
  const query = api.useQuery("get", "/api/v1/members", {}, { staleTime: 60_000 });
  const members = query.data?.members ?? [];
  return (id) => {
    const found = members.find((one) => one.id === id);
    return found ? found.name || found.email : t.inbox.someone;
  };
}

const MAY_AGAIN = new Set(["expired", "discarded", "failed"]);

function describeOutcome(draft: Draft, nameOf: (id: string | null) => string): string {
  if (draft.status === "expired") {
    return t.inbox.nobodyAnsweredInTimeIt(formatRelative(draft.expires_at));
  }
  if (!draft.answered_at) return "";
  const when = `${formatRelative(draft.answered_at)} (${formatDateTime(draft.answered_at)})`;
  if (draft.answered_kind === "step") return t.inbox.sentAutomaticallyAsAgreed(when);
  if (draft.answered_kind === "rule") return t.inbox.sentByAStandingRule(when);
  const name = draft.answered_kind === "run" ? t.inbox.itsRun : nameOf(draft.answered_by);
  const verb = draft.status === "discarded" ? "discarded" : "approved";
  const how = draft.answered_kind === "client" ? t.inbox.withAProgram : "";
  return t.inbox.discardedBy(verb === "discarded", name, how, when);
}

export function ItemOutcome({ draft }: { draft: Draft }) {
  const nameOf = useNameOf();
  const detail = (draft.error as { detail?: string } | null)?.detail;
  const may = useHasRole("operator");
  const mayAgain = may && MAY_AGAIN.has(draft.status) &&
    draft.outcome !== "unknown" && draft.outcome !== "sent";
  const tone = draft.status === "confirmed" ? "sent" : draft.status;
  return (
    <Stack gap="sm">
      <Group gap="xs">
        <Status value={tone} label={describeDraftOutcome(draft)} />
        <Text size="sm" className="wrap-anywhere" style={{ flex: "1 1 14rem" }}>
          {escapeInvisible(describeOutcome(draft, nameOf))}
        </Text>
      </Group>
      {draft.reason
        ? (
          <Text size="sm" className="wrap-anywhere">
            {t.inbox.reason2(escapeInvisible(draft.reason))}
          </Text>
        )
        : null}
      {detail ? <Alert color="red">{escapeInvisible(detail)}</Alert> : null}
      {draft.outcome === "unknown" ? <Text size="sm">{t.inbox.itMayHaveBeenSent}</Text> : null}
      {draft.result !== null && draft.result !== undefined
        ? (
          <details>
            <summary>
              <Text span size="sm" c="dimmed">{t.inbox.responseOfTheService}</Text>
            </summary>
            <Json value={draft.result} label={t.inbox.responseOfTheService} />
          </details>
        )
        : null}
      {mayAgain ? <DraftAgain draft={draft} /> : null}
    </Stack>
  );
}

function DraftAgain({ draft }: { draft: Draft }) {
  const { busy, act } = useAction();
  const [, change] = useUrlState();
  const again = () =>
    act(async () => {
      const made = await redraft(draft);
      change({ tab: undefined, item: undefined, draft: made });
    }, t.inbox.draftedAgainItWaitsFor);
  return (
    <Group>
      <Button
        variant="default"
        leftSection={<RotateCcw size={15} />}
        loading={busy}
        onClick={() => void again()}
      >
        {t.inbox.draftItAgain}
      </Button>
    </Group>
  );
}
