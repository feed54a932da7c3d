// Temporary conversations: the switch beside "New conversation", the banner that says when one ends, and keeping it.
import { api, request } from "../api.js";
import { query } from "../dom.js";
import { DATES, gettext } from "../i18n.js";
import { errorToast, toast } from "../ui.js";

/** @typedef {Boot.Named} Named */

export class Temporary {
  /**
   * @param {HTMLElement} banner
   * @param {HTMLElement | null} toggle null: the site leaves no choice
   * @param {object} options
   * @param {Boot.TemporaryRule} options.rule
   * @param {(isOn: boolean) => unknown} options.onToggle another empty conversation, temporary or not
   * @param {(session: Named) => unknown} options.onKept
   */
  constructor(banner, toggle, { rule, onToggle, onKept }) {
    this.banner = banner;
    this.toggle = toggle;
    this.rule = rule;
    this.onKept = onKept;
    /** @type {Named | null} the open conversation; null: it has not begun */
    this.session = null;
    this.isOn = rule === "enforced";
    /** @type {Named | null} one that is kept as soon as that can't be undone any more */
    this.keeping = null;
    this.switchOver = () => rule === "allowed" && onToggle(!this.isOn);
    toggle?.addEventListener("click", this.switchOver);
    query(banner, "[data-keep]").addEventListener("click", () => this.session && this.keep(this.session));
    addEventListener("pagehide", () => this.end(true)); // who leaves has made up their mind
  }

  /** The conversation that is shown from now on. @param {Named | null | undefined} session null: one that has not begun @param {boolean} isOn whether that is to be temporary */
  show(session, isOn = false) {
    this.session = session ?? null;
    this.isOn = session ? Boolean(session.temporary) : isOn || this.rule === "enforced";
    this.draw();
  }

  draw() {
    this.toggle?.setAttribute("aria-pressed", String(this.isOn));
    this.banner.hidden = !this.isOn || (this.keeping !== null && this.keeping === this.session);
    query(this.banner, "[data-temporary-text]").textContent = this.text();
    query(this.banner, "[data-keep]").hidden = !this.session || this.rule === "enforced";
  }

  text() {
    if (this.session?.expires_at) {
      const date = new Date(this.session.expires_at).toLocaleString(DATES, { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
      return gettext("This conversation is deleted on {date}, and nobody at the review desk reads it.", { date });
    }
    return this.rule === "enforced" ? gettext("On this site every new conversation is deleted after 24 hours, and nobody at the review desk reads it.")
      : gettext("Temporary chat: it is deleted after 24 hours, is not remembered, and nobody at the review desk reads it.");
  }

  /** Begins it on the site before its first question goes there, so that its address is known whatever happens. @returns {Promise<Named>} */
  begin() {
    return api.post("/api/sessions", this.rule === "enforced" ? {} : { temporary: true });
  }

  /** @param {Named} session */
  keep(session) {
    this.end();
    this.keeping = session;
    this.draw();
    toast(gettext("This conversation is kept, and the review desk may read it."), {
      onGone: () => this.keeping === session && this.end(),
      action: { label: gettext("Undo"), run: () => { this.keeping = null; this.draw(); } },
    });
  }

  /** @param {boolean} [leaving] the page goes */
  async end(leaving = false) {
    const session = this.keeping;
    this.keeping = null;
    if (!session) return;
    try {
      const response = await request("PATCH", `/api/sessions/${session.id}`, { body: { temporary: false }, keepalive: leaving });
      Object.assign(session, await response.json());
      this.onKept(session);
    } catch (error) {
      errorToast(error);
    }
    if (this.session === session) this.show(session);
  }
}
