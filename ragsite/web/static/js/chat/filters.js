// Filters of a question: values that the documents themselves have, as chips.
import { api } from "../api.js";
import { h, icon, replace } from "../dom.js";
import { gettext, ngettext } from "../i18n.js";
import { menuButton } from "../ui.js";

/** @typedef {"department" | "doc_type" | "policy_year" | "tags"} Field */

/** @type {Record<Field, [string, string]>} heading, and a chip's text */
const FIELDS = {
  department: [gettext("Department"), gettext("Department: {value}")],
  doc_type: [gettext("Type"), gettext("Type: {value}")],
  policy_year: [gettext("Year"), gettext("Year: {value}")],
  tags: [gettext("Tags"), gettext("Tag: {value}")],
};

const COUNT = { label: gettext("Count and list"), icon: "layers", href: "/documents/count/" };

/** What a chip says. @param {Field} field @param {string | number} value */
export const filterLabel = (field, value) => gettext(FIELDS[field][1], { value });

/** A chip that can be taken off. @param {string} text @param {string} label what its button does @param {() => unknown} onRemove */
export const filterChip = (text, label, onRemove) => h("li", { class: "filter-chip" },
  h("span", {}, text),
  h("button", { type: "button", class: "chip-close", "aria-label": label, onclick: onRemove }, icon("close")));

export class Filters {
  /**
   * @param {HTMLElement} button
   * @param {() => string} query what the values are asked for: parameters of `/api/filters`
   * @param {() => unknown} onChange
   */
  constructor(button, query, onChange) {
    this.button = button;
    this.query = query;
    this.onChange = onChange;
    /** @type {Api.Filters} */
    this.chosen = {};
    /** Those of the assistant, which hold until the reader changes any. @type {Api.Filters} */
    this.given = {};
    this.isOwn = false;
    this.show();
    menuButton(button, () => this.items(), { align: "start", title: gettext("Only documents with"), keepOpen: true });
  }

  /** What goes with a question. @returns {Pick<Api.Ask, "filters">} */
  settings() {
    return this.isOwn && (this.count || Object.keys(this.given).length) ? { filters: this.chosen } : {};
  }

  /** With the filters of an assistant, or of none. @param {Api.Filters} given */
  follow(given) {
    if (JSON.stringify(given) === JSON.stringify(this.given)) return;
    this.given = given;
    this.clear();
  }

  get count() {
    return this.each().length;
  }

  /** @returns {[Field, string | number][]} */
  each() {
    const { tags = [], ...single } = this.chosen;
    return [.../** @type {[Field, string | number][]} */ (Object.entries(single)), ...tags.map((tag) => /** @type {[Field, string]} */ (["tags", tag]))];
  }

  show() {
    this.button.setAttribute("aria-label", this.count ? ngettext("{count} filter", "{count} filters", this.count) : gettext("Filters"));
    replace(this.button, icon("filter"), h("span", { class: "pick-label" }, gettext("Filters")));
    this.button.classList.toggle("is-on", this.count > 0);
  }

  clear() {
    this.chosen = this.given;
    this.isOwn = false;
    this.show();
  }

  /** @param {Field} field @param {string | number} value */
  has(field, value) {
    return this.each().some(([name, chosen]) => name === field && chosen === value);
  }

  /** Takes a value, or gives it up. Of one field there is one value, but for tags. @param {Field} field @param {any} value */
  toggle(field, value) {
    const { [field]: before, ...others } = this.chosen;
    const had = this.has(field, value);
    if (field === "tags") {
      const tags = had ? (this.chosen.tags ?? []).filter((tag) => tag !== value) : [...(this.chosen.tags ?? []), value];
      this.chosen = tags.length ? { ...others, tags } : others;
    } else {
      this.chosen = had ? others : { ...others, [field]: value };
    }
    this.isOwn = true;
    this.show();
    this.onChange();
  }

  /** @returns {HTMLElement[]} */
  chips() {
    return this.each().map(([field, value]) => {
      const filter = filterLabel(field, value);
      return filterChip(filter, gettext("Remove the filter {filter}", { filter }), () => this.toggle(field, value));
    });
  }

  /** @returns {Promise<Ui.MenuItem[]>} */
  async items() {
    /** @type {Api.FilterValues} */
    const values = await api.get(`/api/filters${this.query()}`);
    const fields = /** @type {Field[]} */ (Object.keys(FIELDS)).filter((field) => values[field].length || this.each().some(([name]) => name === field));
    if (!fields.length) {
      return [
        { heading: gettext("These documents have no department, type, year or tags yet.") },
        { label: gettext("Add them on the documents page"), icon: "documents", href: "/documents/" },
        COUNT,
      ];
    }
    const choices = fields.flatMap((field) => [{ heading: FIELDS[field][0] }, ...values[field].map(({ value, count }) => ({
      label: String(value), note: String(count), checked: this.has(field, value), run: () => this.toggle(field, value),
    }))]);
    return [...choices, { heading: gettext("All documents") }, COUNT];
  }
}
