// The configuration of each known client, from the server address and an optional token.

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
    label: "Claude Code",
    steps: [
      "Run this in a terminal.",
      ...(answer.token ? [] : ["Then write /mcp in Claude Code, choose mainspring, and sign in."]),
    ],
    snippets: [{
      title: "In a terminal",
      text: `claude mcp add --transport http ${ENTRY} ${answer.address}${header}`,
      language: "sh",
    }],
  };
}

const programNote = ({ token }: ServerAccess) =>
  "If Claude does not find the program, write its whole path; “mainspring mcp --show-config” prints it." +
  (token ? "" : " It acts as the owner of the data folder unless MAINSPRING_TOKEN says otherwise.");

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
    label: "Claude",
    steps: started
      ? [
        local
          ? "Claude reaches servers over the internet; this one is on your own computer."
          : "Claude’s connectors sign in by themselves and take no token; Claude Desktop can start a program that has one.",
        "In Claude Desktop open Settings, Developer, Edit Config, and add this program, which Claude starts by itself.",
      ]
      : [
        "Open Settings, Connectors, and choose “Add custom connector”.",
        "Give it this address, and press Connect. Claude brings you here to agree.",
      ],
    snippets: started
      ? [{
        title: "claude_desktop_config.json",
        text: json({ mcpServers: { [ENTRY]: program } }),
        language: "json",
      }]
      : [{ title: "Address", text: answer.address, language: "sh" }],
    note: started ? programNote(answer) : undefined,
  };
}

function cursor(answer: ServerAccess): Known {
  const { type: _, ...server } = entry(answer);
  const config = encodeURIComponent(base64(JSON.stringify({ url: answer.address })));
  return {
    id: "cursor",
    label: "Cursor",
    steps: ["Add it with one press, or put this into ~/.cursor/mcp.json."],
    snippets: [{
      title: "~/.cursor/mcp.json",
      text: json({ mcpServers: { [ENTRY]: server } }),
      language: "json",
    }],
    link: answer.token ? undefined : {
      label: "Add to Cursor",
      href: `cursor://anysphere.cursor-deeplink/mcp/install?name=${ENTRY}&config=${config}`,
    },
  };
}

function vsCode(answer: ServerAccess): Known {
  const named = { name: ENTRY, ...entry(answer) };
  return {
    id: "vs-code",
    label: "VS Code",
    steps: ["Add it with one press, or put this into .vscode/mcp.json, or run the command."],
    snippets: [
      {
        title: ".vscode/mcp.json",
        text: json({ servers: { [ENTRY]: entry(answer) } }),
        language: "json",
      },
      {
        title: "In a terminal",
        text: `code --add-mcp ${quoted(JSON.stringify(named))}`,
        language: "sh",
      },
    ],
    link: answer.token ? undefined : {
      label: "Add to VS Code",
      href: `vscode:mcp/install?${encodeURIComponent(JSON.stringify(named))}`,
    },
  };
}

function anyOther(answer: ServerAccess): Known {
  return {
    id: "other",
    label: "Any other",
    steps: ["Most clients take this in their settings. The transport is streamable HTTP."],
    snippets: [{
      title: "Settings",
      text: json({ mcpServers: { [ENTRY]: entry(answer) } }),
      language: "json",
    }],
    note: answer.token
      ? undefined
      : "A client without OAuth needs a token; a client that can only start a command runs “mainspring mcp --url”, with the token in MAINSPRING_TOKEN.",
  };
}

export const knownClients = (answer: ServerAccess): Known[] =>
  [claudeCode, claude, cursor, vsCode, anyOther].map((make) => make(answer));
