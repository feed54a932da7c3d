// How much is done for an answer: in a person's words, with the workflows' own names one click deeper.
import { icon, replace } from "../dom.js";
import { gettext } from "../i18n.js";
import { menuButton } from "../ui.js";

/**
 * An effort as what a question asks for. Quick is the corrective workflow without the calls that would improve its words.
 * @type {Record<string, {label: string, hint: string, workflow: string, options?: Api.Options}>}
 */
export const EFFORTS = {
  quick: {
    label: gettext("Quick"), hint: gettext("Answers from the first search"), workflow: "corrective",
    options: { rewrite: false, hyde: false, rerank: false },
  },
  careful: { label: gettext("Careful"), hint: gettext("Checks what it found, and searches again when that is weak"), workflow: "corrective" },
  thorough: { label: gettext("Thorough"), hint: gettext("Checks its own answer before you see it; takes longer"), workflow: "dual_loop" },
};
/** @type {Record<string, [string, string]>} */
const WORKFLOWS = {
  corrective: [gettext("Corrective"), gettext("Checks what it found, and searches again when that is weak")],
  self_corrective: [gettext("Self-corrective"), gettext("Grades every passage before answering")],
  dual_loop: [gettext("Dual loop"), gettext("Checks its own answer against the sources")],
  planned: [gettext("Planned"), gettext("Splits a question into steps")],
  react: [gettext("ReAct"), gettext("Rewrites the query until what it finds is enough")],
};
/** The effort that means no more than this workflow; empty: the workflow goes by its own name. @param {string} workflow */
function effortOf(workflow) {
  return Object.keys(EFFORTS).find((name) => EFFORTS[name].workflow === workflow && !EFFORTS[name].options) || "";
}

/** @typedef {{get: (name: string) => string | null, set: (name: string, value: string | null) => void}} Kept the reader's last choices */

export class Effort {
  /**
   * @param {HTMLElement} button
   * @param {object} options
   * @param {string[]} options.workflows
   * @param {string} [options.standard] the site's workflow for questions that choose none
   * @param {string} options.page of the self-corrective workflow
   * @param {Kept} options.kept
   * @param {() => unknown} options.onChange
   */
  constructor(button, { workflows, standard = workflows[0], page, kept, onChange }) {
    this.button = button;
    this.workflows = workflows;
    this.page = page;
    this.kept = kept;
    this.onChange = onChange;
    const workflow = kept.get("workflow");
    /** Empty: the workflow was chosen by its own name. */
    this.effort = kept.get("effort") || (workflow && workflows.includes(workflow) ? "" : effortOf(standard));
    if (this.effort && !(EFFORTS[this.effort] && workflows.includes(EFFORTS[this.effort].workflow))) this.effort = "";
    this.named = workflow && workflows.includes(workflow) ? workflow : standard;
    this.show();
    menuButton(button, () => this.items(), { align: "start", title: gettext("How much is done for an answer") });
  }

  get workflow() {
    return this.effort ? EFFORTS[this.effort].workflow : this.named;
  }

  /** Whether the reader has said how to be answered; else that is left to the site. */
  get chosen() {
    return Boolean(this.effort ? this.kept.get("effort") : this.kept.get("workflow"));
  }

  /** @returns {{workflow?: string, options: Api.Options}} */
  settings() {
    return { ...(this.chosen ? { workflow: this.workflow } : {}), options: (this.effort && EFFORTS[this.effort].options) || {} };
  }

  show() {
    const label = this.effort ? EFFORTS[this.effort].label : WORKFLOWS[this.named]?.[0] || this.named;
    replace(this.button, icon("flow"), label, icon("chevron"));
  }

  /** @param {string} effort @param {string} [named] */
  choose(effort, named) {
    this.effort = effort;
    this.named = named || this.named;
    this.kept.set("effort", effort || null);
    this.kept.set("workflow", effort ? null : this.named);
    this.show();
    this.onChange();
  }

  /** @returns {Ui.MenuItem[]} */
  items() {
    return [
      ...Object.entries(EFFORTS).filter(([, { workflow }]) => this.workflows.includes(workflow)).map(([name, { label, hint }]) => ({
        label, hint, checked: name === this.effort, radio: true, run: () => this.choose(name),
      })),
      { heading: "" },
      { label: gettext("Advanced"), icon: "settings", opens: () => this.advanced() },
    ];
  }

  /** @returns {Ui.MenuItem[]} */
  advanced() {
    return [
      { label: gettext("Back"), icon: "left", back: true, opens: () => this.items() },
      { heading: gettext("Workflow") },
      ...this.workflows.map((name) => ({
        label: WORKFLOWS[name]?.[0] || name, hint: WORKFLOWS[name]?.[1], checked: !this.effort && name === this.named, radio: true,
        run: () => this.choose("", name),
      })),
      { heading: gettext("Pages") },
      { label: gettext("Self-corrective, step by step"), icon: "external", href: this.page },
    ];
  }
}
