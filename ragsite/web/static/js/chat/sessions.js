// The list of conversations at the side: search, paging, rename, delete with undo.
import { api, request } from "../api.js";
import { dayOf, debounce, h, iconButton, replace } from "../dom.js";
import { gettext } from "../i18n.js";
import { PagedRows } from "../paged.js";
import { errorToast, formDialog, menuButton, toast } from "../ui.js";

const UNDO_MS = 6000;
const EXPORTS = {
  markdown: { label: gettext("Export as Markdown"), icon: "download" },
  json: { label: gettext("Export as JSON"), icon: "code" },
};

/** @typedef {Pick<Api.Session, "id" | "title">} Named */

export class SessionList {
  /**
   * @param {HTMLElement} element
   * @param {HTMLInputElement} search
   * @param {object} on
   * @param {(session: Api.Session) => unknown} on.onOpen
   * @param {() => unknown} on.onGone the open one was deleted
   * @param {(session: Named) => unknown} on.onRenamed
   */
  constructor(element, search, { onOpen, onGone, onRenamed }) {
    this.element = element;
    this.search = search;
    this.onOpen = onOpen;
    this.onGone = onGone;
    this.onRenamed = onRenamed;
    /** @type {PagedRows<Api.Session>} */
    this.list = new PagedRows();
    /** @type {Api.Id | null} */
    this.current = null;
    /** @type {Map<Api.Id, ReturnType<typeof setTimeout>>} sessions about to be deleted → timer */
    this.leaving = new Map();
    search.addEventListener("input", debounce(() => this.load(), 200));
    addEventListener("pagehide", () => {
      for (const id of this.leaving.keys()) this.deleteNow(id);
    });
  }

  async load() {
    const query = this.search.value.trim();
    await this.list.load(`/api/sessions${query ? `?search=${encodeURIComponent(query)}` : ""}`).catch(errorToast);
    this.draw();
  }

  async loadMore() {
    await this.list.more().catch(errorToast);
    this.draw();
  }

  /** @param {Api.Id | null} id */
  setCurrent(id) {
    this.current = id;
    this.draw();
  }

  /** @param {Api.Id | null} id */
  find(id) {
    return this.list.find(id);
  }

  draw() {
    const visible = this.list.rows.filter(({ id }) => !this.leaving.has(id));
    const items = [];
    let group = "";
    for (const row of visible) {
      const day = dayOf(row.updated_at);
      if (day !== group) items.push(h("li", { class: "side-group" }, day));
      group = day;
      items.push(this.row(row));
    }
    replace(this.element,
      items.length ? h("ul", { class: "side-rows" }, items)
        : h("p", { class: "side-empty" }, this.search.value.trim() ? gettext("Nothing found.") : gettext("Your conversations will appear here.")),
      this.list.next ? h("button", { type: "button", class: "button quiet small side-more", onclick: () => this.loadMore() }, gettext("Show more")) : null);
  }

  /** @param {Api.Session} session */
  row(session) {
    const title = session.title || gettext("New conversation");
    const more = iconButton("more", gettext("Options for {name}", { name: title }), null, { class: "small" });
    menuButton(more, this.options(session));
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

  /**
   * What can be done with a conversation.
   * @param {Named} session
   * @param {(keyof typeof EXPORTS)[]} formats
   * @returns {Ui.MenuItem[]}
   */
  options(session, formats = ["markdown"]) {
    return [
      { label: gettext("Rename"), icon: "edit", run: () => this.rename(session) },
      ...formats.map((format) => ({ ...EXPORTS[format], href: `/api/sessions/${session.id}/export?format=${format}`, download: true })),
      { label: gettext("Delete"), icon: "trash", danger: true, run: () => this.remove(session) },
    ];
  }

  /** @param {Named} session */
  rename(session) {
    return formDialog(gettext("Rename conversation"), [{ name: "title", label: gettext("Title"), value: session.title, maxlength: 200 }], {
      save: async ({ title }) => {
        Object.assign(session, await api.patch(`/api/sessions/${session.id}`, { title: title.trim() }));
        this.draw();
        this.onRenamed(session);
      },
    });
  }

  /** @param {Named} session */
  remove(session) {
    const timer = setTimeout(() => this.deleteNow(session.id), UNDO_MS);
    this.leaving.set(session.id, timer);
    this.draw();
    if (session.id === this.current) this.onGone();
    toast(gettext("Conversation deleted."), {
      ms: UNDO_MS,
      action: { label: gettext("Undo"), run: () => {
        clearTimeout(timer);
        this.leaving.delete(session.id);
        this.draw();
      } },
    });
  }

  /** @param {Api.Id} id */
  async deleteNow(id) {
    clearTimeout(this.leaving.get(id));
    try {
      await request("DELETE", `/api/sessions/${id}`, { keepalive: true });
      this.list.remove(id);
    } catch (error) {
      errorToast(error);
    } finally {
      this.leaving.delete(id);
      this.draw();
    }
  }
}
