import type { ReactNode } from "react";
import { rich } from "../rich";

export const signIn = {
  signIn: "Sign in",
  email: "Email",
  password: "Password",
  noPasswordYetOrLost: "No password yet, or lost it?",
  onTheMachineOfThe: "On the machine of the server, this makes a link that signs you in once:",
  whereMainspringIsInstalledIt: (code: ReactNode) =>
    rich`Where Mainspring is installed, it is ${code}. Elsewhere, ask whoever looks after it: an administrator makes a link for you in their settings.`,
  an: (role: string) => `an ${role}`,
  a: (role: string) => `a ${role}`,
  theOwnerOfThisInstallation: "the owner of this installation",
  somebody: "Somebody",
  invitesYouTo: (madeBy: string, workspace: unknown) => `${madeBy} invites you to ${workspace}`,
  youWillBeThereThe: (role: string, link: string) =>
    `You will be ${role} there. The invitation is for ${link}.`,
  join: (workspace: unknown) => `Join ${workspace}`,
  chooseANewPassword: "Choose a new password",
  thisLinkIsForUsing: (link: string) =>
    `This link is for ${link}. Using it forgets the password there was and ends all sessions.`,
  goOn: "Go on",
  welcomeToMainspring: "Welcome to Mainspring",
  madeAnAccountForThis: (madeBy: string, link: string) =>
    `${madeBy} made an account for ${link}. This link signs you in, once.`,
  thisLinkSignsInOnce: (link: string) => `This link signs ${link} in, once.`,
  theOwner: "the owner",
  signInAsToJoin: (email: string, workspace: unknown) =>
    `Sign in as ${email} to join ${workspace}.`,
  signInToJoin: "Sign in to join",
  youAreSignedInAs: (user: string) => `You are signed in as ${user}. Going on signs you out here.`,
  signOutAndGoOn: (link: string) => `Sign out and go on as ${link}`,
  staySignedInAs: (user: string) => `Stay signed in as ${user}`,
  welcome: "Welcome",
  welcome2: (name: string) => `Welcome, ${name}`,
  youAreSignedInChoose:
    "You are signed in. Choose a password, so that you can come back without a link.",
  yourName: "Your name",
  othersSeeItBesideWhat: "Others see it beside what you do.",
  atLeast12CharactersA: "At least 12 characters. A few words in a row do well.",
  saveAndGoOn: "Save and go on",
  later: "Later",
  signInMainspring: "Sign in · Mainspring",
  mainspring: "Mainspring",
  oneMoment: "One moment …",
  loading: "Loading",
};
