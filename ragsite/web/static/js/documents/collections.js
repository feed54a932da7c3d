// The list of collections at the side: choose, create, share, delete.
import { api, fetchAll } from "../api.js";
import { collectionLabel, findCollection, ownerLabel, shortAddress } from "../collection_names.js";
import { h, icon, iconButton, replace } from "../dom.js";
import { gettext, ngettext } from "../i18n.js";
import { confirmDialog, errorToast, formDialog, menuButton, toast } from "../ui.js";

const VISIBILITY = { private: "lock", shared: "people", public: "globe" };
const VISIBILITY_TEXT = { private: gettext("Private: only you"), shared: gettext("Shared with people and groups"), public: gettext("Public: everybody on this site") };
const BUILTIN = "use-multilingual"; // what the name of the built-in embedding model begins with

export class Collections {
  /**
   * @param {HTMLElement} element
   * @param {object} options
   * @param {string} options.username
   * @param {(id: string) => unknown} options.onChoose "" for all
   */
  constructor(element, { username, onChoose }) {
    this.element = element;
    this.username = username;
    this.onChoose = onChoose;
    /** @type {Api.Collection[]} */
    this.rows = [];
    this.current = "";
  }

  async load() {
    try {
      this.rows = await fetchAll("/api/collections");
    } catch (error) {
      errorToast(error);
    }
    this.draw();
  }

  /** By id, or by what an address of the page says. @param {string | null} value */
  find(value) {
    return findCollection(this.rows, value, this.username);
  }

  /** What the page's address and the upload's field call it. @param {Api.Collection} row */
  addressOf(row) {
    return shortAddress(row, this.username);
  }

  /** @param {Api.Collection} row */
  labelOf(row) {
    return collectionLabel(row, this.rows, this.username);
  }

  /** @param {string} id "" for all */
  choose(id) {
    this.current = id;
    this.draw();
    this.onChoose(id);
  }

  draw() {
    const total = this.rows.reduce((sum, row) => sum + row.document_count, 0);
    replace(this.element, h("ul", { class: "side-rows" },
      this.item("documents", total, null),
      this.rows.length ? h("li", { class: "side-group" }, gettext("Collections")) : null,
      this.rows.map((row) => this.item(VISIBILITY[row.visibility] || "folder", row.document_count, row))));
  }

  /** @param {string} symbol @param {number} count @param {Api.Collection | null} row null: all documents */
  item(symbol, count, row) {
    const id = row ? row.id : "";
    const current = id === this.current;
    const owner = row ? ownerLabel(row, this.rows, this.username) : "";
    const link = h("a", {
      class: "side-link", href: row ? `/documents/?collection=${encodeURIComponent(this.addressOf(row))}` : "/documents/", "aria-current": current ? "page" : null,
      title: row ? `${this.labelOf(row)}. ${visibilityText(row)}` : null,
      onclick: (event) => {
        if (event.metaKey || event.ctrlKey || event.shiftKey) return;
        event.preventDefault();
        this.choose(id);
      },
    }, icon(symbol), h("span", { class: "text" }, row ? row.name : gettext("All documents")), owner ? h("small", { class: "owner" }, owner) : null, h("span", { class: "count" }, count));
    return h("li", { class: `side-item${current ? " is-current" : ""}` }, link, row?.owned ? this.menu(row) : null);
  }

  /** @param {Api.Collection} row */
  menu(row) {
    const more = iconButton("more", gettext("Options for {name}", { name: row.name }), null, { class: "small" });
    menuButton(more, this.options(row));
    return more;
  }

  /** @param {Api.Collection} row */
  options(row) {
    return [
      { label: gettext("Share…"), icon: "people", href: `/documents/collections/${row.id}/sharing/` },
      { label: gettext("Name, description, reviews"), icon: "edit", run: () => this.edit(row) },
      { label: gettext("Delete"), icon: "trash", danger: true, run: () => this.remove(row) },
    ];
  }

  /** @param {Api.Collection | null} row null: a new one @returns {Ui.Field[]} */
  fields(row) {
    return [
      { name: "name", label: gettext("Name"), value: row?.name, maxlength: 100, required: true },
      { name: "description", label: gettext("What is in it"), value: row?.description, maxlength: 500, optional: true },
      { name: "review_months", label: gettext("Months between reviews"), type: "number", min: 1, max: 120, step: 1, value: row?.review_months ?? "", optional: true, help: gettext("A document without a date of its own is to be reviewed so many months after it was added. Empty: never.") },
    ];
  }

  create() {
    return formDialog(gettext("New collection"), this.fields(null), {
      confirm: gettext("Create"),
      save: async (values) => {
        const row = await api.post("/api/collections", withMonths(values));
        await this.load();
        this.choose(row.id);
      },
    });
  }

  /** @param {Api.Collection} row */
  edit(row) {
    return formDialog(gettext("Edit collection"), this.fields(row), {
      save: async (values) => {
        await api.patch(`/api/collections/${row.id}`, withMonths(values));
        await this.load();
        if (this.current === row.id) this.choose(row.id);
      },
    });
  }

  /** @param {Api.Collection} row */
  async remove(row) {
    const count = row.document_count;
    const what = count ? ngettext("Its {count} document is deleted too. ", "Its {count} documents are deleted too. ", count) : "";
    if (!(await confirmDialog(gettext("Delete “{name}”?", { name: row.name }), what + gettext("This cannot be undone.")))) return;
    try {
      await api.delete(`/api/collections/${row.id}`);
      toast(gettext("Collection deleted."));
    } catch (error) {
      errorToast(error);
    }
    await this.load();
    this.choose(this.current === row.id ? "" : this.current);
  }

}

/**
 * Embedded by the built-in model, while a server has a larger one.
 * @param {Api.Collection | undefined} row
 * @param {Api.Status | null} models
 */
export const wantsReembedding = (row, models) => Boolean(row?.embedding_model.startsWith(BUILTIN) && models?.embed_model);

/** Public, but not in the searches of those who do not choose it. @param {Api.Collection | undefined} row */
export const isUnapproved = (row) => row?.visibility === "public" && !row.approved;

/** @param {Api.Collection} row */
function visibilityText(row) {
  return isUnapproved(row) ? gettext("{visibility}; not approved", { visibility: VISIBILITY_TEXT.public }) : VISIBILITY_TEXT[row.visibility];
}

/** As the server takes them: no months are null. @param {Record<string, string>} values */
const withMonths = ({ review_months: months, ...values }) => ({ ...values, review_months: months.trim() ? Number(months) : null });

/** What commas part, each once. @param {string} text */
export function splitList(text) {
  return [...new Set(text.split(/[,，、;]/).map((item) => item.trim()).filter(Boolean))];
}
