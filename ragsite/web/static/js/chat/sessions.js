// The list of conversations at the side: search, paging, rename, delete with undo.
import { api, request, samePath } from "../api.js";
import { dayOf, debounce, h, iconButton, replace } from "../dom.js";
import { errorToast, formDialog, menuButton, toast } from "../ui.js";

const UNDO_MS = 6000;

export class SessionList {
  /** `onOpen(session)`; `onGone(id)` when the open one was deleted; `onRenamed(session)`. */
  constructor(element, search, { onOpen, onGone, onRenamed }) {
    Object.assign(this, { element, search, onOpen, onGone, onRenamed });
    this.rows = [];
    this.next = null;
    this.current = null;
    this.leaving = new Map(); // sessions about to be deleted → timer
    search.addEventListener("input", debounce(() => this.load(), 200));
    addEventListener("pagehide", () => {
      for (const id of this.leaving.keys()) this.deleteNow(id);
    });
  }

  async load() {
    const query = this.search.value.trim();
    const asked = (this.asked = Symbol("query"));
    try {
      const page = await api.get(`/api/sessions${query ? `?search=${encodeURIComponent(query)}` : ""}`);
      if (asked !== this.asked) return;
      this.rows = page.results;
      this.next = page.next;
    } catch (error) {
      errorToast(error);
    }
    this.draw();
  }

  async loadMore() {
    try {
      const page = await api.get(samePath(this.next));
      const known = new Set(this.rows.map(({ id }) => id));
      this.rows.push(...page.results.filter(({ id }) => !known.has(id)));
      this.next = page.next;
    } catch (error) {
      errorToast(error);
    }
    this.draw();
  }

  setCurrent(id) {
    this.current = id;
    this.draw();
  }

  find(id) {
    return this.rows.find((row) => row.id === id);
  }

  draw() {
    const visible = this.rows.filter(({ id }) => !this.leaving.has(id));
    const items = [];
    let day = null;
    for (const row of visible) {
      if (dayOf(row.updated_at) !== day) items.push(h("li", { class: "side-group", role: "presentation" }, (day = dayOf(row.updated_at))));
      items.push(this.row(row));
    }
    replace(this.element,
      items.length ? h("ul", { class: "side-rows" }, items)
        : h("p", { class: "side-empty" }, this.search.value.trim() ? "Nothing found." : "Your conversations will appear here."),
      this.next ? h("button", { type: "button", class: "button quiet small side-more", onclick: () => this.loadMore() }, "Show more") : null);
  }

  row(session) {
    const title = session.title || "New conversation";
    const more = iconButton("more", `Options for ${title}`, null, { class: "small" });
    menuButton(more, [
      { label: "Rename", icon: "edit", run: () => this.rename(session) },
      { label: "Export as Markdown", icon: "download", href: `/api/sessions/${session.id}/export?format=markdown`, download: true },
      { label: "Delete", icon: "trash", danger: true, run: () => this.remove(session) },
    ]);
    const link = h("a", {
      class: "side-link", href: `/chat/${session.id}/`, title, "aria-current": session.id === this.current ? "page" : null,
      onclick: (event) => {
        if (event.metaKey || event.ctrlKey || event.shiftKey) return;
        event.preventDefault();
        this.onOpen(session);
      },
    }, h("span", { class: "text" }, title));
    return h("li", { class: `side-item${session.id === this.current ? " is-current" : ""}` }, link, more);
  }

  rename(session) {
    return formDialog("Rename conversation", [{ name: "title", label: "Title", value: session.title, maxlength: 200 }], {
      save: async ({ title }) => {
        Object.assign(session, await api.patch(`/api/sessions/${session.id}`, { title: title.trim() }));
        this.draw();
        this.onRenamed(session);
      },
    });
  }

  remove(session) {
    const timer = setTimeout(() => this.deleteNow(session.id), UNDO_MS);
    this.leaving.set(session.id, timer);
    this.draw();
    if (session.id === this.current) this.onGone(session.id);
    toast("Conversation deleted.", {
      ms: UNDO_MS,
      action: { label: "Undo", run: () => {
        clearTimeout(timer);
        this.leaving.delete(session.id);
        this.draw();
      } },
    });
  }

  async deleteNow(id) {
    clearTimeout(this.leaving.get(id));
    try {
      await request("DELETE", `/api/sessions/${id}`, { keepalive: true });
      this.rows = this.rows.filter((row) => row.id !== id);
    } catch (error) {
      errorToast(error);
    } finally {
      this.leaving.delete(id);
      this.draw();
    }
  }
}
