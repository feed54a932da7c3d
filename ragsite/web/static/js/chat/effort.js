// How thorough the answer is: in a person's words, with every workflow, and which model, one click deeper.
import { api } from "../api.js";
import { h, icon, replace } from "../dom.js";
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
    /** The name of the assistant that decides it, unless the reader does for this conversation. */
    this.assistant = "";
    /** @type {{now: Boot.Effort, chosen: boolean, model: string} | null} the reader's own, while there is an assistant */
    this.own = null;
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

  /** With an assistant, or ("") with none. @param {string} name */
  follow(name) {
    if (name === this.assistant) return;
    const own = this.own ?? { now: this.now, chosen: this.chosen, model: this.model };
    this.own = name ? own : null;
    Object.assign(this, name ? { chosen: false, model: "" } : own);
    this.assistant = name;
    this.show();
  }

  /** Whether the assistant decides how thorough the answer is. */
  get isLeft() {
    return this.assistant !== "" && !this.chosen;
  }

  get workflow() {
    return this.now.workflow;
  }

  /** @returns {{workflow?: string, model?: string, options: Api.Options}} */
  settings() {
    return { ...(this.chosen ? { workflow: this.workflow } : {}), ...(this.model ? { model: this.model } : {}), options: this.isLeft ? {} : this.now.options };
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
    if (!this.assistant) this.kept.set("model", model || null);
    this.show();
  }

  show() {
    const names = [this.isLeft ? gettext("As the assistant") : this.now.label, this.model].filter(Boolean);
    replace(this.button, icon("flow"), h("span", {}, names.join(" · ")), icon("chevron"));
  }

  /** @param {Boot.Effort} one */
  choose(one) {
    this.now = one;
    this.chosen = true;
    if (!this.assistant) {
      this.kept.set("effort", one.is_effort ? one.name : null);
      this.kept.set("workflow", one.is_effort ? null : one.name);
    }
    this.show();
    this.onChange();
  }

  /** Leaves it to the assistant. */
  leave() {
    this.chosen = false;
    this.model = "";
    this.show();
    this.onChange();
  }

  /** @param {Boot.Effort} one @returns {Ui.MenuItem} */
  item(one, checked = one === this.now && !this.isLeft) {
    return { label: one.label, hint: one.hint, checked, radio: true, run: () => this.choose(one) };
  }

  /** @param {string} name @param {boolean} isOwn the site's @returns {Ui.MenuItem} */
  modelItem(name, isOwn) {
    const model = isOwn ? "" : name;
    return { label: name, hint: isOwn ? gettext("The site’s choice") : "", checked: this.model === model, radio: true, run: () => this.chooseModel(model) };
  }

  /** @returns {Ui.MenuItem[]} */
  items() {
    /** @type {Ui.MenuItem[]} */
    const left = this.assistant ? [{ label: gettext("As the assistant"), hint: this.assistant, checked: this.isLeft, radio: true, run: () => this.leave() }] : [];
    const efforts = this.all.filter((one) => one.is_effort).map((one) => this.item(one));
    return [...left, ...efforts, { heading: "" }, { label: gettext("Workflow and model"), icon: "settings", opens: () => this.advanced() }];
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
