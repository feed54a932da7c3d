// How thorough the answer is: in a person's words, with every workflow, and which model, one click deeper.
import { api } from "../api.js";
import { icon, replace } from "../dom.js";
import { gettext } from "../i18n.js";
import { menuButton } from "../ui.js";

/** @typedef {{get: (name: string) => string | null, set: (name: string, value: string | null) => void}} Kept the reader's last choices */

export class Effort {
  /**
   * @param {HTMLElement} button
   * @param {object} options
   * @param {Boot.Effort[]} options.workflows efforts, and the workflows by their own names
   * @param {string} [options.standard] the site's workflow for questions that choose none
   * @param {string} options.page of the self-corrective workflow
   * @param {Kept} options.kept
   * @param {() => unknown} options.onChange
   */
  constructor(button, { workflows, standard = "corrective", page, kept, onChange }) {
    this.button = button;
    this.all = workflows;
    this.page = page;
    this.kept = kept;
    this.onChange = onChange;
    const found = this.find(true, kept.get("effort")) ?? this.find(false, kept.get("workflow"));
    /** Whether the reader has said how to be answered; else that is left to the site. */
    this.chosen = Boolean(found);
    /** The model that writes the answers; "": the site's own. */
    this.model = kept.get("model") ?? "";
    if (this.model) void this.offered(); // it may have gone
    this.now = found ?? this.effortOf(standard) ?? this.find(false, standard) ?? workflows[0];
    this.show();
    menuButton(button, () => this.items(), { align: "start", title: gettext("How thorough the answer is") });
  }

  /** @param {boolean} isEffort @param {string | null} name */
  find(isEffort, name) {
    return this.all.find((one) => one.is_effort === isEffort && one.name === name);
  }

  /** The effort that means no more than this workflow. @param {string} workflow */
  effortOf(workflow) {
    return this.all.find((one) => one.is_effort && one.workflow === workflow && !Object.keys(one.options).length);
  }

  get workflow() {
    return this.now.workflow;
  }

  /** @returns {{workflow?: string, model?: string, options: Api.Options}} */
  settings() {
    return { ...(this.chosen ? { workflow: this.workflow } : {}), ...(this.model ? { model: this.model } : {}), options: this.now.options };
  }

  /** The models that a question may choose, the site's own first. @returns {Promise<string[]>} */
  async offered() {
    /** @type {Api.Status | null} */
    const status = await api.get("/api/status").catch(() => null);
    const models = status?.chat_models ?? [];
    if (models.length && !models.includes(this.model)) this.chooseModel("");
    if (!models.length) this.model = ""; // none can be reached now; the choice is kept for later
    return models;
  }

  /** @param {string} model */
  chooseModel(model) {
    this.model = model;
    this.kept.set("model", model || null);
    this.show();
  }

  show() {
    replace(this.button, icon("flow"), [this.now.label, this.model].filter(Boolean).join(" · "), icon("chevron"));
  }

  /** @param {Boot.Effort} one */
  choose(one) {
    this.now = one;
    this.chosen = true;
    this.kept.set("effort", one.is_effort ? one.name : null);
    this.kept.set("workflow", one.is_effort ? null : one.name);
    this.show();
    this.onChange();
  }

  /** @param {Boot.Effort} one @returns {Ui.MenuItem} */
  item(one, checked = one === this.now) {
    return { label: one.label, hint: one.hint, checked, radio: true, run: () => this.choose(one) };
  }

  /** @param {string} name @param {boolean} isOwn the site's @returns {Ui.MenuItem} */
  modelItem(name, isOwn) {
    const model = isOwn ? "" : name;
    return { label: name, hint: isOwn ? gettext("The site’s choice") : "", checked: this.model === model, radio: true, run: () => this.chooseModel(model) };
  }

  /** @returns {Ui.MenuItem[]} */
  items() {
    return [...this.all.filter((one) => one.is_effort).map((one) => this.item(one)), { heading: "" }, { label: gettext("Advanced"), icon: "settings", opens: () => this.advanced() }];
  }

  /** Every workflow, and the models where there are several; who chooses an effort's workflow has chosen that.
   * @returns {Promise<Ui.MenuItem[]>} */
  async advanced() {
    const [own, ...others] = await this.offered();
    const workflows = this.all.filter((one) => !one.is_effort);
    return [
      { label: gettext("Back"), icon: "left", back: true, opens: () => this.items() },
      { heading: gettext("Workflow") },
      ...workflows.map((one) => this.item(this.effortOf(one.name) ?? one)),
      ...(others.length ? [{ heading: gettext("Model") }, ...[own, ...others].map((name) => this.modelItem(name, name === own))] : []),
      { heading: "" },
      { label: gettext("Self-corrective, step by step"), icon: "external", href: this.page },
    ];
  }
}
