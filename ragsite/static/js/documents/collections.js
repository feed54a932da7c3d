// The list of collections at the side: choose, create, share, delete.
import { api, fetchAll } from "../api.js";
import { h, icon, iconButton, plural, replace } from "../dom.js";
import { confirmDialog, errorToast, formDialog, menuButton, toast } from "../ui.js";

const VISIBILITY = { private: "lock", shared: "people", public: "globe" };
const VISIBILITY_TEXT = { private: "Private: only you", shared: "Shared with groups", public: "Public: everybody on this site" };
const LEXICAL = "lexical";

export class Collections {
  /** `onChoose(name)`: "" for all. */
  constructor(element, { groups, onChoose }) {
    Object.assign(this, { element, groups, onChoose });
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

  find(name) {
    return this.rows.find((row) => row.name === name);
  }

  canWrite(row) {
    return Boolean(row?.editable);
  }

  writable() {
    return this.rows.filter((row) => this.canWrite(row));
  }

  choose(name) {
    this.current = name;
    this.draw();
    this.onChoose(name);
  }

  draw() {
    const total = this.rows.reduce((sum, row) => sum + (row.document_count || 0), 0);
    replace(this.element, h("ul", { class: "side-rows" },
      this.item("", "All documents", "documents", total, null),
      this.rows.length ? h("li", { class: "side-group", role: "presentation" }, "Collections") : null,
      this.rows.map((row) => this.item(row.name, row.name, VISIBILITY[row.visibility] || "folder", row.document_count, row))));
  }

  item(name, label, symbol, count, row) {
    const current = name === this.current;
    const link = h("a", {
      class: "side-link", href: name ? `/documents/?collection=${encodeURIComponent(name)}` : "/documents/", "aria-current": current ? "page" : null,
      title: row ? VISIBILITY_TEXT[row.visibility] : null,
      onclick: (event) => {
        if (event.metaKey || event.ctrlKey || event.shiftKey) return;
        event.preventDefault();
        this.choose(name);
      },
    }, icon(symbol), h("span", { class: "text" }, label), count === undefined ? null : h("span", { class: "count" }, count));
    return h("li", { class: `side-item${current ? " is-current" : ""}` }, link, this.canWrite(row) ? this.menu(row) : null);
  }

  menu(row) {
    const more = iconButton("more", `Options for ${row.name}`, null, { class: "small" });
    menuButton(more, this.options(row));
    return more;
  }

  options(row) {
    return [
      { label: "Edit and share", icon: "edit", run: () => this.edit(row) },
      { label: "Delete", icon: "trash", danger: true, run: () => this.remove(row) },
    ];
  }

  fields(row = {}) {
    const fields = [
      { name: "name", label: "Name", value: row.name || "", maxlength: 100, required: true },
      { name: "description", label: "What it holds", value: row.description || "", maxlength: 500, optional: true },
      { name: "visibility", label: "Who may read it", value: row.visibility || "private", options: Object.entries(VISIBILITY_TEXT) },
    ];
    if (this.groups.length) {
      fields.push({ name: "groups", label: "Groups", value: (row.groups || []).join(", "), optional: true, help: `For a shared collection, separated by commas. Yours: ${this.groups.join(", ")}.` });
    }
    return fields;
  }

  input({ groups, ...values }) {
    return { ...values, ...(values.visibility === "shared" ? { groups: splitList(groups || "") } : {}) };
  }

  create() {
    return formDialog("New collection", this.fields(), {
      confirm: "Create",
      save: async (values) => {
        const row = await api.post("/api/collections", this.input(values));
        await this.load();
        this.choose(row.name);
      },
    });
  }

  edit(row) {
    return formDialog("Edit collection", this.fields(row), {
      save: async (values) => {
        const changed = await api.patch(`/api/collections/${encodeURIComponent(row.name)}`, this.input(values));
        await this.load();
        if (this.current === row.name) this.choose(changed.name);
      },
    });
  }

  async remove(row) {
    const count = row.document_count || 0;
    const what = count ? `It holds ${plural(count, "document")}, which will be deleted with it. ` : "";
    if (!(await confirmDialog(`Delete “${row.name}”?`, `${what}This cannot be undone.`))) return;
    try {
      await api.delete(`/api/collections/${encodeURIComponent(row.name)}`);
      toast("Collection deleted.");
    } catch (error) {
      errorToast(error);
    }
    await this.load();
    this.choose(this.current === row.name ? "" : this.current);
  }

  /** Made without a model, while there is one now: its search by meaning is weaker than it could be. */
  wantsReembedding(row, models) {
    return Boolean(row?.embedding_model?.startsWith(LEXICAL) && models?.embed_model);
  }
}

export function splitList(text) {
  return [...new Set(text.split(/[,，、;]/).map((item) => item.trim()).filter(Boolean))];
}
