// The form: what is asked, what is never seen, and how long a network may learn it.

import { byId, duration, make } from "./dom.js";

/**
 * @typedef {import("./api.js").Choice} Choice
 * @typedef {import("./api.js").Setup} Setup
 * @typedef {{name: string, effort: string, about: string, settings: Record<string, any>}} Preset
 * @typedef {{presets: Preset[], operation: Record<string, string>, split: Record<string, string>,
 *   symbols: Record<string, string>, model: Record<string, string>,
 *   more: {name: string, kind: string, about: string}[]}} Catalogue
 */

const OWN = "own"; // pairs that the person chooses
const EXPRESSION = "expression";

export class Form {
  /** @param {Catalogue} catalogue @param {Choice} choice @param {(changed: string) => void} onChange */
  constructor(catalogue, choice, onChange) {
    this.catalogue = catalogue;
    this.choice = choice;
    this.onChange = onChange;
    fill(byId("split"), { [OWN]: "the pairs that I choose", ...titled(catalogue.split) });
    fill(byId("operation"), { ...titled(catalogue.operation), [EXPRESSION]: "an expression…" });
    fill(byId("symbols"), titled(catalogue.symbols));
    fill(byId("model"), titled(catalogue.model));
    this.#efforts();
    this.#more();
    byId("split").addEventListener("change", () => {
      const split = byId("split").value;
      this.set("split", split === OWN ? this.pairs ?? [] : split);
    });
    byId("fold").addEventListener("change", () => {
      this.choice.fold = Number(byId("fold").value);
      this.onChange("fold");
    });
    byId("clear").addEventListener("click", () => this.set("split", []));
    byId("operation").addEventListener("change", () => {
      const chosen = byId("operation").value;
      byId("expression-field").hidden = chosen !== EXPRESSION;
      if (chosen !== EXPRESSION) this.set("operation", chosen);
      else {
        byId("expression").value ||= "max(a, b)";
        byId("expression").focus();
        this.set("operation", byId("expression").value);
      }
    });
    byId("expression").addEventListener("input", () => this.set("operation", byId("expression").value));
    for (const name of ["symbols", "model", "seed"]) {
      byId(name).addEventListener(name === "seed" ? "input" : "change", () => this.set(name, byId(name).value));
    }
    /** @type {(number | string)[][] | null} */
    this.pairs = null; // those of the present setup, from which a person's own choice begins
  }

  /** Change a setting; one that is as in the preset is not kept. @param {string} name @param {any} value */
  set(name, value) {
    if (name === "split") this.choice.fold = 1;
    if (Array.isArray(value)) delete this.choice.settings.unseen; // how many: a list says that itself
    if (String(value) === String(this.preset.settings[name] ?? "") && !Array.isArray(value)) delete this.choice.settings[name];
    else this.choice.settings[name] = value;
    this.onChange(name);
  }

  /** @returns {Preset} */
  get preset() {
    return this.catalogue.presets.find((each) => each.name === this.choice.preset) ?? this.catalogue.presets[0];
  }

  /** @param {string} name */
  value(name) {
    return this.choice.settings[name] ?? this.preset.settings[name] ?? "";
  }

  #efforts() {
    const { presets } = this.catalogue;
    const choose = (/** @type {string} */ name) => {
      this.choice.preset = name;
      delete this.choice.settings.model;
      this.onChange("preset");
    };
    byId("efforts").replaceChildren(
      ...presets.filter((each) => each.effort).map((preset) =>
        make("label", { class: "effort", title: preset.about },
          make("input", { type: "radio", name: "preset", value: preset.name, onchange: () => choose(preset.name) }),
          make("b", { text: preset.effort }), make("small", { text: preset.name, "data-effort": preset.name }))),
    );
    const recipes = Object.fromEntries(presets.map(({ name, about }) => [name, about]));
    fill(byId("preset"), titled(recipes));
    byId("preset").addEventListener("change", () => choose(byId("preset").value));
  }

  #more() {
    byId("more-fields").replaceChildren(...this.catalogue.more.map(({ name, kind, about }) => {
      const input = kind === "bool"
        ? make("select", { id: `more-${name}` }, make("option", { value: "true", text: "yes" }), make("option", { value: "false", text: "no" }))
        : make("input", { id: `more-${name}`, type: kind === "str" ? "text" : "number", step: kind === "int" ? 1 : "any" });
      input.addEventListener(kind === "bool" ? "change" : "input", () => {
        if (input.value === "") {
          delete this.choice.settings[name];
          this.onChange(name);
        } else this.set(name, input.value);
      });
      return make("label", { class: "field" }, name.replaceAll("_", " "), input, make("small", { text: about }));
    }));
  }

  /** Show what is chosen, as the server has understood it. @param {Setup} setup */
  show(setup) {
    this.choice.settings = { ...setup.settings };
    this.choice.preset = setup.preset;
    this.choice.fold = setup.fold;
    for (const [preset, seconds] of Object.entries(setup.last_seconds)) this.#showSeconds(preset, seconds);
    this.showChoice();
    fill(byId("fold"), Object.fromEntries(Array.from({ length: setup.folds }, (_, at) => [at + 1, { text: String(at + 1) }])));
    byId("fold").value = String(setup.fold);
    byId("fold-field").hidden = setup.folds < 2;
  }

  /** Show the choice in the form, leaving alone what is being typed in. */
  showChoice() {
    const put = (/** @type {any} */ input, /** @type {any} */ value) => {
      if (input !== document.activeElement) input.value = String(value ?? "");
    };
    for (const radio of /** @type {any} */ (document.querySelectorAll("input[name=preset]"))) radio.checked = radio.value === this.choice.preset;
    put(byId("preset"), this.choice.preset);
    const split = this.value("split");
    put(byId("split"), Array.isArray(split) ? OWN : split);
    const operation = String(this.value("operation"));
    const known = operation in this.catalogue.operation;
    const typing = document.activeElement === byId("expression");
    byId("expression-field").hidden = known && !typing;
    put(byId("operation"), known && !typing ? operation : EXPRESSION);
    if (!known) put(byId("expression"), operation);
    for (const name of ["symbols", "model", "seed"]) put(byId(name), this.value(name));
    for (const { name } of this.catalogue.more) put(byId(`more-${name}`), this.value(name));
  }

  /** What the last training with a preset took. @param {string} preset @param {number} seconds */
  #showSeconds(preset, seconds) {
    const about = document.querySelector(`[data-effort="${preset}"]`);
    if (about) about.textContent = `${preset}, last ${duration(seconds)}`;
  }

  /** Say what is wrong with what was changed last; null if nothing is. @param {string} changed @param {string | null} fault */
  showFault(changed, fault) {
    const place = ["split", "fold"].includes(changed) ? "split" : changed === "operation" ? "operation" : "other";
    for (const each of ["split", "operation", "other"]) {
      const said = byId(`error-${each}`);
      said.hidden = fault === null || each !== place;
      said.textContent = said.hidden ? "" : fault;
    }
    byId("expression").setAttribute("aria-invalid", String(fault !== null && place === "operation"));
    byId("seed").setAttribute("aria-invalid", String(fault !== null && changed === "seed"));
  }
}

/** @param {Record<string, string>} about */
const titled = (about) => Object.fromEntries(Object.entries(about).map(([name, text]) => [name, { text: /[/:]/.test(name) ? text : name, title: text }]));

/** @param {any} select @param {Record<string, string | {text: string, title?: string}>} options */
function fill(select, options) {
  const kept = select.value;
  select.replaceChildren(...Object.entries(options).map(([value, given]) => {
    const { text, title } = typeof given === "string" ? { text: given, title: undefined } : given;
    return make("option", { value, text, title });
  }));
  if (kept in options) select.value = kept;
}
