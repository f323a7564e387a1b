import type { ReactNode } from "react";
import { rich } from "../rich";
import { translated } from "../translated";

export const connect = /* @__PURE__ */ translated("connect", {
  aProgramOnThisComputer: "a program on this computer",
  theAppOfLinks: (name: string) => `the app of ${name}: links`,
  pointAClientAtThe:
    "Point a client at the address above. It opens this page, asks you, and is listed here with its permissions.",
  noConnectedClients: "No connected clients",
  connectedClients: "Connected clients",
  disconnect: (name: string) => `Disconnect ${name}?`,
  itsAccessEndsAtOnce: "Its access ends immediately. To connect again, it must ask you.",
  disconnect2: "Disconnect",
  isDisconnected: (name: string) => `${name} is disconnected.`,
  connected: "connected",
  signedOut: "signed out",
  redirectsToAgreed: (role: string, place: string, time: ReactNode) =>
    rich`${role} · redirects to ${place} · agreed ${time} ·`,
  lastUsed: (time: ReactNode) => rich`last used ${time}`,
  neverUsed: "never used",
  disconnect3: (name: string) => `Disconnect ${name}`,
  claudeCode: "Claude Code",
  runThisInATerminal: "Run this in a terminal.",
  thenTypeMcpInClaude: "Then type /mcp in Claude Code, choose mainspring and sign in.",
  inATerminal: "In a terminal",
  ifClaudeDoesNotFind:
    "If Claude does not find the program, use its full path; “mainspring mcp --show-config” prints it.",
  itActsAsTheOwner: " It acts as the owner of the data folder unless MAINSPRING_TOKEN is set.",
  claude: "Claude",
  claudeConnectsOverTheInternet:
    "Claude connects over the internet; this server runs on your computer.",
  claudeConnectorsSignInThemselves:
    "Claude connectors sign in themselves and take no token; Claude Desktop can start a program with one.",
  inClaudeDesktopOpenSettings:
    "In Claude Desktop open Settings, Developer, Edit Config, and add this program.",
  openSettingsConnectorsAndChoose: "Open Settings, Connectors, and choose “Add custom connector”.",
  enterThisAddressAndPress:
    "Enter this address and press Connect. Claude brings you here to agree.",
  address: "Address",
  cursor: "Cursor",
  addItWithOneClick: "Add it with one click, or put this into ~/.cursor/mcp.json.",
  cursorMcpJson: "~/.cursor/mcp.json",
  addToCursor: "Add to Cursor",
  vsCode: "VS Code",
  addItWithOneClickPut:
    "Add it with one click, put this into .vscode/mcp.json, or run the command.",
  addToVsCode: "Add to VS Code",
  other: "Other",
  mostClientsAcceptThisIn:
    "Most clients accept this in their settings. The transport is streamable HTTP.",
  settings: "Settings",
  aClientWithoutOauthNeeds:
    "A client without OAuth needs a token. A client that can only start a command runs “mainspring mcp --url” with the token in MAINSPRING_TOKEN.",
  clients: "Clients",
  in30Days: "in 30 days",
  in90Days: "in 90 days",
  inAYear: "in a year",
  whenYouRevokeIt: "when you revoke it",
  forAClientWithoutOauth:
    "For a client without OAuth, or an unattended program. Anyone with the token can do what it allows.",
  name: "Name",
  whereItWillBeUsed: "Where it will be used",
  role: "Role",
  expires: "Expires",
  createToken: "Create token",
  tokenCreated: "Token created",
  itIsFilledInBelow:
    "It is filled in below and shown only now. You cannot see it again after you leave.",
  copyTheTokenOnly: "Copy the token only",
  createAnother: "Create another",
  connectAnMcpClient: "Connect an MCP client",
  aConnectedAssistantActsAs: (name: string) =>
    `A connected assistant acts as you in ${name}, with the permissions you give it.`,
  listConnectedClients: "List connected clients",
  serverAddress: "Server address",
  copyTheAddress: "Copy the address",
  mostClientsNeedOnlyThis:
    "Most clients need only this address: they open your browser, you sign in and choose their permissions.",
  authentication: "Authentication",
  signInAndAgree: "Sign in and agree",
  withAToken: "With a token",
});
