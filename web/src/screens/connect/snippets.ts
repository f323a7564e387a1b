// The configuration of each known client, from the server address and an optional token.

import { t } from "../../strings";

const ENTRY = "mainspring";

export type ServerAccess = { address: string; token: string | null };

/** One way to configure a client: a text to copy, and where it goes. */
export type Snippet = { title: string; text: string; language: "json" | "sh" };
export type Known = {
  id: string;
  label: string;
  /** The steps in order; the snippets belong to the last step. */
  steps: string[];
  snippets: Snippet[];
  /**
   * Opens the client and adds the server. A link must hold no token, because links end up in
   * histories.
   */
  link?: { label: string; href: string };
  note?: string;
};

const json = (value: unknown) => JSON.stringify(value, null, 2);
const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

function entry({ address, token }: ServerAccess): Record<string, unknown> {
  const server = { type: "http", url: address };
  return token ? { ...server, headers: { Authorization: `Bearer ${token}` } } : server;
}

const base64 = (text: string) => btoa(String.fromCharCode(...new TextEncoder().encode(text)));

/** Whether only programs on the same machine can reach it. */
export function isLocal(address: string): boolean {
  try {
    return /^(localhost|127(\.\d+){3}|\[::1\])$/.test(new URL(address).hostname);
  } catch {
    return false;
  }
}

function claudeCode(answer: ServerAccess): Known {
  const header = answer.token ? ` --header ${quoted(`Authorization: Bearer ${answer.token}`)}` : "";
  return {
    id: "claude-code",
    label: t.connect.claudeCode,
    steps: [
      t.connect.runThisInATerminal,
      ...(answer.token ? [] : [t.connect.thenTypeMcpInClaude]),
    ],
    snippets: [{
      title: t.connect.inATerminal,
      text: `claude mcp add --transport http ${ENTRY} ${answer.address}${header}`,
      language: "sh",
    }],
  };
}

const programNote = ({ token }: ServerAccess) =>
  t.connect.ifClaudeDoesNotFind +
  (token ? "" : t.connect.itActsAsTheOwner);

function claude(answer: ServerAccess): Known {
  const local = isLocal(answer.address);
  // Its connectors accept no token; a local child process can send one.
  const started = local || answer.token !== null;
  const program = {
    command: "mainspring",
    args: local ? ["mcp"] : ["mcp", "--url", answer.address],
    ...(answer.token ? { env: { MAINSPRING_TOKEN: answer.token } } : {}),
  };
  return {
    id: "claude",
    label: t.connect.claude,
    steps: started
      ? [
        local
          ? t.connect.claudeConnectsOverTheInternet
          : t.connect.claudeConnectorsSignInThemselves,
        t.connect.inClaudeDesktopOpenSettings,
      ]
      : [
        t.connect.openSettingsConnectorsAndChoose,
        t.connect.enterThisAddressAndPress,
      ],
    snippets: started
      ? [{
        title: "claude_desktop_config.json",
        text: json({ mcpServers: { [ENTRY]: program } }),
        language: "json",
      }]
      : [{ title: t.connect.address, text: answer.address, language: "sh" }],
    note: started ? programNote(answer) : undefined,
  };
}

function cursor(answer: ServerAccess): Known {
  const { type: _, ...server } = entry(answer);
  const config = encodeURIComponent(base64(JSON.stringify({ url: answer.address })));
  return {
    id: "cursor",
    label: t.connect.cursor,
    steps: [t.connect.addItWithOneClick],
    snippets: [{
      title: t.connect.cursorMcpJson,
      text: json({ mcpServers: { [ENTRY]: server } }),
      language: "json",
    }],
    link: answer.token ? undefined : {
      label: t.connect.addToCursor,
      href: `cursor://anysphere.cursor-deeplink/mcp/install?name=${ENTRY}&config=${config}`,
    },
  };
}

function vsCode(answer: ServerAccess): Known {
  const named = { name: ENTRY, ...entry(answer) };
  return {
    id: "vs-code",
    label: t.connect.vsCode,
    steps: [t.connect.addItWithOneClickPut],
    snippets: [
      {
        title: ".vscode/mcp.json",
        text: json({ servers: { [ENTRY]: entry(answer) } }),
        language: "json",
      },
      {
        title: t.connect.inATerminal,
        text: `code --add-mcp ${quoted(JSON.stringify(named))}`,
        language: "sh",
      },
    ],
    link: answer.token ? undefined : {
      label: t.connect.addToVsCode,
      href: `vscode:mcp/install?${encodeURIComponent(JSON.stringify(named))}`,
    },
  };
}

function anyOther(answer: ServerAccess): Known {
  return {
    id: "other",
    label: t.connect.other,
    steps: [t.connect.mostClientsAcceptThisIn],
    snippets: [{
      title: t.connect.settings,
      text: json({ mcpServers: { [ENTRY]: entry(answer) } }),
      language: "json",
    }],
    note: answer.token ? undefined : t.connect.aClientWithoutOauthNeeds,
  };
}

export const knownClients = (answer: ServerAccess): Known[] =>
  [claudeCode, claude, cursor, vsCode, anyOther].map((make) => make(answer));
