import type { Strings } from "..";
import { rich } from "../rich";

export const connect: Strings["connect"] = {
  aProgramOnThisComputer: "ein Programm auf diesem Rechner",
  theAppOfLinks: (name) => `der App für ${name}-Links`,
  pointAClientAtThe:
    "Einen Client auf die Adresse oben richten. Er öffnet diese Seite, fragt dich und steht dann hier mit seinen Berechtigungen.",
  noConnectedClients: "Keine verbundenen Clients",
  connectedClients: "Verbundene Clients",
  disconnect: (name) => `${name} trennen?`,
  itsAccessEndsAtOnce: "Der Zugriff endet sofort. Zum erneuten Verbinden muss er dich fragen.",
  disconnect2: "Trennen",
  isDisconnected: (name) => `${name} ist getrennt.`,
  connected: "verbunden",
  signedOut: "abgemeldet",
  redirectsToAgreed: (role, place, time) =>
    rich`${role} · Rückkehr zu ${place} · zugestimmt ${time} ·`,
  lastUsed: (time) => rich`zuletzt benutzt ${time}`,
  neverUsed: "nie benutzt",
  disconnect3: (name) => `${name} trennen`,
  claudeCode: "Claude Code",
  runThisInATerminal: "In einem Terminal ausführen.",
  thenTypeMcpInClaude: "Dann in Claude Code /mcp eingeben, mainspring wählen und anmelden.",
  inATerminal: "Im Terminal",
  ifClaudeDoesNotFind:
    "Findet Claude das Programm nicht, den vollen Pfad angeben; „mainspring mcp --show-config“ zeigt ihn.",
  itActsAsTheOwner:
    " Es handelt als Eigentümer des Datenordners, wenn MAINSPRING_TOKEN nicht gesetzt ist.",
  claude: "Claude",
  claudeConnectsOverTheInternet:
    "Claude verbindet sich über das Internet; dieser Server läuft auf deinem Rechner.",
  claudeConnectorsSignInThemselves:
    "Claude-Connectors melden sich selbst an und nehmen kein Token; Claude Desktop kann ein Programm mit Token starten.",
  inClaudeDesktopOpenSettings:
    "In Claude Desktop Settings, Developer, Edit Config öffnen und dieses Programm eintragen.",
  openSettingsConnectorsAndChoose: "Settings, Connectors öffnen und „Add custom connector“ wählen.",
  enterThisAddressAndPress:
    "Diese Adresse eingeben und Connect drücken. Claude bringt dich zur Zustimmung hierher.",
  address: "Adresse",
  cursor: "Cursor",
  addItWithOneClick: "Mit einem Klick hinzufügen oder in ~/.cursor/mcp.json eintragen.",
  cursorMcpJson: "~/.cursor/mcp.json",
  addToCursor: "Zu Cursor hinzufügen",
  vsCode: "VS Code",
  addItWithOneClickPut:
    "Mit einem Klick hinzufügen, in .vscode/mcp.json eintragen oder den Befehl ausführen.",
  addToVsCode: "Zu VS Code hinzufügen",
  other: "Andere",
  mostClientsAcceptThisIn:
    "Die meisten Clients nehmen dies in ihren Einstellungen. Der Transport ist Streamable HTTP.",
  settings: "Einstellungen",
  aClientWithoutOauthNeeds:
    "Ein Client ohne OAuth braucht ein Token. Ein Client, der nur einen Befehl starten kann, führt „mainspring mcp --url“ mit dem Token in MAINSPRING_TOKEN aus.",
  clients: "Clients",
  in30Days: "in 30 Tagen",
  in90Days: "in 90 Tagen",
  inAYear: "in einem Jahr",
  whenYouRevokeIt: "beim Widerruf",
  forAClientWithoutOauth:
    "Für einen Client ohne OAuth oder ein unbeaufsichtigtes Programm. Wer das Token hat, kann tun, was es erlaubt.",
  name: "Name",
  whereItWillBeUsed: "Wo es verwendet wird",
  role: "Rolle",
  expires: "Läuft ab",
  createToken: "Token erstellen",
  tokenCreated: "Token erstellt",
  itIsFilledInBelow:
    "Es ist unten eingesetzt und wird nur jetzt angezeigt. Danach ist es nicht mehr zu sehen.",
  copyTheTokenOnly: "Nur das Token kopieren",
  createAnother: "Weiteres erstellen",
  connectAnMcpClient: "MCP-Client verbinden",
  aConnectedAssistantActsAs: (name) =>
    `Ein verbundener Assistent handelt als du in ${name}, mit den Berechtigungen, die du gibst.`,
  listConnectedClients: "Verbundene Clients auflisten",
  serverAddress: "Serveradresse",
  copyTheAddress: "Adresse kopieren",
  mostClientsNeedOnlyThis:
    "Die meisten Clients brauchen nur diese Adresse: Sie öffnen den Browser, du meldest dich an und wählst die Berechtigungen.",
  authentication: "Authentifizierung",
  signInAndAgree: "Anmelden und zustimmen",
  withAToken: "Mit Token",
};
