// Integrations: what a person is connected to, how each connection fares, and connecting.

import { arrive, ask, byId, isAtLeast, onPress, onSubmit } from "./page.js";
import { el, link, tell } from "./parts.js";
import { away, moment } from "./words.js";
import { chat, reading, readerOf } from "./reading.js";
import { clientForm, providerOf } from "./clients.js";

let who;

const STATES = {
  ready: ["connected", "good"],
  reconnect: ["connect it again", "bad"],
  not_connected: ["not connected", ""],
  not_needed: ["needs no connection", "good"],
  operator: ["not set up by the operator", ""],
  secret_missing: ["needs a secret", ""],
};
const HEALTH = {
  ok: "works", failing: "fails at the moment", reconnect: "is not let in", unknown: "not used yet",
};

const wanted = () => decodeURIComponent(location.pathname.split("/")[2] || "");

function stateBadge(one) {
  const [words, tone] = STATES[one.state];
  return el("span", { class: `badge ${tone}` }, words);
}

const timed = (text) => el("time", { datetime: text, title: moment(text) }, away(text));

function abilities(one) {
  const { fetch, act, adapter } = one.supports;
  const words = [(fetch || one.polls) && "reads", act && "writes", adapter && "fills boards"].filter(Boolean);
  return words.join(", ") || "sign-in only";
}

// What wants somebody comes first, then what works, then what could.
const ORDER = ["reconnect", "ready", "not_needed", "not_connected", "secret_missing", "operator"];
const ordered = (all) => [...all].sort((one, other) => ORDER.indexOf(one.state) - ORDER.indexOf(other.state));

const called = (one) => `${one.label}${one.account ? ` (${one.account})` : ""}`;

const again = (one) => el("p", { class: "problem" },
  `${called(one)} has to be connected again. What uses it is blocked until then. `,
  link(one.connect_url, `Connect ${one.label} again`));

function row(one) {
  const health = one.connection;
  return el(
    "li",
    {},
    el(
      "div",
      { class: "named" },
      link(one.connect_url, one.label),
      el("span", { class: "goal soft" }, one.description),
    ),
    el("div", {}, stateBadge(one)),
    el("div", { class: "soft" }, one.account || "", el("span", { class: "line" }, abilities(one))),
    el("div", { class: "soft" }, health ? HEALTH[health.health] : "", el("span", { class: "line" }, `${one.tier} tier`)),
  );
}

function facts(one) {
  const health = one.connection;
  const pairs = [["State", stateBadge(one)], ["Does", abilities(one)], ["Quality", `${one.tier} tier`]];
  if (one.account) pairs.push(["Account", one.account]);
  if (health) {
    pairs.push(["Health", HEALTH[health.health]]);
    if (health.last_ok_at) pairs.push(["Last worked", timed(health.last_ok_at)]);
    if (health.last_failed_at) pairs.push(["Last failed", timed(health.last_failed_at)]);
    if (health.scopes.length) pairs.push(["Agreed to", health.scopes.join(", ")]);
    for (const { name, label } of one.fields) {
      if (health.settings[name] !== undefined) pairs.push([label, String(health.settings[name])]);
    }
  }
  return el("dl", {}, ...pairs.flatMap(([name, held]) => [el("dt", {}, name), el("dd", {}, held)]));
}

// Why it does not work, and which connection that is about.
function trouble(one) {
  const health = one.connection;
  if (!health || !health.last_error) return null;
  const { detail, suggestion } = health.last_error;
  const place = el("p", { class: "problem", role: "status" }, detail);
  if (one.state !== "reconnect" && suggestion) place.append(` ${suggestion}`);
  return place;
}

function field(one, set) {
  const id = `field-${one.name}`;
  const held = set && set[one.name] !== undefined ? set[one.name] : one.default;
  const hint = one.help ? el("p", { class: "hint", id: `${id}-hint` }, one.help) : null;
  const given = {
    id,
    name: one.name,
    type: one.secret ? "password" : one.type === "integer" ? "number" : "text",
    autocomplete: "off",
    maxlength: "8192",
    required: one.required && one.default === null,
    value: held === null ? null : String(held),
    "aria-describedby": hint && hint.id,
  };
  const input = one.type === "boolean"
    ? el("input", { ...given, type: "checkbox", required: false, checked: held === true })
    : el("input", given);
  const label = el("label", { for: id }, one.label);
  if (!one.required) label.append(el("span", { class: "optional" }, " (may be left out)"));
  return el("div", {}, label, input, hint);
}

function values(one, form) {
  const fields = {};
  for (const { name, type } of one.fields) {
    const input = form.elements.namedItem(name);
    if (type === "boolean") fields[name] = input.checked;
    // What was followed and is not any more is said too.
    else if (one.auth === "oauth" && type === "string") fields[name] = input.value;
    else if (input.value !== "") fields[name] = type === "integer" ? Number(input.value) : input.value;
  }
  return fields;
}

function fieldsForm(one, words, told) {
  const set = one.connection && one.connection.settings;
  const form = el(
    "form",
    { "aria-label": `Connect ${one.label}`, autocomplete: "off" },
    el("p", { class: "problem", role: "alert", hidden: true }),
    ...one.fields.map((each) => field(each, set)),
    el("button", { type: "submit" }, words),
  );
  onSubmit(form, async () => {
    try {
      await ask("POST", `/integrations/${one.name}/connect`, { fields: values(one, form) });
    } catch (problem) {
      // The page names its fields as the integration does, without what they stand in.
      const found = problem.told && problem.told.errors && problem.told.errors[0];
      if (found) found.pointer = found.pointer.replace(/^\/fields(?=\/)/, "");
      throw problem;
    }
    await show(one.name);
    tell(told);
  });
  return form;
}

function signIn(one) {
  const words = one.state === "reconnect" || one.connection ? "Connect again" : "Connect";
  const button = el("button", { type: "button" }, words);
  onPress(button, async () => {
    const { sign_in_url: address } = await ask("POST", `/integrations/${one.name}/sign-in`);
    // Only a web address is ever opened, whatever a manifest says.
    if (!/^https?:\/\//.test(address)) throw new Error("no address");
    location.assign(address);
  });
  return button;
}

function test(one) {
  const button = el("button", { type: "button", class: "second" }, "Test the connection");
  onPress(button, async () => {
    const answer = await ask("POST", `/integrations/${one.name}/test`);
    await show(one.name);
    tell(answer.works ? `${one.label} works.` : answer.problem.detail);
  });
  return button;
}

function disconnect(one) {
  const button = el("button", { type: "button", class: "second" }, "Disconnect");
  onPress(button, async () => {
    if (!confirm(`Disconnect ${one.label}? Automations that use it are blocked until it is connected again.`)) return;
    await ask("DELETE", `/integrations/${one.name}/connection`);
    await show(one.name);
    tell(`${one.label} is disconnected.`);
  });
  return button;
}

function connecting(one) {
  if (!isAtLeast(who, "editor")) {
    return [el("p", { class: "soft" }, "Your role here does not connect accounts.")];
  }
  const words = one.connection ? "Connect again" : "Connect";
  if (one.auth === "oauth") return [el("p", {}, one.how), signIn(one)];
  if (one.auth === "token") return [el("p", {}, one.how), fieldsForm(one, words, `${one.label} is connected.`)];
  return [el("p", {}, one.how)];
}

// What an account that was signed in for is to follow there.
function following(one) {
  if (one.auth !== "oauth" || !one.connection || !one.fields.length || !isAtLeast(who, "editor")) return null;
  return el("section", {}, el("h2", {}, "What to follow"), fieldsForm(one, "Keep this", "Kept."));
}

function connectPart(one, provider) {
  // Without a client nobody can sign in: what an admin does first stands there instead.
  if (provider && !provider.has_client) return null;
  if (one.state === "ready" && one.connection) {
    return el("section", {}, el("details", {}, el("summary", {}, "Connect again, or with another account"), ...connecting(one)));
  }
  return el("section", {}, el("h2", {}, one.connection ? "Connect again" : "Connect"), ...connecting(one));
}

function fill(one, reader, provider) {
  document.title = `${one.label} · Mainspring`;
  const why = trouble(one);
  const prompt = one.state === "reconnect" && !why
    ? el("p", { class: "problem", role: "alert" }, `${called(one)} has to be connected again.`)
    : null;
  const buttons = one.connection ? [el("div", { class: "deeds" }, test(one), disconnect(one))] : [];
  const refresh = async (words) => {
    await show(one.name);
    tell(words);
  };
  const connects = connectPart(one, provider);
  const goesOn = isAtLeast(who, "editor") ? [following(one), reading(one, reader, refresh), chat(one, reader)] : [];
  const parts = one.state === "ready" ? [...goesOn, connects] : [connects, ...goesOn];
  byId("one").replaceChildren(
    el("section", {},
      el("p", {}, link("/integrations", "All integrations")),
      el("h1", {}, one.label), el("p", { class: "soft" }, one.description),
      ...[prompt, why].filter(Boolean), facts(one), ...buttons),
    ...parts.filter(Boolean), ...(provider ? [clientForm(one, provider, refresh)] : []),
  );
  byId("one").hidden = false;
}

async function show(name) {
  const { integrations } = await ask("GET", "/integrations");
  const one = integrations.find((found) => found.name === name);
  if (!one) {
    byId("notice").textContent = "There is no such integration here.";
    byId("notice").hidden = false;
    return;
  }
  const [reader, provider] = await Promise.all([readerOf(one), providerOf(one, isAtLeast(who, "admin"))]);
  fill(one, reader, provider);
}

async function showAll() {
  const { integrations } = await ask("GET", "/integrations");
  byId("again").replaceChildren(...integrations.filter((one) => one.state === "reconnect").map(again));
  byId("none").hidden = integrations.some((one) => one.connection);
  byId("integrations").replaceChildren(...ordered(integrations).map(row));
  byId("list").hidden = false;
}

await arrive(async (found) => {
  who = found;
  await (wanted() ? show(wanted()) : showAll());
});
