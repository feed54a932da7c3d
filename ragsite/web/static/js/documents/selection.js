// The documents that are selected in the list, and what can be done with all of them at once.
import { TASKS, askAddress, byAge, taskProblem } from "../document_tasks.js";
import { h, icon, iconButton, replace } from "../dom.js";
import { gettext, ngettext } from "../i18n.js";
import { confirmDialog, errorToast, formDialog, menuButton, toast } from "../ui.js";
import { METADATA, bulk, yearFrom } from "./document_row.js";
import { splitList } from "./collections.js";

const MOST = 200; // documents of one call
const MOST_ASKED = 10; // of one question

export class Selection {
  /**
   * @param {HTMLElement} element the bar
   * @param {object} options
   * @param {() => Api.Document[]} options.shown the rows of the list
   * @param {() => {value: string, label: string}[]} options.collections into which documents may be moved
   * @param {() => unknown} options.onChange of what is selected
   * @param {() => unknown} options.onDone after an action
   */
  constructor(element, { shown, collections, onChange, onDone }) {
    this.element = element;
    this.shown = shown;
    this.collections = collections;
    this.onChange = onChange;
    this.onDone = onDone;
    /** @type {Set<Api.Id>} */
    this.ids = new Set();
  }

  /** @param {Api.Id} id @param {boolean} is */
  set(id, is) {
    if (is) this.ids.add(id);
    else this.ids.delete(id);
    this.draw();
  }

  clear() {
    this.ids.clear();
    this.draw();
    this.onChange();
  }

  /** Those that are no longer in the list are not selected any more. */
  keepShown() {
    const shown = new Set(this.shown().map(({ id }) => id));
    for (const id of this.ids) if (!shown.has(id)) this.ids.delete(id);
    this.draw();
  }

  draw() {
    const count = this.ids.size;
    this.element.hidden = count === 0;
    if (!count) return;
    const all = this.shown();
    const rows = all.filter(({ id }) => this.ids.has(id));
    const changes = rows.every(({ editable }) => editable);
    const asks = count <= MOST_ASKED && rows.every(({ status }) => status === "ready");
    const button = (/** @type {string} */ symbol, /** @type {string} */ label, /** @type {() => unknown} */ run) => h("button", { type: "button", class: "button small", onclick: run }, icon(symbol), label);
    replace(this.element,
      iconButton("close", gettext("Clear the selection"), () => this.clear(), { class: "small" }),
      h("strong", {}, ngettext("{count} selected", "{count} selected", count)),
      count < Math.min(all.length, MOST) ? button("check", gettext("Select all shown"), () => this.selectAll(all)) : null,
      asks ? this.askMenu(byAge(rows)) : null,
      changes ? [
        button("folder", gettext("Move…"), () => this.move()),
        button("edit", gettext("Details…"), () => this.describe()),
        button("retry", gettext("Read again"), () => this.run("read_again")),
        button("trash", gettext("Delete…"), () => this.remove()),
      ] : null);
  }

  /** What can be asked of all of them. @param {Api.Document[]} rows the older first */
  askMenu(rows) {
    const ids = rows.map(({ id }) => id);
    const item = (/** @type {Api.Task} */ task) => ({ label: TASKS[task].label, icon: TASKS[task].icon, href: askAddress(ids, task), problem: taskProblem(task) });
    const ask = h("button", { type: "button", class: "button small" }, icon("chat"), gettext("Ask"), icon("chevron"));
    menuButton(ask, [
      rows.some(({ superseded }) => superseded) ? null : { label: gettext("Ask about these"), icon: "chat", href: askAddress(ids) },
      item("summarise"), item("list"), rows.length === 2 ? item("compare") : null,
    ], { align: "start" });
    return ask;
  }

  /** @param {Api.Document[]} rows */
  selectAll(rows) {
    for (const { id } of rows.slice(0, MOST)) this.ids.add(id);
    this.draw();
    this.onChange();
  }

  /** @param {string} action @param {Record<string, unknown>} [more] */
  async run(action, more) {
    try {
      await this.apply(action, more);
    } catch (error) {
      errorToast(error);
    }
  }

  /** @param {string} action @param {Record<string, unknown>} [more] */
  async apply(action, more) {
    const ids = [...this.ids].slice(0, MOST);
    const refused = (await bulk(action, ids, more)).filter(({ outcome }) => outcome === "refused");
    this.ids = new Set(refused.map(({ id }) => id)); // what is left can be seen, and tried again
    const done = ngettext("Done: {count} document.", "Done: {count} documents.", ids.length - refused.length);
    toast(refused.length ? `${done} ${ngettext("{count} was refused: {reason}", "{count} were refused: {reason}", refused.length, { reason: refused[0].error })}` : done, { ms: 8000 });
    this.draw();
    this.onDone();
  }

  async remove() {
    const question = ngettext("Delete {count} document?", "Delete {count} documents?", this.ids.size);
    if (await confirmDialog(question, gettext("Their passages will no longer be found. Earlier answers keep their citations."))) await this.run("delete");
  }

  move() {
    const options = /** @type {[string, string][]} */ (this.collections().map(({ value, label }) => [value, label]));
    return formDialog(gettext("Move to another collection"), [{ name: "collection", label: gettext("Collection"), options }], {
      confirm: gettext("Move"),
      save: async ({ collection }) => this.apply("move", { collection }),
    });
  }

  describe() {
    const fields = METADATA.map((field) => ({ ...field, help: field.name === "tags" ? gettext("Separated by commas. Leave empty to keep what is there.") : gettext("Leave empty to keep what is there.") }));
    return formDialog(gettext("Details of all selected documents"), fields, {
      save: async ({ department, doc_type, policy_year, tags, review_by }) => {
        const given = { department: department.trim(), doc_type: doc_type.trim(), policy_year: yearFrom(policy_year), tags: splitList(tags), review_by };
        const changes = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null && value !== "" && !(Array.isArray(value) && !value.length)));
        if (Object.keys(changes).length) await this.apply("metadata", { changes });
      },
    });
  }
}
