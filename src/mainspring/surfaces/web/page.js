// What all pages share: asking the API, who is here, and saying at the right place what went wrong.

const API = "/api/v1";
export const byId = (id) => document.getElementById(id);

let csrf = null;
// Whether this page is for people who are signed in: it cannot go on when they are not any more.
let inside = false;

export async function ask(method, path, body) {
  const headers = {};
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (csrf) headers["X-CSRF-Token"] = csrf;
  const answer = await fetch(API + path, {
    method,
    headers,
    body: body === undefined ? undefined : JSON.stringify(body),
    credentials: "same-origin",
  });
  if (answer.status === 401 && inside) return goAndSignIn();
  const told = answer.status === 204 ? null : await answer.json();
  if (!answer.ok) throw Object.assign(new Error("refused"), { status: answer.status, told });
  if (told && "csrf_token" in told) csrf = told.csrf_token;
  return told;
}

// Whoever this browser is signed in as; null for nobody.
export async function whoIsHere() {
  try {
    return await ask("GET", "/session");
  } catch (problem) {
    if (problem.status === 401) return null;
    throw problem;
  }
}

export async function leave() {
  await ask("DELETE", "/session");
  csrf = null;
}

// Where somebody wanted to go who had to sign in first. It is kept by the browser, because a link
// for signing in is often opened in another tab, and forgotten soon.
const WANTED = "mainspring.wanted";
const WANTED_FOR = 15 * 60 * 1000;
const PAGES = /^\/(automations(\/[0-9a-f-]{36})?|inbox|integrations(\/[a-z0-9_]{1,64})?|codex(\/[a-z0-9-]{1,64})?|new|proposals\/[0-9a-f-]{36})(#run-[0-9a-f-]{36})?$/;

function goAndSignIn() {
  try {
    const path = location.pathname + location.hash;
    localStorage.setItem(WANTED, JSON.stringify({ path, at: Date.now() }));
  } catch {
    // A browser that keeps nothing leads to the first page afterwards.
  }
  location.replace("/sign-in");
  // The page is on its way out: whoever waits for an answer waits until then.
  return new Promise(() => {});
}

export function wantedPage() {
  try {
    const wanted = JSON.parse(localStorage.getItem(WANTED));
    localStorage.removeItem(WANTED);
    const fresh = Date.now() - wanted.at < WANTED_FOR;
    return fresh && PAGES.test(wanted.path) ? wanted.path : "/";
  } catch {
    return "/";
  }
}

// Fills a page for whoever is signed in; all others sign in first and come back.
export async function arrive(fill) {
  inside = true;
  try {
    const who = await ask("GET", "/session");
    byId("sign-out").hidden = false;
    onPress(byId("sign-out"), async () => {
      await leave();
      location.replace("/sign-in");
    });
    await fill(who);
  } catch (problem) {
    say(problem);
  } finally {
    byId("content").hidden = false;
  }
}

const ROLES = ["viewer", "operator", "editor", "admin", "owner"];
// Pages hide what a role may not do; the API refuses it in any case.
export const isAtLeast = (who, role) => ROLES.indexOf(who.role) >= ROLES.indexOf(role);

export function sentence(problem) {
  const told = problem && problem.told;
  if (!told) return "The server does not answer. Try again in a moment.";
  const found = told.errors && told.errors[0];
  let words = found ? found.detail : told.detail;
  if (told.retry_after) words += ` Try again in ${Math.ceil(told.retry_after)} seconds.`;
  else if (!found && told.suggestion) words += ` ${told.suggestion}`;
  return words;
}

// Problems that name no field, though they are about one.
const ABOUT = { email_taken: "email" };

function fieldOf(form, problem) {
  const told = problem.told;
  if (!told) return null;
  const found = told.errors && told.errors[0];
  const name = found ? found.pointer.slice(1).split("/")[0] : ABOUT[told.code];
  const field = name && form.elements.namedItem(name);
  return field instanceof HTMLElement ? field : null;
}

// At the field that it is about; else below the form's heading, or at the top of the page.
export function say(problem, form) {
  const field = form && fieldOf(form, problem);
  if (!field) {
    const place = (form && form.querySelector(".problem")) || byId("notice");
    place.textContent = sentence(problem);
    place.hidden = false;
    return;
  }
  const place = document.createElement("p");
  place.className = "field-problem";
  place.id = `${field.id}-problem`;
  place.textContent = sentence(problem);
  field.after(place);
  field.setAttribute("aria-invalid", "true");
  field.setAttribute("aria-errormessage", place.id);
  field.focus();
}

function hush(form) {
  byId("notice").hidden = true;
  for (const place of form.querySelectorAll(".problem, .done")) place.hidden = true;
  for (const place of form.querySelectorAll(".field-problem")) place.remove();
  for (const field of form.querySelectorAll("[aria-invalid]")) {
    field.removeAttribute("aria-invalid");
    field.removeAttribute("aria-errormessage");
  }
}

export function onSubmit(form, work) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const button = form.querySelector("button[type=submit]");
    button.disabled = true;
    hush(form);
    try {
      await work(Object.fromEntries(new FormData(form)));
    } catch (problem) {
      say(problem, form);
    } finally {
      button.disabled = false;
    }
  });
}

// One button that does one thing.
export function onPress(button, work, form) {
  button.addEventListener("click", async () => {
    button.disabled = true;
    byId("notice").hidden = true;
    try {
      await work();
    } catch (problem) {
      say(problem, form);
    } finally {
      button.disabled = false;
    }
  });
}

// The owner is called so until they have said who they are.
export const isUnnamed = (user) => user.email.endsWith("@localhost");
