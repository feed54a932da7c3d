// How thorough the answer is: in a person's words, with every workflow one click deeper.
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

  /** @returns {{workflow?: string, options: Api.Options}} */
  settings() {
    return { ...(this.chosen ? { workflow: this.workflow } : {}), options: this.now.options };
  }

  show() {
    replace(this.button, icon("flow"), this.now.label, icon("chevron"));
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

  /** @returns {Ui.MenuItem[]} */
  items() {
    return [...this.all.filter((one) => one.is_effort).map((one) => this.item(one)), { heading: "" }, { label: gettext("Advanced"), icon: "settings", opens: () => this.advanced() }];
  }

  /** Every workflow; who chooses one that is an effort has chosen that. @returns {Ui.MenuItem[]} */
  advanced() {
    const workflows = this.all.filter((one) => !one.is_effort);
    return [
      { label: gettext("Back"), icon: "left", back: true, opens: () => this.items() },
      { heading: gettext("Workflow") },
      ...workflows.map((one) => this.item(this.effortOf(one.name) ?? one)),
      { heading: "" },
      { label: gettext("Self-corrective, step by step"), icon: "external", href: this.page },
    ];
  }
}
