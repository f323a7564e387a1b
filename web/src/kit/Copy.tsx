// Copy buttons: a text, or one operation as a curl command or an MCP tool call.

import { ActionIcon, Button, CopyButton as Copying, Menu } from "@mantine/core";
import { Check, Copy, Terminal } from "lucide-react";
import { t } from "../strings";

export function CopyButton({ text, label = t.kit.copy }: { text: string; label?: string }) {
  return (
    <Copying value={text} timeout={1500}>
      {({ copied, copy }) => (
        <Button
          size="compact-sm"
          variant="default"
          onClick={copy}
          leftSection={copied ? <Check size={14} /> : <Copy size={14} />}
        >
          {copied ? t.kit.copied : label}
        </Button>
      )}
    </Copying>
  );
}

/** An icon button that copies; its label describes the text. */
export function CopyIcon({ text, label }: { text: string; label: string }) {
  return (
    <Copying value={text} timeout={1500}>
      {({ copied, copy }) => (
        <ActionIcon
          variant="subtle"
          color="gray"
          onClick={copy}
          aria-label={copied ? t.kit.copied : label}
        >
          {copied ? <Check size={15} /> : <Copy size={15} />}
        </ActionIcon>
      )}
    </Copying>
  );
}

export type Operation = {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** With parameters filled in: /api/v1/runs/0190…/cancel */
  path: string;
  body?: unknown;
  /** The capability and arguments of the same operation, for an MCP client. */
  tool?: string;
  arguments?: unknown;
};

const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

export function asCurl({ method, path, body }: Operation): string {
  const parts = [
    "curl",
    method === "GET" ? "" : `-X ${method}`,
    `-H "Authorization: Bearer $TOKEN"`,
  ];
  if (body !== undefined) {
    parts.push(`-H 'Content-Type: application/json'`, `-d ${quoted(JSON.stringify(body))}`);
  }
  return [...parts, quoted(location.origin + path)].filter(Boolean).join(" ");
}

export function asTool({ tool, arguments: given, body }: Operation): string {
  const params = { name: tool, arguments: given ?? body ?? {} };
  return JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }, null, 2);
}

type CopyAsProps = {
  operations: { label: string; operation: Operation }[];
  /** For operations reserved to people: the page where a person does it. */
  links?: { label: string; to: string }[];
};

/** The operations of this screen for programs: as a curl command and as an MCP call. */
export function CopyAs({ operations, links = [] }: CopyAsProps) {
  return (
    <Menu position="bottom-end" shadow="md" width={280}>
      <Menu.Target>
        <ActionIcon variant="default" size="lg" aria-label={t.kit.copyForPrograms} visibleFrom="sm">
          <Terminal size={16} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {operations.map(({ label, operation }) => (
          <div key={label}>
            <Menu.Label>{label}</Menu.Label>
            <Menu.Item
              onClick={() => void navigator.clipboard.writeText(asCurl(operation))}
            >
              {t.kit.copyAsCurl}
            </Menu.Item>
            {operation.tool
              ? (
                <Menu.Item
                  onClick={() => void navigator.clipboard.writeText(asTool(operation))}
                >
                  {t.kit.copyAsMcpCall}
                </Menu.Item>
              )
              : null}
          </div>
        ))}
        {links.map(({ label, to }) => (
          <div key={label}>
            <Menu.Label>{label}</Menu.Label>
            <Menu.Item
              onClick={() => void navigator.clipboard.writeText(location.origin + to)}
            >
              {t.kit.copyTheLink}
            </Menu.Item>
          </div>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
