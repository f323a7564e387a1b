"""The scripts of the pages, run without a browser."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any, Final

from mainspring.actions.script.sandbox.place import find_deno
from mainspring.surfaces import web

_FOLDER: Final = Path(web.__file__).parent
# As much of a document as the parts of a page need to be put together.
PAPER: Final = """
    class Paper {
      constructor(name) { Object.assign(this, { name, held: [] }); }
      setAttribute() {}
      append(...more) { this.held.push(...more); }
      get text() { return this.held.map((one) => one.text ?? one).join(""); }
    }
    Object.defineProperty(globalThis, "document", {
      value: { createElement: (name) => new Paper(name) },
    });
"""
# As much of it as a form needs: what is written, what is heard, and who is found by an id.
DESK: Final = """
    const known = new Map();
    class Leaf {
      constructor(name) {
        Object.assign(this, { name, held: [], attributes: {}, heard: {} });
        Object.assign(this, { className: "", value: "" });
        this.tagName = name.toUpperCase();
        this.classList = { toggle: (word, on) => {
          const words = this.className.split(" ").filter((one) => one && one !== word);
          this.className = (on ? [...words, word] : words).join(" ");
        } };
      }
      setAttribute(key, value) {
        this.attributes[key] = value;
        if (key === "id") this.id = value;
        if (key === "value") this.value = value;
        if (["hidden", "required", "disabled"].includes(key)) this[key] = true;
      }
      removeAttribute(key) { delete this.attributes[key]; }
      set id(value) { this.attributes.id = value; known.set(value, this); }
      get id() { return this.attributes.id; }
      get dataset() { return { at: this.attributes["data-at"] }; }
      append(...more) {
        for (const one of more) { if (one instanceof Leaf) one.parent = this; this.held.push(one); }
      }
      replaceChildren(...more) { this.held = []; this.append(...more); }
      remove() { this.parent.held = this.parent.held.filter((one) => one !== this); }
      addEventListener(name, work) { this.heard[name] = work; }
      fire(name) { this.heard[name]?.({}); }
      closest() { return null; }
      *all() {
        for (const one of this.held) if (one instanceof Leaf) { yield one; yield* one.all(); }
      }
      querySelectorAll(wanted) {
        const words = wanted.startsWith(".") ? wanted.split(".").slice(1) : ["none"];
        const has = (one) => words.every((word) => one.className.split(" ").includes(word));
        return [...this.all()].filter(has);
      }
      querySelector(wanted) {
        const radios = [...this.all()].filter((one) => one.attributes.type === "radio");
        const value = /value="([^"]+)"/.exec(wanted)?.[1];
        const fits = (one) => (value === undefined ? one.checked : one.value === value);
        return radios.find(fits) ?? null;
      }
      get text() { return this.held.map((one) => one.text ?? one).join(""); }
    }
    const byId = (id) => known.get(id) ?? null;
    const page = (id) => Object.assign(new Leaf("div"), { id });
    Object.defineProperty(globalThis, "document", {
      value: { createElement: (name) => new Leaf(name), getElementById: byId },
    });
"""


def worked_out(body: str, tmp_path: Path) -> Any:
    """What a module of a few lines writes as JSON."""
    told = subprocess.run(
        [find_deno(), "run", "--no-config", "--no-lock", "--no-remote", "--no-prompt", "-"],
        input=body.replace("@/", f"{_FOLDER.as_uri()}/"),
        env={"PATH": os.environ["PATH"], "DENO_DIR": str(tmp_path), "DENO_NO_UPDATE_CHECK": "1"},
        cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert told.returncode == 0, told.stderr
    return json.loads(told.stdout)
