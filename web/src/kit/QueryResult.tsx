// The state of a query: loading, failed, or loaded.

import { Alert, Button, Group, Loader, Skeleton, Stack, Text } from "@mantine/core";
import type { UseQueryResult } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { TriangleAlert } from "lucide-react";
import { type ReactNode, useEffect, useState } from "react";
import { sentence } from "../api/problem";
import { CopyButton } from "./Copy";
import { Problem } from "../api/problem";
import { t } from "../strings";

// The screen where the user can fix a problem.
const WAYS: Record<string, { to: string; label: string }> = {
  not_connected: { to: "/integrations", label: t.kit.goToIntegrations },
  reconnect: { to: "/integrations", label: t.kit.goToIntegrations },
  scope_missing: { to: "/integrations", label: t.kit.goToIntegrations },
  owner_mail_missing: { to: "/settings/you", label: t.kit.goToYourSettings },
  owner_mail_unverified: { to: "/settings/you", label: t.kit.goToYourSettings },
};

/** A problem with its remedy; its full text can be copied for support. */
export function ProblemNote({ problem, again }: { problem: unknown; again?: () => void }) {
  const details = problem instanceof Problem ? problem.document : null;
  const codes = [details?.code ?? "", ...(details?.errors ?? []).map((one) => one.code)];
  const way = codes.map((one) => WAYS[one]).find(Boolean);
  return (
    <Alert color="red" variant="light" icon={<TriangleAlert size={16} />} role="alert">
      <Stack gap="xs">
        <Text size="sm">{sentence(problem)}</Text>
        {details?.errors && details.errors.length > 1
          ? details.errors.map((one) => (
            <Text size="sm" key={one.pointer + one.code}>
              <span className="mono">{one.pointer || "/"}</span>: {one.detail}
            </Text>
          ))
          : null}
        <Group gap="xs">
          {again
            ? <Button size="compact-sm" variant="default" onClick={again}>{t.kit.tryAgain}</Button>
            : null}
          {way
            ? (
              <Button size="compact-sm" variant="default" component={Link} to={way.to}>
                {way.label}
              </Button>
            )
            : null}
          {details
            ? (
              <CopyButton
                text={JSON.stringify(details, null, 2)}
                label={t.kit.copyTheProblem}
              />
            )
            : null}
        </Group>
      </Stack>
    </Alert>
  );
}

/** Shows a progress message after one second. */
export function SlowNote({ text = t.kit.stillWorking }: { text?: string }) {
  const [late, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), 1000);
    return () => clearTimeout(timer);
  }, []);
  return late
    ? (
      <Group gap="xs" role="status">
        <Loader size="xs" /> <Text size="sm" c="dimmed">{text}</Text>
      </Group>
    )
    : null;
}

type Props<T> = {
  of: Pick<UseQueryResult<T, unknown>, "data" | "error" | "refetch">;
  /** The number of skeleton lines. */
  lines?: number;
  children: (data: NonNullable<T>) => ReactNode;
};

export function QueryResult<T>({ of, lines = 4, children }: Props<T>) {
  if (of.data !== undefined && of.data !== null) return children(of.data as NonNullable<T>);
  if (of.error) return <ProblemNote problem={of.error} again={() => void of.refetch()} />;
  return (
    <Stack gap="sm" aria-busy="true">
      {Array.from(
        { length: lines },
        (_, at) => <Skeleton key={at} height={38} radius="md" />,
      )}
      <SlowNote />
    </Stack>
  );
}
