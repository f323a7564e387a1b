// The undo period after an approval, shown on every screen.

import { Button, Group, Progress, Stack, Text } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useEffect, useState } from "react";
import { escapeInvisible } from "../../kit/format";
import {
  approvalQueue,
  type ApprovalRequest,
  type DelayedApproval,
  HOLD_MS,
  type Outcome,
  secondsLeft,
  useDelayedApprovals,
  warnBeforeUnload,
} from "./delayedApprovals";
import { keyAction } from "./keys";
import { t } from "../../strings";

const TONES = { good: "teal", bad: "red", doubt: "yellow" } as const;
const SHOWN_MS = 8000;
const idOf = (id: string) => `held-${id}`;
const short = (text: string) => text.length > 90 ? `${text.slice(0, 89)}…` : text;

let guarded = false;
function guard() {
  if (guarded) return;
  guarded = true;
  warnBeforeUnload(globalThis as unknown as Window);
  addEventListener("keydown", (event) => {
    if (keyAction(event) === "undo") undo();
  });
}

/** Approves after the undo period. False: it is already in progress. */
export function approve(sending: ApprovalRequest): boolean {
  guard();
  const send = async () => {
    const outcome = await sending.send();
    notifications.update({
      id: idOf(sending.id),
      color: TONES[outcome.tone],
      message: <OutcomeMessage title={sending.title} text={outcome.text} each={outcome.each} />,
      autoClose: outcome.tone === "good" ? SHOWN_MS : false,
      withCloseButton: true,
      closeButtonProps: { "aria-label": t.inbox.close },
      onClose: () => approvalQueue.forget(sending.id),
    });
    return outcome;
  };
  if (!approvalQueue.hold({ ...sending, send })) return false;
  notifications.show({
    id: idOf(sending.id),
    message: <Countdown id={sending.id} title={sending.title} />,
    autoClose: false,
    withCloseButton: false,
  });
  return true;
}

/** Cancels an approval; the latest if none is named. */
export function undo(id?: string): boolean {
  const found = approvalQueue.undo(id);
  if (!found) return false;
  notifications.hide(idOf(found.id));
  notifications.show({
    message: t.inbox.undoneNothingWasSentIt,
    color: "gray",
    closeButtonProps: { "aria-label": t.inbox.close },
  });
  return true;
}

function OutcomeMessage(
  { title, text, each }: { title: string } & Pick<Outcome, "text" | "each">,
) {
  return (
    <Stack gap={2}>
      <Text size="sm" fw={600} className="wrap-anywhere">{escapeInvisible(short(title))}</Text>
      <Text size="sm" className="wrap-anywhere">{escapeInvisible(text)}</Text>
      {each
        ? (
          <details>
            <summary>
              <Text span size="sm" c="dimmed">{t.inbox.results}</Text>
            </summary>
            {each.map((one, at) => (
              <Text size="xs" key={at} className="wrap-anywhere">
                {escapeInvisible(`${short(one.title)}: ${one.text}`)}
              </Text>
            ))}
          </details>
        )
        : null}
    </Stack>
  );
}

/** The remaining whole seconds, updated every second. */
export function useSecondsLeft(held: DelayedApproval | undefined): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    if (held?.state !== "held") return;
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), 200);
    return () => clearInterval(timer);
  }, [held?.state, held?.until]);
  return held ? secondsLeft(held.until, now) : 0;
}

function Countdown({ id, title }: { id: string; title: string }) {
  const held = useDelayedApprovals().find((one) => one.id === id);
  const left = useSecondsLeft(held);
  if (held?.state !== "held") return <OutcomeMessage title={title} text={t.inbox.sending} />;
  return (
    <Stack gap={8}>
      <Text size="sm" fw={600} className="wrap-anywhere">{escapeInvisible(short(title))}</Text>
      <Group justify="space-between" wrap="nowrap">
        <Text size="sm" className="numbers">{t.inbox.sendsInS(left)}</Text>
        <Button size="compact-sm" variant="default" onClick={() => undo(id)}>{t.inbox.undo}</Button>
      </Group>
      <Progress size="xs" value={(left * 1000 / HOLD_MS) * 100} aria-label={t.inbox.timeToUndo} />
    </Stack>
  );
}
