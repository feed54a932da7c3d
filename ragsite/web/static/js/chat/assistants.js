// By which assistant questions are asked: chosen below the question, kept with the conversation by the site.
import { api, fetchAll } from "../api.js";
import { h, icon, replace } from "../dom.js";
import { gettext } from "../i18n.js";
import { menuButton } from "../ui.js";

/** @typedef {Pick<Api.Assistant, "id" | "name"> & Partial<Api.Assistant>} Chosen */

export class AssistantPick {
  /**
   * @param {HTMLElement} button
   * @param {object} options
   * @param {Chosen | null} options.standard the site's default, of new conversations
   * @param {() => unknown} options.onChange
   */
  constructor(button, { standard, onChange }) {
    this.button = button;
    this.standard = standard;
    this.onChange = onChange;
    /** @type {Chosen | null} */
    this.chosen = standard;
    /** Whether the reader has chosen; else the site knows what the conversation has. */
    this.isNamed = false;
    this.show();
    menuButton(button, () => this.items(), { align: "start", title: gettext("Assistant") });
  }

  /** Of a conversation. @param {Chosen | null | undefined} chosen undefined: of a new one */
  use(chosen) {
    this.isNamed = false;
    this.take(chosen === undefined ? this.standard : chosen?.id ? chosen : null);
  }

  /** By the reader. @param {Chosen | null} chosen */
  choose(chosen) {
    this.isNamed = true;
    this.take(chosen);
  }

  /** @param {Chosen | null} chosen */
  take(chosen) {
    this.chosen = chosen;
    this.show();
    this.onChange();
    if (chosen && !chosen.collections) void this.read(chosen);
  }

  /** What else there is to know of it. @param {Chosen} chosen */
  async read(chosen) {
    const found = await api.get(`/api/assistants/${chosen.id}`).catch(() => null); // one that is gone: its next answer says so
    if (!found || this.chosen !== chosen) return;
    this.chosen = found;
    this.show();
    this.onChange();
  }

  /** What goes with a question. @returns {Pick<Api.Ask, "assistant">} */
  settings() {
    return this.isNamed ? { assistant: this.chosen?.id ?? "" } : {};
  }

  /** As the site has it after an answer: it may be gone, or another tab has chosen. @param {{id?: Api.Id, name?: string} | undefined} known */
  sync(known) {
    if (known && !this.isNamed && known.id !== this.chosen?.id) this.use(/** @type {Chosen} */ (known));
  }

  /** The site has it; what becomes of it from now on, the site says. */
  taken() {
    this.isNamed = false;
  }

  show() {
    const name = this.chosen?.name;
    this.button.classList.toggle("is-on", Boolean(name));
    this.button.setAttribute("aria-label", name ? gettext("Assistant: {name}", { name }) : gettext("Assistant"));
    replace(this.button, icon("question"), name ? h("span", { class: "pick-name", dir: "auto" }, name) : h("span", { class: "pick-label" }, gettext("Assistant")), icon("chevron"));
  }

  /** @param {Chosen | null} one @param {string} label @param {string} hint @returns {Ui.MenuItem} */
  item(one, label, hint = "") {
    return { label, hint, radio: true, checked: (this.chosen?.id ?? "") === (one?.id ?? ""), run: () => this.choose(one) };
  }

  /** @returns {Promise<Ui.MenuItem[]>} */
  async items() {
    /** @type {Api.Assistant[]} */
    const all = await fetchAll("/api/assistants");
    return [
      this.item(null, gettext("None"), gettext("With your own settings")),
      ...all.map((one) => this.item(one, one.name, one.description)),
      { heading: "" },
      { label: gettext("All assistants"), icon: "settings", href: "/assistants/" },
      { label: gettext("New assistant"), icon: "plus", href: "/assistants/new/" },
    ];
  }

  /**
   * Its name, what it is for, and its questions in place of the site's.
   * @param {HTMLElement} welcome @param {((text: string) => unknown) | null} ask null: no questions are offered
   */
  greet(welcome, ask) {
    if (!this.chosen) return;
    const { name, description, starters = [] } = this.chosen;
    replace(welcome.querySelector("h2") ?? h("h2"), name);
    const [words, hint] = welcome.querySelectorAll("p");
    if (words && description) replace(words, description);
    if (!ask || !starters.length) return;
    let list = welcome.querySelector(".suggestions");
    if (!list) {
      list = h("ul", { class: "suggestions", "aria-label": gettext("Questions to start with") });
      (hint ?? words).after(list);
      hint?.remove();
    }
    replace(/** @type {HTMLElement} */ (list), starters.map((text) => h("li", {},
      h("button", { type: "button", class: "suggestion", dir: "auto", onclick: () => ask(text) }, h("span", {}, text), icon("right")))));
  }
}
