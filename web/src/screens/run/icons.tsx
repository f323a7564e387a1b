// The icons and texts of steps and statuses.

import {
  Ban,
  Bell,
  Bot,
  Box,
  Braces,
  Check,
  Circle,
  CircleDashed,
  Globe,
  Hourglass,
  LoaderCircle,
  type LucideIcon,
  Mail,
  Plug,
  Repeat,
  RotateCw,
  Rows3,
  SkipForward,
  Sparkles,
  SquareTerminal,
  Timer,
  TriangleAlert,
  UserCheck,
  Webhook,
  X,
} from "lucide-react";
import { humanize } from "../../kit/format";
import type { SegmentKind } from "./timeline";
import { t } from "../../strings";

const ACTIONS: Record<string, LucideIcon> = {
  agent: Bot,
  approval: UserCheck,
  callback: Webhook,
  delay: Timer,
  email: Mail,
  for_each: Repeat,
  http_fetch: Globe,
  item: Rows3,
  llm_complete: Sparkles,
  automation_llm_complete: Sparkles,
  notification: Bell,
  script: SquareTerminal,
  transform_data: Braces,
};

export function ActionIcon({ action, size = 15 }: { action: string; size?: number }) {
  const Icon = ACTIONS[action] ?? (/[._]/.test(action) ? Plug : Box);
  return <Icon size={size} aria-hidden />;
}

const STATUSES: Record<string, [LucideIcon, string]> = {
  succeeded: [Check, "good"],
  failed: [X, "bad"],
  partly_failed: [TriangleAlert, "busy"],
  timed_out: [X, "bad"],
  dead: [X, "bad"],
  retrying: [RotateCw, "busy"],
  waiting: [Hourglass, "busy"],
  under_way: [LoaderCircle, "busy"],
  running: [LoaderCircle, "busy"],
  pending: [Hourglass, "busy"],
  skipped: [SkipForward, "quiet"],
  cancelled: [Ban, "quiet"],
  planned: [Circle, "quiet"],
  not_reached: [CircleDashed, "quiet"],
};

const WORDS: Record<string, string> = {
  retrying: t.run.waitingToRetry,
  under_way: t.run.inProgress,
  planned: t.run.notStarted,
  not_reached: t.run.notReached,
};
export const describeStatus = (status: string) => WORDS[status] ?? humanize(status);

export function StatusIcon({ status }: { status: string }) {
  const [Icon, tone] = STATUSES[status] ?? [Circle, "quiet"];
  const turning = status === "under_way" || status === "running";
  return (
    <span className={`run-status ${tone}${turning ? " turning" : ""}`}>
      <Icon size={15} aria-hidden />
      <span className="run-hidden">{describeStatus(status)}</span>
    </span>
  );
}

export const SEGMENT_LABELS: Record<SegmentKind, string> = {
  queue: t.run.queued,
  work: t.run.running,
  failed: t.run.failedAttempt,
  wait: t.run.waiting,
  retry: t.run.untilTheNextAttempt,
  under_way: t.run.inProgress,
  broken_off: t.run.interruptedThenResumed,
};
