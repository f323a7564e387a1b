// Signing in, by a password or by a link. A link's token stands behind the # of the address,
// which browsers send to nobody; it is taken out of the address before anything else is done.
// Opening a link uses nothing up: the page says what it is, and a press of a button uses it.

import {
  ask, byId, isUnnamed, leave, onPress, onSubmit, say, wantedPage, whoIsHere,
} from "./page.js";

let token = location.hash.slice(1);
if (token) history.replaceState(null, "", location.pathname);
// A link that is put into the address of this very page would load nothing by itself.
addEventListener("hashchange", () => location.reload());

function show(id) {
  for (const part of document.querySelectorAll("main > section, main > form")) {
    part.hidden = part.id !== id;
  }
  const first = [...byId(id).querySelectorAll("input")].find((field) => !field.value);
  if (first) first.focus();
}

function settle(who) {
  if (who.user.has_password) {
    location.replace(wantedPage());
    return;
  }
  byId("new-name").value = isUnnamed(who.user) ? "" : who.user.name;
  byId("new-email").value = isUnnamed(who.user) ? "" : who.user.email;
  show("setup-form");
}

async function useLink() {
  const who = await ask("POST", "/session/link", { token });
  token = "";
  settle(who);
}

const article = (role) => (/^[aeiou]/.test(role) ? `an ${role}` : `a ${role}`);
const named = (user) => (isUnnamed(user) ? "the owner" : user.name || user.email);

function describe(link) {
  const whose = isUnnamed(link) ? "the owner of this installation" : link.email;
  switch (link.purpose) {
    case "invitation":
      return [
        `${link.made_by} invites you to ${link.workspace}`,
        `You will be ${article(link.role)} there. The invitation is for ${whose}.`,
        `Join ${link.workspace}`,
      ];
    case "reset":
      return [
        "Choose a new password",
        `This link is for ${whose}. Using it forgets the password there was and ends all sessions.`,
        "Go on",
      ];
    case "invite":
      return [
        "Welcome to Mainspring",
        `${link.made_by || "Somebody"} made an account for ${whose}. This link signs you in, once.`,
        "Sign in",
      ];
    default:
      return ["Sign in", `This link signs ${whose} in, once.`, "Sign in"];
  }
}

function offer(link, who) {
  const same = who !== null && who.user.email.toLowerCase() === link.email.toLowerCase();
  const [title, words, deed] = describe(link);
  byId("link-title").textContent = title;
  byId("link-words").textContent = words;
  const other = who !== null && !same;
  byId("link-other").hidden = !other;
  byId("stay").hidden = !other;
  if (other) {
    byId("link-other").textContent =
      `You are signed in as ${named(who.user)}. Going on signs you out here.`;
    byId("stay").textContent = `Stay signed in as ${named(who.user)}`;
  }
  const first = link.sign_in_first && !same;
  const next = first ? "Sign in to join" : deed;
  byId("use-link").textContent = other ? `Sign out and go on as ${link.email}` : next;
  onPress(
    byId("use-link"),
    async () => {
      if (other) await leave();
      if (!first) {
        await useLink();
        return;
      }
      byId("sign-in-words").textContent = `Sign in as ${link.email} to join ${link.workspace}.`;
      byId("sign-in-words").hidden = false;
      byId("email").value = link.email;
      show("password-form");
    },
    byId("link-form"),
  );
  show("link-form");
}

onSubmit(byId("password-form"), async (given) => {
  const who = await ask("POST", "/session", { email: given.email, password: given.password });
  if (token) await useLink();
  else settle(who);
});

onSubmit(byId("setup-form"), async (given) => {
  const about = { email: given.email };
  if (given.name.trim()) about.name = given.name;
  await ask("PATCH", "/me", about);
  await ask("POST", "/me/password", { password: given.password });
  location.replace(wantedPage());
});

byId("stay").addEventListener("click", () => location.replace("/"));
byId("later").addEventListener("click", (event) => {
  event.preventDefault();
  location.replace(wantedPage());
});

if (!token) {
  show("password-form");
} else {
  show("waiting");
  try {
    const [link, who] = await Promise.all([
      ask("POST", "/session/link/look", { token }),
      whoIsHere(),
    ]);
    offer(link, who);
  } catch (problem) {
    token = "";
    show("password-form");
    say(problem, byId("password-form"));
  }
}
