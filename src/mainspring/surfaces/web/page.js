// The two pages before there are others. A link's token stands behind the # of the address,
// which browsers send to nobody; it is taken out of the address before anything else is done.

const API = "/api/v1";
const byId = (id) => document.getElementById(id);

let csrf = null;

async function ask(method, path, body) {
  const headers = {};
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (csrf) headers["X-CSRF-Token"] = csrf;
  const answer = await fetch(API + path, {
    method,
    headers,
    body: body === undefined ? undefined : JSON.stringify(body),
    credentials: "same-origin",
  });
  const told = answer.status === 204 ? null : await answer.json();
  if (!answer.ok) throw Object.assign(new Error("refused"), { status: answer.status, told });
  if (told && told.csrf_token) csrf = told.csrf_token;
  return told;
}

function say(problem) {
  const notice = byId("notice");
  const told = problem && problem.told;
  const found = told && told.errors && told.errors[0];
  let words = "The server does not answer. Try again in a moment.";
  if (told) words = found ? found.detail : told.detail;
  if (told && told.retry_after) words += ` Try again in ${Math.ceil(told.retry_after)} seconds.`;
  if (told && !found && told.suggestion && !told.retry_after) words += ` ${told.suggestion}`;
  notice.textContent = words;
  notice.hidden = false;
}

function show(id) {
  for (const part of document.querySelectorAll("main > section, main > form")) {
    part.hidden = part.id !== id;
  }
  const first = byId(id).querySelector("input");
  if (first) first.focus();
}

function onSubmit(form, work) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const button = form.querySelector("button");
    button.disabled = true;
    byId("notice").hidden = true;
    try {
      await work(Object.fromEntries(new FormData(form)));
    } catch (problem) {
      say(problem);
    } finally {
      button.disabled = false;
    }
  });
}

function settle(who) {
  if (who.user.has_password) {
    location.replace("/");
    return;
  }
  byId("new-name").value = who.user.name;
  byId("new-email").value = who.user.email.endsWith("@localhost") ? "" : who.user.email;
  show("setup-form");
}

async function signInPage() {
  let token = location.hash.slice(1);
  if (token) history.replaceState(null, "", location.pathname);

  const byLink = async () => {
    const used = token;
    const who = await ask("POST", "/session/link", { token: used });
    token = "";
    settle(who);
  };

  onSubmit(byId("password-form"), async (given) => {
    const who = await ask("POST", "/session", { email: given.email, password: given.password });
    if (token) await byLink();
    else settle(who);
  });

  onSubmit(byId("setup-form"), async (given) => {
    await ask("PATCH", "/me", { name: given.name, email: given.email });
    await ask("POST", "/me/password", { password: given.password });
    location.replace("/");
  });

  if (!token) {
    show("password-form");
    return;
  }
  show("waiting");
  try {
    await byLink();
  } catch (problem) {
    if (!problem.told || problem.told.code !== "sign_in_first") token = "";
    say(problem);
    show("password-form");
  }
}

function fillHome(who) {
  const name = who.user.name || who.user.email;
  byId("greeting").textContent = `You are ${name}`;
  byId("who-email").textContent = who.user.email;
  byId("who-workspace").textContent = who.workspace.name;
  byId("who-role").textContent = who.role;
  const others = who.workspaces.filter((one) => one.id !== who.workspace.id);
  byId("switch-form").hidden = others.length === 0;
  byId("workspace").replaceChildren(
    ...others.map((one) => new Option(`${one.name} (${one.role})`, one.id)),
  );
  byId("who").hidden = false;
}

async function homePage() {
  let who;
  try {
    who = await ask("GET", "/session");
  } catch (problem) {
    if (problem.status === 401) location.replace("/sign-in");
    else say(problem);
    return;
  }
  fillHome(who);
  onSubmit(byId("switch-form"), async (given) => {
    fillHome(await ask("POST", "/session/workspace", { workspace_id: given.workspace }));
  });
  byId("sign-out").addEventListener("click", async () => {
    try {
      await ask("DELETE", "/session");
      location.replace("/sign-in");
    } catch (problem) {
      say(problem);
    }
  });
}

if (document.body.dataset.page === "home") homePage();
else signInPage();
