// One recipe: what it makes, what it may do, what it needs, and installing it.

import { ask, isAtLeast, onSubmit } from "./page.js";
import { el, json, link } from "./parts.js";
import { preview } from "./preview.js";

const lines = (title, held) => (held.length ? [el("h3", {}, title), el("ul", { class: "grants" }, ...held)] : []);

// What is filled in at the install, as a word: a setting by its name.
const spelt = (text) =>
  text.replace(/\{\{\s*install\.(?:settings\.)?([a-z0-9_.]+)\s*\}\}/g, (_, words) => `<${words.replaceAll(".", " ")}>`);

const because = (reason) => (reason ? el("span", { class: "soft" }, ` ${reason}`) : "");

function needs(recipe, dependencies) {
  const { secrets = [], publisher_secrets: keys = [], connections = [] } = recipe.requires || {};
  const missing = new Set(dependencies.missing.map((one) => one.slug));
  return [
    ...lines("What it may do, once you agree", (recipe.may || []).map((says) => el("li", {}, says))),
    ...lines("Where it may go", (recipe.hosts || []).map((host) => el("li", {}, el("code", {}, spelt(host))))),
    ...lines("Accounts it uses", connections.map((one) =>
      el("li", {}, link(`/integrations/${one.integration}`, one.integration), because(one.reason)))),
    ...lines("Secrets it uses", [...secrets, ...keys].map((one) =>
      el("li", {}, el("code", {}, one.name), because(one.reason)))),
    ...lines("Recipes it needs", dependencies.declared.map((one) =>
      el("li", {}, link(`/codex/${one.slug}`, one.slug),
        missing.has(one.slug) ? " is installed with it." : " is here.", because(one.reason)))),
  ];
}

// A setting as a field; what is left empty is what the recipe says.
function field(one) {
  const id = `setting-${one.name}`;
  const kind = { number: "number", boolean: "checkbox" }[one.type] || "text";
  const given = { id, name: one.name, type: kind, autocomplete: "off", maxlength: "2000" };
  if (kind === "checkbox") given.checked = one.default === true;
  else if (one.default !== undefined) given.value = String(one.default);
  if (kind === "number") given.step = "any";
  given.required = kind !== "checkbox" && one.required !== false && one.default === undefined;
  const free = kind === "checkbox" || given.required || one.default !== undefined;
  const label = el("label", { for: id }, one.label || one.name, free ? "" : el("span", { class: "optional" }, " (optional)"));
  return el("div", {}, label, el("input", given));
}

function settingsOf(recipe, form) {
  const settings = {};
  for (const one of recipe.settings || []) {
    const input = form.elements.namedItem(one.name);
    if (one.type === "boolean") settings[one.name] = input.checked;
    else if (input.value !== "") settings[one.name] = one.type === "number" ? Number(input.value) : input.value;
  }
  return settings;
}

// Boards and workflows have no page; a command shows them. A name in it is quoted.
const WHERE = { board: "boards", workflow: "workflows" };
const quoted = (name) => (/^[\w-]+$/.test(name) ? name : `'${name.replaceAll("'", `'"'"'`)}'`);
const whereabouts = (one) =>
  one.kind in WHERE ? [": ", el("code", {}, `mainspring ${WHERE[one.kind]} show ${quoted(one.name)}`)] : [];

function made(answer) {
  const all = [answer.created, ...(answer.cascade_installed || [])];
  const automations = all.filter((one) => one.kind === "automation");
  const held = all.map((one) => el("li", {}, one.kind === "automation" ? link(`/automations/${one.id}`, one.name) : one.name,
    el("span", { class: "soft" }, ` ${one.kind}`), ...whereabouts(one)));
  const next = automations.length
    ? "Nothing runs yet: look at what it may do, agree, and activate it."
    : "It is there now.";
  return [el("h2", {}, "Installed"), el("ul", {}, ...held), el("p", {}, next)];
}

function installing(recipe, place) {
  const settings = recipe.settings || [];
  const form = el(
    "form",
    { "aria-label": `Install ${recipe.name}`, autocomplete: "off" },
    el("h2", {}, settings.length ? "Settings" : "Install"),
    el("p", { class: "problem", role: "alert", hidden: true }),
    settings.length ? el("p", { class: "soft" }, "Only you can know these; they are filled in where the recipe names them.") : "",
    ...settings.map(field),
    el("button", { type: "submit" }, "Install"),
  );
  onSubmit(form, async () => {
    const asked = settingsOf(recipe, form);
    try {
      const answer = await ask("POST", `/recipes/${encodeURIComponent(recipe.slug)}/apply`,
        Object.keys(asked).length ? { overrides: { settings: asked } } : {});
      place.replaceChildren(...made(answer));
    } catch (problem) {
      // The page names its fields as the recipe does, without what they stand in.
      const found = problem.told && problem.told.errors && problem.told.errors[0];
      if (found) found.pointer = found.pointer.replace(/^\/overrides\/settings(?=\/)/, "");
      throw problem;
    }
  });
  return form;
}

export async function showRecipe(place, who, slug) {
  const name = encodeURIComponent(slug);
  const [{ recipe }, dependencies] = await Promise.all([
    ask("GET", `/recipes/${name}`), ask("GET", `/recipes/${name}/dependencies`),
  ]);
  document.title = `${recipe.name} · Mainspring`;
  const deed = el("section", { "aria-label": "Install" });
  if (isAtLeast(who, "editor")) deed.append(installing(recipe, deed));
  else deed.append(el("p", { class: "soft" }, "Your role here does not install recipes."));
  place.replaceChildren(
    el(
      "section",
      {},
      el("p", { class: "soft" }, link("/codex", "Codex")),
      el("h1", {}, recipe.name),
      el("p", {}, recipe.description),
      el("p", { class: "soft" }, `${recipe.kind}, version ${recipe.version}, by ${recipe.publisher}`),
      ...preview(recipe.preview),
      ...needs(recipe, dependencies),
    ),
    deed,
    el("section", {}, el("details", {}, el("summary", {}, "All of it, as data"), json(recipe.template))),
  );
}
