// The list of conversations at the side: search, folders, archive, paging; and what can be done with each of them.
import { api, fetchAll } from "../api.js";
import { dayOf, debounce, h, icon, iconButton, replace, store } from "../dom.js";
import { gettext } from "../i18n.js";
import { Leaving } from "../leaving.js";
import { PagedRows } from "../paged.js";
import { errorToast, formDialog, menuButton, toast } from "../ui.js";

/** @typedef {Boot.Named} Named */
/** @typedef {{pinned?: boolean, archived?: boolean, folder?: string}} Change */

export class SessionList {
  /**
   * @param {HTMLElement} element
   * @param {HTMLInputElement} search
   * @param {object} on
   * @param {(session: Api.Session) => unknown} on.onOpen
   * @param {() => unknown} on.onGone the open one was deleted
   * @param {(session: Named) => unknown} on.onRenamed
   * @param {(session: Named) => unknown} on.onShare
   * @param {((session: Named) => unknown) | null} [on.onKeep] a temporary one; null: none is
   */
  constructor(element, search, { onOpen, onGone, onRenamed, onShare, onKeep = null }) {
    this.element = element;
    this.search = search;
    this.onOpen = onOpen;
    this.onGone = onGone;
    this.onRenamed = onRenamed;
    this.onShare = onShare;
    this.onKeep = onKeep;
    /** @type {PagedRows<Api.Session>} */
    this.list = new PagedRows();
    /** @type {Api.Folder[]} */
    this.folders = [];
    /** @type {Map<string, PagedRows<Api.Session>>} the folders that are open */
    this.open = new Map();
    this.inArchive = false;
    this.hasArchive = true;
    /** @type {Map<Api.Id, Named>} what was seen of them last */
    this.known = new Map();
    /** @type {Api.Id | null} */
    this.current = null;
    this.leaving = new Leaving((id) => `/api/sessions/${id}`, { draw: () => this.draw(), gone: (id) => this.lists().forEach((rows) => rows.remove(id)) });
    search.addEventListener("input", debounce(() => this.load(), 200));
  }

  async load() {
    const query = this.search.value.trim();
    const wanted = new URLSearchParams(this.inArchive ? { archived: "true" } : query ? {} : { folder: "" });
    if (query) wanted.set("search", query);
    const url = `/api/sessions?${wanted}`;
    await Promise.all([this.list.load(url), query || this.inArchive ? null : this.loadFolders()]).catch(errorToast);
    this.draw();
  }

  async loadFolders() {
    this.folders = await fetchAll("/api/sessions/folders");
    for (const { name } of this.folders) if (store.get(`folder.${name}`) && !this.open.has(name)) this.open.set(name, new PagedRows());
    const names = new Set(this.folders.map(({ name }) => name));
    for (const name of this.open.keys()) if (!names.has(name)) this.open.delete(name);
    await Promise.all([...this.open].map(([name, rows]) => rows.load(`/api/sessions?${new URLSearchParams({ folder: name })}`)));
  }

  /** @param {PagedRows<Api.Session>} rows */
  async loadMore(rows = this.list) {
    await rows.more().catch(errorToast);
    this.draw();
  }

  /** @param {string} name */
  async toggle(name) {
    const opens = !this.open.delete(name);
    store.set(`folder.${name}`, opens ? "open" : null);
    if (opens) {
      this.open.set(name, new PagedRows());
      await this.loadFolders().catch(errorToast);
    }
    this.draw();
    /** @type {HTMLElement | undefined} */
    const button = [.../** @type {NodeListOf<HTMLElement>} */ (this.element.querySelectorAll(".side-folder"))].find(({ dataset }) => dataset.name === name);
    button?.focus();
  }

  /** @param {boolean} inArchive */
  async showArchive(inArchive) {
    this.inArchive = inArchive;
    this.search.value = "";
    this.list = new PagedRows();
    await this.load();
    /** @type {HTMLElement | null} */
    const button = this.element.querySelector(".side-archive");
    button?.focus();
  }

  /** @param {Api.Id | null} id */
  setCurrent(id) {
    this.current = id;
    this.draw();
  }

  /** @param {Named | null} session */
  know(session) {
    if (session) this.known.set(session.id, session);
  }

  /** @param {Api.Id | null} id @returns {Named | undefined} */
  find(id) {
    return this.lists().map((rows) => rows.find(id)).find(Boolean) ?? (id ? this.known.get(id) : undefined);
  }

  lists() {
    return [this.list, ...this.open.values()];
  }

  draw() {
    for (const { rows } of this.lists()) rows.forEach((row) => this.know(row));
    const visible = this.visible(this.list);
    const searched = Boolean(this.search.value.trim());
    const grouped = !searched && !this.inArchive;
    /** @type {HTMLElement[]} */
    const items = [];
    const heading = (/** @type {string} */ text) => items.push(h("li", { class: "side-group" }, text));
    const pinned = grouped ? visible.filter((row) => row.pinned) : [];
    if (pinned.length) heading(gettext("Pinned"));
    items.push(...pinned.map((row) => this.row(row)));
    if (grouped) items.push(...this.folders.map((folder) => this.folder(folder)));
    let group = "";
    for (const row of visible.filter((each) => !pinned.includes(each))) {
      const day = dayOf(row.updated_at);
      if (day !== group) heading(day);
      group = day;
      items.push(this.row(row));
    }
    replace(this.element,
      this.inArchive ? h("button", { type: "button", class: "side-link side-archive", onclick: () => this.showArchive(false) }, icon("left"), h("span", { class: "text" }, gettext("Archive"))) : null,
      items.length ? h("ul", { class: "side-rows" }, items)
        : h("p", { class: "side-empty" }, searched ? gettext("Nothing found.") : this.inArchive ? gettext("The archive is empty.") : gettext("Your conversations will appear here.")),
      this.more(this.list),
      grouped && this.hasArchive ? h("button", { type: "button", class: "side-link side-archive", onclick: () => this.showArchive(true) }, icon("archive"), h("span", { class: "text" }, gettext("Archive"))) : null);
  }

  /** Without those that are about to be deleted. @param {PagedRows<Api.Session>} rows */
  visible({ rows }) {
    return rows.filter(({ id }) => !this.leaving.has(id));
  }

  /** @param {PagedRows<Api.Session>} rows */
  more(rows) {
    return rows.next ? h("button", { type: "button", class: "button quiet small side-more", onclick: () => this.loadMore(rows) }, gettext("Show more")) : null;
  }

  /** @param {Api.Folder} folder */
  folder({ name, session_count: count }) {
    const rows = this.open.get(name);
    return h("li", { class: "side-folder-item" },
      h("button", { type: "button", class: "side-link side-folder", "data-name": name, "aria-expanded": String(Boolean(rows)), onclick: () => this.toggle(name) },
        icon("chevron"), icon("folder"), h("span", { class: "text", dir: "auto" }, name), h("span", { class: "count" }, count)),
      rows ? h("ul", { class: "side-rows", "aria-label": name }, this.visible(rows).map((row) => this.row(row))) : null,
      rows ? this.more(rows) : null);
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
    }, session.pinned ? icon("pin") : null, h("span", { class: "text", dir: "auto" }, title, session.found ? h("small", {}, session.found) : null));
    return h("li", { class: `side-item${session.id === this.current ? " is-current" : ""}` }, link, more);
  }

  /** What can be done with a conversation. @param {Named} session @returns {(Ui.MenuItem | null)[]} */
  options(session) {
    if (session.temporary) {
      return [
        this.onKeep ? { label: gettext("Keep this conversation"), icon: "archive", run: () => this.onKeep?.(session) } : null,
        { label: gettext("Export as Markdown"), icon: "download", href: `/api/sessions/${session.id}/export?format=markdown`, download: true },
        { label: gettext("Delete"), icon: "trash", danger: true, run: () => this.remove(session) },
      ];
    }
    return [
      { label: gettext("Rename"), icon: "edit", run: () => this.rename(session) },
      session.pinned ? { label: gettext("Unpin"), icon: "pin", run: () => this.change(session, { pinned: false }) }
        : { label: gettext("Pin"), icon: "pin", run: () => this.change(session, { pinned: true }) },
      { label: gettext("Move to a folder…"), icon: "folder", run: () => this.file(session) },
      { label: gettext("Share…"), icon: "share", run: () => this.onShare(session) },
      { label: gettext("Export as Markdown"), icon: "download", href: `/api/sessions/${session.id}/export?format=markdown`, download: true },
      session.archived ? { label: gettext("Restore from the archive"), icon: "archive", run: () => this.change(session, { archived: false }) }
        : { label: gettext("Archive"), icon: "archive", run: () => this.archive(session) },
      { label: gettext("Delete"), icon: "trash", danger: true, run: () => this.remove(session) },
    ];
  }

  /** @param {Named} session @param {Change} change */
  async change(session, change) {
    try {
      Object.assign(session, await api.patch(`/api/sessions/${session.id}`, change));
      this.know(session);
      await this.load();
    } catch (error) {
      errorToast(error);
    }
  }

  /** @param {Named} session */
  async archive(session) {
    const before = { archived: false, pinned: Boolean(session.pinned) };
    this.hasArchive = true;
    await this.change(session, { archived: true });
    if (session.archived) toast(gettext("Conversation archived."), { action: { label: gettext("Undo"), run: () => this.change(session, before) } });
  }

  /** @param {Named} session */
  async file(session) {
    if (!this.folders.length) await this.loadFolders().catch(errorToast);
    const names = h("datalist", { id: "folder-names" }, this.folders.map(({ name }) => h("option", { value: name })));
    document.body.append(names);
    await formDialog(gettext("Move to a folder"), [
      { name: "folder", label: gettext("Folder"), value: session.folder || "", maxlength: 100, list: "folder-names", optional: true, help: gettext("A folder that you have, or a new one. Leave empty for none.") },
    ], {
      confirm: gettext("Move"),
      save: async ({ folder }) => {
        Object.assign(session, await api.patch(`/api/sessions/${session.id}`, { folder: folder.trim() }));
        if (session.folder) store.set(`folder.${session.folder}`, "open");
        await this.load();
      },
    });
    names.remove();
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
    this.leaving.begin(session.id, gettext("Conversation deleted."));
    if (session.id === this.current) this.onGone();
  }
}
