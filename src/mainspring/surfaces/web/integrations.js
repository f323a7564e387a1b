// Integrations: what a person is connected to, how each connection fares, and connecting.

import { arrive, ask, byId, isAtLeast, onPress, onSubmit } from "./page.js";
import { el, link, tell } from "./parts.js";
import { away, moment } from "./words.js";

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
  const words = [fetch && "reads", act && "writes", adapter && "fills boards"].filter(Boolean);
  return words.join(", ") || "sign-in only";
}

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
    el("div", { class: "soft" }, health ? HEALTH[health.health] : ""),
  );
}

function facts(one) {
  const health = one.connection;
  const pairs = [["State", stateBadge(one)], ["It", abilities(one)]];
  if (one.account) pairs.push(["Account", one.account]);
  if (health) {
    pairs.push(["Health", HEALTH[health.health]]);
    if (health.last_ok_at) pairs.push(["Last worked", timed(health.last_ok_at)]);
    if (health.last_failed_at) pairs.push(["Last failed", timed(health.last_failed_at)]);
    if (health.scopes.length) pairs.push(["Agreed to", health.scopes.join(", ")]);
    for (const [name, value] of Object.entries(health.settings)) pairs.push([name, String(value)]);
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

function field(one) {
  const id = `field-${one.name}`;
  const hint = one.help ? el("p", { class: "hint", id: `${id}-hint` }, one.help) : null;
  const given = {
    id,
    name: one.name,
    type: one.secret ? "password" : one.type === "integer" ? "number" : "text",
    autocomplete: "off",
    maxlength: "8192",
    required: one.required && one.default === null,
    value: one.default === null ? null : String(one.default),
    "aria-describedby": hint && hint.id,
  };
  const input = one.type === "boolean"
    ? el("input", { ...given, type: "checkbox", required: false, checked: one.default === true })
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
    else if (input.value !== "") fields[name] = type === "integer" ? Number(input.value) : input.value;
  }
  return fields;
}

function fieldsForm(one) {
  const form = el(
    "form",
    { "aria-label": `Connect ${one.label}`, autocomplete: "off" },
    el("p", { class: "problem", role: "alert", hidden: true }),
    ...one.fields.map(field),
    el("button", { type: "submit" }, one.connection ? "Connect again" : "Connect"),
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
    tell(`${one.label} is connected.`);
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
    fill(answer.integration);
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
  if (one.auth === "oauth") return [el("p", {}, one.how), signIn(one)];
  if (one.auth === "token") return [el("p", {}, one.how), fieldsForm(one)];
  return [el("p", {}, one.how)];
}

function fill(one) {
  document.title = `${one.label} · Mainspring`;
  const why = trouble(one);
  const again = one.state === "reconnect" && !why
    ? el("p", { class: "problem", role: "alert" },
      `${one.label}${one.account ? ` (${one.account})` : ""} has to be connected again.`)
    : null;
  const buttons = one.connection ? [test(one), disconnect(one)] : [];
  byId("one").replaceChildren(
    el("section", {},
      el("p", {}, link("/integrations", "All integrations")),
      el("h1", {}, one.label), el("p", { class: "soft" }, one.description),
      ...[again, why].filter(Boolean), facts(one), ...buttons),
    el("section", {}, el("h2", {}, one.connection ? "Connect again" : "Connect"), ...connecting(one)),
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
  fill(one);
}

async function showAll() {
  const { integrations } = await ask("GET", "/integrations");
  byId("integrations").replaceChildren(...integrations.map(row));
  byId("list").hidden = false;
}

await arrive(async (found) => {
  who = found;
  await (wanted() ? show(wanted()) : showAll());
});
