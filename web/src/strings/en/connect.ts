import type { ReactNode } from "react";
import { rich } from "../rich";

export const connect = {
  aProgramOnAComputer: "a program on a computer",
  theAppOfLinks: (name: string) => `the app of ${name}: links`,
  pointOneAtTheAddress:
    "Point one at the address above. It opens this page, asks you, and is listed here with what you let it do.",
  noClientIsConnectedYet: "No client is connected yet",
  connectedAsYou: "Connected as you",
  disconnect: (name: string) => `Disconnect ${name}?`,
  everythingItHoldsEndsAt:
    "Everything it holds ends at once. To come back, it has to ask you again.",
  disconnect2: "Disconnect",
  isDisconnected: (name: string) => `${name} is disconnected.`,
  connected: "connected",
  signedOut: "signed out",
  answeredAtAgreed: (role: string, pLACES: string, time: ReactNode) =>
    rich`${role} · answered at ${pLACES} · agreed ${time} ·`,
  lastUsed: (time: ReactNode) => rich`last used ${time}`,
  neverUsed: "never used",
  disconnect3: (name: string) => `Disconnect ${name}`,
  claudeCode: "Claude Code",
  runThisInATerminal: "Run this in a terminal.",
  thenWriteMcpInClaude: "Then write /mcp in Claude Code, choose mainspring, and sign in.",
  inATerminal: "In a terminal",
  ifClaudeDoesNotFind:
    "If Claude does not find the program, write its whole path; “mainspring mcp --show-config” prints it.",
  itActsAsTheOwner:
    " It acts as the owner of the data folder unless MAINSPRING_TOKEN says otherwise.",
  claude: "Claude",
  claudeReachesServersOverThe:
    "Claude reaches servers over the internet; this one is on your own computer.",
  claudesConnectorsSignInBy:
    "Claude’s connectors sign in by themselves and take no token; Claude Desktop can start a program that has one.",
  inClaudeDesktopOpenSettings:
    "In Claude Desktop open Settings, Developer, Edit Config, and add this program, which Claude starts by itself.",
  openSettingsConnectorsAndChoose: "Open Settings, Connectors, and choose “Add custom connector”.",
  giveItThisAddressAnd: "Give it this address, and press Connect. Claude brings you here to agree.",
  address: "Address",
  cursor: "Cursor",
  addItWithOnePress: "Add it with one press, or put this into ~/.cursor/mcp.json.",
  cursorMcpJson: "~/.cursor/mcp.json",
  addToCursor: "Add to Cursor",
  vsCode: "VS Code",
  addItWithOnePressOr:
    "Add it with one press, or put this into .vscode/mcp.json, or run the command.",
  addToVsCode: "Add to VS Code",
  anyOther: "Any other",
  mostClientsTakeThisIn:
    "Most clients take this in their settings. The transport is streamable HTTP.",
  settings: "Settings",
  aClientWithoutOauthNeeds:
    "A client without OAuth needs a token; a client that can only start a command runs “mainspring mcp --url”, with the token in MAINSPRING_TOKEN.",
  clients: "Clients",
  in30Days: "in 30 days",
  in90Days: "in 90 days",
  inAYear: "in a year",
  whenItIsRevoked: "when it is revoked",
  forAClientWithoutOauth:
    "For a client without OAuth, or a program that nobody sits in front of. Whoever has the token can do what it allows.",
  name: "Name",
  whereItWillBeUsed: "Where it will be used",
  itMayDoAtMost: "It may do at most what this role may",
  itEnds: "It ends",
  makeAToken: "Make a token",
  theTokenIsMade: "The token is made",
  itIsInTheTexts:
    "It is in the texts below, and shown only now: it cannot be had again once you leave.",
  copyTheTokenAlone: "Copy the token alone",
  makeAnother: "Make another",
  connectAnMcpClient: "Connect an MCP client",
  anAssistantThatIsConnected: (name: string) =>
    `An assistant that is connected can do in ${name} what you let it do, as you.`,
  listConnectedClients: "List connected clients",
  theAddressOfThisServer: "The address of this server",
  copyTheAddress: "Copy the address",
  mostClientsNeedNothingElse:
    "Most clients need nothing else: they open your browser, you sign in and choose what they may do.",
  howTheClientShowsWho: "How the client shows who it is",
  youSignInAndAgree: "You sign in and agree",
  withAToken: "With a token",
};
