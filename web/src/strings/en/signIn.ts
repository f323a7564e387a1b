import type { ReactNode } from "react";
import { rich } from "../rich";
import { translated } from "../translated";

export const signIn = /* @__PURE__ */ translated("signIn", {
  signIn: "Sign in",
  email: "Email",
  password: "Password",
  noPasswordOrForgotIt: "No password, or forgot it?",
  onTheServerThisCommand: "On the server, this command creates a sign-in link that works once:",
  runOnTheServerOtherwise: (code: ReactNode) =>
    rich`Run ${code} on the server. Otherwise, ask an administrator to create a link for you in their settings.`,
  an: (role: string) => `an ${role}`,
  a: (role: string) => `a ${role}`,
  theOwnerOfThisInstallation: "the owner of this installation",
  someone: "Someone",
  invitesYouTo: (madeBy: string, workspace: unknown) => `${madeBy} invites you to ${workspace}`,
  youWillBeThereThe: (role: string, link: string) =>
    `You will be ${role} there. The invitation is for ${link}.`,
  join: (workspace: unknown) => `Join ${workspace}`,
  chooseANewPassword: "Choose a new password",
  thisLinkIsForIt: (link: string) =>
    `This link is for ${link}. It removes the current password and ends all sessions.`,
  continue: "Continue",
  welcomeToMainspring: "Welcome to Mainspring",
  createdAnAccountForThis: (madeBy: string, link: string) =>
    `${madeBy} created an account for ${link}. This link signs you in once.`,
  thisLinkSignsInOnce: (link: string) => `This link signs ${link} in once.`,
  theOwner: "the owner",
  signInAsToJoin: (email: string, workspace: unknown) =>
    `Sign in as ${email} to join ${workspace}.`,
  signInToJoin: "Sign in to join",
  youAreSignedInAs: (user: string) =>
    `You are signed in as ${user}. If you continue, you are signed out here.`,
  signOutAndContinueAs: (link: string) => `Sign out and continue as ${link}`,
  staySignedInAs: (user: string) => `Stay signed in as ${user}`,
  welcome: "Welcome",
  welcome2: (name: string) => `Welcome, ${name}`,
  youAreSignedInChoose: "You are signed in. Choose a password to sign in without a link next time.",
  yourName: "Your name",
  shownToOthersNextTo: "Shown to others next to your actions.",
  atLeast12CharactersA: "At least 12 characters. A phrase of several words works well.",
  saveAndContinue: "Save and continue",
  later: "Later",
  signInMainspring: "Sign in · Mainspring",
  mainspring: "Mainspring",
  oneMoment: "One moment …",
  loading: "Loading",
});
