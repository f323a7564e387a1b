import type { Strings } from "..";
import { rich } from "../rich";

export const signIn: Strings["signIn"] = {
  signIn: "Anmelden",
  email: "E-Mail",
  password: "Passwort",
  noPasswordOrForgotIt: "Kein Passwort oder vergessen?",
  onTheServerThisCommand: "Auf dem Server erzeugt dieser Befehl einen einmaligen Anmeldelink:",
  runOnTheServerOtherwise: (code) =>
    rich`${code} auf dem Server ausführen. Sonst kann eine Administratorin oder ein Administrator in den Einstellungen einen Link erzeugen.`,
  an: (role) => `${role}`,
  a: (role) => `${role}`,
  theOwnerOfThisInstallation: "dem Eigentümer dieser Installation",
  someone: "Jemand",
  invitesYouTo: (madeBy, workspace) => `${madeBy} lädt dich zu ${workspace} ein`,
  youWillBeThereThe: (role, link) => `Deine Rolle dort: ${role}. Die Einladung ist für ${link}.`,
  join: (workspace) => `${workspace} beitreten`,
  chooseANewPassword: "Neues Passwort wählen",
  thisLinkIsForIt: (link) =>
    `Dieser Link ist für ${link}. Er löscht das bisherige Passwort und beendet alle Sitzungen.`,
  continue: "Weiter",
  welcomeToMainspring: "Willkommen bei Mainspring",
  createdAnAccountForThis: (madeBy, link) =>
    `${madeBy} hat ein Konto für ${link} angelegt. Dieser Link meldet dich einmal an.`,
  thisLinkSignsInOnce: (link) => `Dieser Link meldet ${link} einmal an.`,
  theOwner: "dem Eigentümer",
  signInAsToJoin: (email, workspace) => `Als ${email} anmelden, um ${workspace} beizutreten.`,
  signInToJoin: "Anmelden, um beizutreten",
  youAreSignedInAs: (user) =>
    `Du bist als ${user} angemeldet. Wenn du fortfährst, wirst du hier abgemeldet.`,
  signOutAndContinueAs: (link) => `Abmelden und als ${link} weitermachen`,
  staySignedInAs: (user) => `Als ${user} angemeldet bleiben`,
  welcome: "Willkommen",
  welcome2: (name) => `Willkommen, ${name}`,
  youAreSignedInChoose:
    "Du bist angemeldet. Wähle ein Passwort, um dich künftig ohne Link anzumelden.",
  yourName: "Dein Name",
  shownToOthersNextTo: "Andere sehen ihn bei deinen Aktionen.",
  atLeast12CharactersA: "Mindestens 12 Zeichen. Mehrere Wörter hintereinander eignen sich gut.",
  saveAndContinue: "Speichern und weiter",
  later: "Später",
  signInMainspring: "Anmelden · Mainspring",
  mainspring: "Mainspring",
  oneMoment: "Einen Moment …",
  loading: "Wird geladen",
};
