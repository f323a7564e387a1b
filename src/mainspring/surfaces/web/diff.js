// What is different between two versions, for somebody to read: lines of text that go and come,
// and other values before and after.

import { el, json } from "./parts.js";
import { stepLine } from "./definition.js";
import { visible } from "./words.js";

const AROUND = 3;
// Beyond this many pairs of lines the comparison would hold up the page.
const MOST_PAIRS = 4000000;
const SHORT = 60;
const WORDS = { add: "New", remove: "Gone", replace: "Changed", move: "Moved" };

const linesOf = (text) => text.replace(/\n$/, "").split("\n");

// The lines of both texts in order, each with "-" if it goes, "+" if it comes, " " if it stays.
export function lineDiff(before, after) {
  const [old, now] = [linesOf(before), linesOf(after)];
  let head = 0;
  while (head < old.length && head < now.length && old[head] === now[head]) head += 1;
  let tail = 0;
  const room = Math.min(old.length, now.length) - head;
  while (tail < room && old[old.length - 1 - tail] === now[now.length - 1 - tail]) tail += 1;
  const marked = (mark) => (line) => [mark, line];
  return [
    ...old.slice(0, head).map(marked(" ")),
    ...between(old.slice(head, old.length - tail), now.slice(head, now.length - tail)),
    ...old.slice(old.length - tail).map(marked(" ")),
  ];
}

function between(old, now) {
  const found = [];
  let [i, j] = [0, 0];
  if (old.length * now.length <= MOST_PAIRS) {
    const width = now.length + 1;
    // How many lines the two have in common from each pair of places on.
    const common = new Uint32Array((old.length + 1) * width);
    for (let a = old.length - 1; a >= 0; a -= 1) {
      for (let b = now.length - 1; b >= 0; b -= 1) {
        common[a * width + b] = old[a] === now[b]
          ? common[(a + 1) * width + b + 1] + 1
          : Math.max(common[(a + 1) * width + b], common[a * width + b + 1]);
      }
    }
    while (i < old.length && j < now.length) {
      if (old[i] === now[j]) {
        found.push([" ", old[i]]);
        [i, j] = [i + 1, j + 1];
      } else if (common[(i + 1) * width + j] >= common[i * width + j + 1]) {
        found.push(["-", old[i]]);
        i += 1;
      } else {
        found.push(["+", now[j]]);
        j += 1;
      }
    }
  }
  for (; i < old.length; i += 1) found.push(["-", old[i]]);
  for (; j < now.length; j += 1) found.push(["+", now[j]]);
  return found;
}

// The same with only a few lines around each difference; null stands for what was left out.
export function shortened(lines) {
  const near = new Set();
  lines.forEach(([mark], place) => {
    if (mark === " ") return;
    for (let by = -AROUND; by <= AROUND; by += 1) near.add(place + by);
  });
  const shown = [];
  lines.forEach((line, place) => {
    if (near.has(place)) shown.push(line);
    else if (shown.at(-1) !== null) shown.push(null);
  });
  return shown;
}

function diffBlock(before, after, label) {
  const names = { "+": "ins", "-": "del", " ": "span" };
  const lines = shortened(lineDiff(before, after)).map((line) =>
    line ? el(names[line[0]], {}, `${line[0]} ${visible(line[1])}\n`) : el("span", { class: "soft" }, "…\n"));
  return el("pre", { class: "data diff", tabindex: "0", role: "region", "aria-label": label }, ...lines);
}

const isText = (value) => typeof value === "string";
const isStep = (value) => Boolean(value && value.step_id && value.action);

function shownValue(value) {
  if (isStep(value)) return el("ol", { class: "plan" }, stepLine(value));
  const spelt = JSON.stringify(value) ?? "nothing";
  return spelt.length > SHORT ? json(value) : el("code", {}, visible(spelt));
}

export function changeLine(one) {
  const head = [`${WORDS[one.op] || one.op}: `, el("code", {}, one.pointer || "/")];
  if (one.op === "move") return el("li", {}, ...head, " from ", el("code", {}, one.from));
  if (one.op === "add") return el("li", {}, ...head, " ", shownValue(one.after));
  if (one.op === "remove") return el("li", {}, ...head, " ", shownValue(one.before));
  const lines = isText(one.before) && isText(one.after) && `${one.before}${one.after}`.includes("\n");
  if (lines) return el("li", {}, ...head, diffBlock(one.before, one.after, `What changes in ${one.pointer}`));
  return el("li", {}, ...head, " ", shownValue(one.before), " → ", shownValue(one.after));
}
