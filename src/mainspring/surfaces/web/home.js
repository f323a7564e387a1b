// The page of somebody who is signed in: who and where they are, how programs connect, their
// tokens, their name and password, and where else they are signed in.

import { ask, byId, isUnnamed, leave, onPress, onSubmit, say, whoIsHere } from "./page.js";

const ROLES = ["viewer", "operator", "editor", "admin", "owner"];
const DAY = 24 * 60 * 60 * 1000;

const day = (text) => new Date(text).toLocaleDateString(undefined, { dateStyle: "medium" });
const moment = (text) =>
  new Date(text).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });

function line(title, words, deed, work) {
  const item = document.createElement("li");
  const told = document.createElement("div");
  const head = document.createElement("strong");
  head.textContent = title;
  const rest = document.createElement("span");
  rest.textContent = words;
  told.append(head, rest);
  item.append(told);
  if (deed) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "plain";
    button.textContent = deed;
    button.setAttribute("aria-label", `${deed} ${title}`);
    onPress(button, work);
    item.append(button);
  }
  return item;
}

function empty(words) {
  const item = document.createElement("li");
  item.className = "hint";
  item.textContent = words;
  return item;
}

function tokenWords(token) {
  const ends = token.expires_at ? `until ${day(token.expires_at)}` : "until revoked";
  const used = token.last_used_at ? `last used ${day(token.last_used_at)}` : "never used";
  const calls = token.capabilities ? `, ${token.capabilities.length} capabilities only` : "";
  return `…${token.hint} · ${token.role}${calls} · ${ends} · ${used}`;
}

async function fillTokens() {
  const { tokens } = await ask("GET", "/tokens");
  const alive = tokens.filter(
    (one) => !one.revoked_at && !(one.expires_at && new Date(one.expires_at) <= new Date()),
  );
  const shown = alive.map((one) =>
    line(one.name, tokenWords(one), "Revoke", async () => {
      if (!confirm(`Revoke ${one.name}? Whatever uses it is refused from then on.`)) return;
      await ask("DELETE", `/tokens/${one.id}`);
      await fillTokens();
    }),
  );
  byId("tokens").replaceChildren(...(shown.length ? shown : [empty("You have none here.")]));
}

// What a browser calls itself is long; two words of it are enough to know it again.
function browserName(label) {
  const maker = /(Firefox|Edg|OPR|Chrome|Safari)\//.exec(label);
  const system = /(Windows|Mac OS X|Android|iPhone|iPad|Linux)/.exec(label);
  const makers = { Edg: "Edge", OPR: "Opera" };
  if (!maker) return label || "Unknown browser";
  return `${makers[maker[1]] || maker[1]}${system ? ` on ${system[1].replace("Mac OS X", "macOS")}` : ""}`;
}

async function fillSessions() {
  const { sessions } = await ask("GET", "/sessions");
  byId("sessions").replaceChildren(
    ...sessions.map((one) =>
      line(
        browserName(one.label),
        one.current ? "this browser" : `last seen ${moment(one.seen_at)}`,
        one.current ? null : "End",
        async () => {
          await ask("DELETE", `/sessions/${one.id}`);
          await fillSessions();
        },
      ),
    ),
  );
}

// Whoever looks after this place should know when scripts are held by one wall alone.
async function fillWalls(role) {
  if (!["admin", "owner"].includes(role)) return;
  const { warnings } = await ask("GET", "/health/scripts").catch(() => ({ warnings: [] }));
  byId("walls").textContent = warnings.join(" ");
  byId("walls").hidden = warnings.length === 0;
}

async function fill(who) {
  const user = who.user;
  byId("greeting").textContent = isUnnamed(user) ? "Hello" : `Hello, ${user.name || user.email}`;
  byId("who-email").textContent = isUnnamed(user) ? "none yet" : user.email;
  byId("who-workspace").textContent = who.workspace.name;
  byId("tokens-where").textContent = who.workspace.name;
  byId("who-role").textContent = who.role;
  byId("own-name").value = isUnnamed(user) ? "" : user.name;
  byId("old-password").hidden = !user.has_password;
  byId("current-password").required = user.has_password;
  byId("api-address").textContent = `${location.origin}/api/v1`;
  byId("mcp-address").textContent = `${location.origin}/mcp`;
  const others = who.workspaces.filter((one) => one.id !== who.workspace.id);
  byId("switch-form").hidden = others.length === 0;
  byId("workspace").replaceChildren(
    ...others.map((one) => new Option(`${one.name} (${one.role})`, one.id)),
  );
  const given = ROLES.slice(0, ROLES.indexOf(who.role) + 1);
  const usual = given.includes("editor") ? "editor" : who.role;
  byId("token-role").replaceChildren(
    ...given.map((role) => new Option(role, role, role === usual, role === usual)),
  );
  byId("made-token").hidden = true;
  await Promise.all([fillTokens(), fillSessions(), fillWalls(who.role)]);
}

function listen() {
  onSubmit(byId("switch-form"), async (given) => {
    const who = await ask("POST", "/session/workspace", { workspace_id: given.workspace });
    // Where somebody chose to look is where they look next time, too.
    await ask("PATCH", "/me", { default_workspace_id: given.workspace });
    await fill(who);
  });
  onSubmit(byId("token-form"), async (given) => {
    const days = Number(given.expires_at);
    const ends = days ? new Date(Date.now() + days * DAY).toISOString() : null;
    const asked = { name: given.name, role: given.role, expires_at: ends };
    const made = await ask("POST", "/tokens", asked);
    byId("token-text").textContent = made.text;
    byId("made-token").hidden = false;
    byId("copy-token").textContent = "Copy";
    byId("token-form").reset();
    await fillTokens();
  });
  onPress(byId("copy-token"), async () => {
    await navigator.clipboard.writeText(byId("token-text").textContent);
    byId("copy-token").textContent = "Copied";
  });
  onSubmit(byId("name-form"), async (given) => {
    await ask("PATCH", "/me", { name: given.name });
    await fill(await ask("GET", "/session"));
    byId("name-form").querySelector(".done").hidden = false;
  });
  onSubmit(byId("password-form"), async (given) => {
    const asked = { password: given.password };
    if (given.current_password) asked.current_password = given.current_password;
    await ask("POST", "/me/password", asked);
    byId("password-form").reset();
    await fill(await ask("GET", "/session"));
    byId("password-form").querySelector(".done").hidden = false;
  });
  onPress(byId("sign-out"), async () => {
    await leave();
    location.replace("/sign-in");
  });
}

try {
  const who = await whoIsHere();
  if (who === null) {
    location.replace("/sign-in");
  } else {
    byId("who").hidden = false;
    byId("sign-out").hidden = false;
    listen();
    await fill(who);
  }
} catch (problem) {
  byId("who").hidden = false;
  say(problem);
}
