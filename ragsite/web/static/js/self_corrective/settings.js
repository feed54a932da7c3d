// The settings panel: a preset or numbers of one's own, kept in this browser.
import { collectionLabel, findCollection } from "../collection_names.js";
import { h, query, replace, store } from "../dom.js";
import { gettext } from "../i18n.js";

/** @type {Record<string, [string, string]>} */
const PRESETS = {
  standard: [gettext("Standard"), gettext("Answers once most of what was found is relevant.")],
  strict: [gettext("Strict"), gettext("Answers only when nearly all of it is relevant; takes longer.")],
  relaxed: [gettext("Relaxed"), gettext("Answers sooner, with less certainty.")],
  custom: [gettext("Custom"), gettext("Your own numbers.")],
};
const TOP_K_MAX = 20;
const percent = (/** @type {number} */ value) => `${Math.round(value * 100)} %`;

/**
 * @typedef {keyof Api.SelfCorrectiveNumbers} Name
 * @typedef {{label: string, help: string, min: number, max: number, step: number, show: (value: number) => string}} Row
 * @typedef {Api.SelfCorrectiveNumbers & {collection?: string, forceGenerate: boolean}} Values
 */

export class Settings {
  /**
   * @param {HTMLElement} form
   * @param {Pick<Boot.SelfCorrective, "defaults" | "presets" | "force_generate" | "limits" | "collections" | "username">} boot
   */
  constructor(form, boot) {
    this.form = form;
    this.boot = boot;
    /** @type {Record<Name, Row>} */
    this.rows = {
      topK: { label: gettext("Documents per search"), help: gettext("How many documents are found and graded."), min: 1, max: Math.min(TOP_K_MAX, boot.limits.top_k), step: 1, show: String },
      similarityThreshold: { label: gettext("Minimum similarity"), help: gettext("Left as it is, only for documents that share no words with the query; else for all."), min: 0, max: 1, step: 0.05, show: percent },
      maxRewriteAttempts: { label: gettext("Maximum rewrites"), help: gettext("Two or three are usually enough."), min: 0, max: boot.limits.rewrites, step: 1, show: (value) => (value ? String(value) : gettext("none")) },
      gradePassThreshold: { label: gettext("Pass rate needed"), help: gettext("The share of relevant documents that is enough."), min: 0, max: 1, step: 0.05, show: percent },
    };
    /** @type {Values} */
    this.values = { ...boot.defaults, forceGenerate: boot.force_generate, ...this.stored() };
    /** @type {{name: Name, input: HTMLInputElement, output: HTMLOutputElement}[]} */
    this.sliders = [];
    this.help = h("p", { class: "field-help" });
    this.draw();
  }

  get names() {
    return /** @type {Name[]} */ (Object.keys(this.rows));
  }

  /** What was kept and may still be chosen. @returns {Partial<Values>} */
  stored() {
    let kept;
    try {
      kept = JSON.parse(store.get("self_corrective") || "{}") || {};
    } catch {
      return {};
    }
    const inRange = this.names.filter((name) => kept[name] >= this.rows[name].min && kept[name] <= this.rows[name].max);
    const row = findCollection(this.boot.collections, kept.collection, this.boot.username);
    return { ...Object.fromEntries(inRange.map((name) => [name, kept[name]])), ...(row ? { collection: row.id } : {}),
      ...(typeof kept.forceGenerate === "boolean" ? { forceGenerate: kept.forceGenerate } : {}) };
  }

  get preset() {
    const { defaults, presets } = this.boot;
    if (this.names.some((name) => name !== "gradePassThreshold" && this.values[name] !== defaults[name])) return "custom";
    return Object.keys(presets).find((name) => presets[name] === this.values.gradePassThreshold) || "custom";
  }

  draw() {
    const presets = h("fieldset", { class: "segments presets" }, h("legend", { class: "visually-hidden" }, gettext("Preset")),
      Object.entries(PRESETS).map(([name, [label]]) => h("label", {},
        h("input", { type: "radio", name: "preset", value: name, onchange: () => this.choose(name) }), h("span", {}, label))));
    const collection = h("select", { id: "set-collection", name: "collection", onchange: (event) => this.change({ collection: event.target.value }) },
      h("option", { value: "" }, gettext("Those searched by default")),
      this.boot.collections.map((row) => h("option", { value: row.id }, collectionLabel(row, this.boot.collections, this.boot.username))));
    collection.value = this.values.collection || "";
    const forced = h("input", { type: "checkbox", id: "set-forced", name: "forceGenerate", checked: this.values.forceGenerate, "aria-describedby": "set-forced-help", onchange: (event) => this.change({ forceGenerate: event.target.checked }) });
    replace(this.form, presets, this.help, this.names.map((name) => this.slider(name)),
      h("div", { class: "field" }, h("label", { for: "set-forced" }, forced, " ", gettext("Answer in any case")),
        h("p", { class: "field-help", id: "set-forced-help" }, gettext("From the nearest documents where none has passed."))),
      h("div", { class: "field" }, h("label", { for: "set-collection" }, gettext("Collection")), collection));
    this.form.addEventListener("submit", (event) => event.preventDefault());
    this.show();
  }

  /** @param {Name} name */
  slider(name) {
    const { label, help, min, max, step } = this.rows[name];
    const id = `set-${name}`;
    const output = h("output", { for: id });
    const input = h("input", { type: "range", id, name, min, max, step, "aria-describedby": `${id}-help`, oninput: (event) => this.change({ [name]: Number(event.target.value) }) });
    this.sliders.push({ name, input, output });
    return h("div", { class: "field slider" }, h("label", { for: id }, label, output), input, h("p", { class: "field-help", id: `${id}-help` }, help));
  }

  /** @param {string} name of a preset */
  choose(name) {
    if (name === "custom") {
      this.sliders[0].input.focus();
      this.show(true);
      return;
    }
    const { collection, forceGenerate } = this.values;
    this.values = { ...this.boot.defaults, collection, forceGenerate, gradePassThreshold: this.boot.presets[name] };
    this.keep();
  }

  /** @param {Partial<Values>} changes */
  change(changes) {
    Object.assign(this.values, changes);
    this.keep();
  }

  keep() {
    store.set("self_corrective", JSON.stringify(this.values));
    this.show();
  }

  show(custom = false) {
    const preset = custom ? "custom" : this.preset;
    for (const { name, input, output } of this.sliders) {
      input.value = String(this.values[name]);
      output.textContent = this.rows[name].show(this.values[name]);
      input.setAttribute("aria-valuetext", output.textContent);
    }
    query(this.form, `input[value="${preset}"]`, HTMLInputElement).checked = true;
    this.help.textContent = PRESETS[preset][1];
  }

  /** The fields of a request besides its query. A similarity that nobody has set is not named: it would bind. @returns {Omit<Api.SelfCorrectiveAsk, "query" | "sessionId">} */
  request() {
    const { collection, similarityThreshold, ...numbers } = this.values;
    const isSet = similarityThreshold !== this.boot.defaults.similarityThreshold;
    return { ...numbers, ...(isSet ? { similarityThreshold } : {}), ...(collection ? { milvusConfig: { collectionName: collection } } : {}) };
  }
}
