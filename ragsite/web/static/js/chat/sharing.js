// The dialog that shares a conversation: with the people of the site, or by a secret link; copy, expiry, revoke.
import { api } from "../api.js";
import { dateOf, h, icon, replace } from "../dom.js";
import { gettext } from "../i18n.js";
import { copyText, openDialog } from "../ui.js";

const DAY_MS = 86_400_000;
/** @type {["site" | "link", string, string, string][]} */
const SCOPES = [
  ["site", "people", gettext("People on this site"), gettext("Everybody who has an account here and the link.")],
  ["link", "globe", gettext("Anybody with a secret link"), gettext("No account needed. Only public sources are shown.")],
];
/** @type {[string, string][]} days */
const EXPIRY = [["", gettext("until you revoke it")], ["1", gettext("for a day")], ["7", gettext("for a week")], ["30", gettext("for 30 days")]];

/** @param {Api.Id} sessionId */
export function shareDialog(sessionId) {
  const url = `/api/sessions/${sessionId}/share`;
  return openDialog(gettext("Share conversation"), (heading, finish) => {
    const body = h("div", { class: "share-scopes" }, h("div", { class: "loading", role: "status" }, h("span", { class: "spinner" })));
    const problem = h("div", { class: "form-error", role: "alert", hidden: true });
    /** @param {() => Promise<unknown>} change */
    const update = async (change) => {
      problem.hidden = true;
      try {
        await change();
        const { shares, links_allowed: linksAllowed } = /** @type {Api.Shares} */ (await api.get(url));
        replace(body, SCOPES.map(([scope, ...words]) => scopeRow(words, shares.find((share) => share.scope === scope), {
          allowed: scope === "site" || linksAllowed,
          make: (days) => update(() => api.post(url, { scope, expires_at: days ? new Date(Date.now() + Number(days) * DAY_MS).toISOString() : null })),
          revoke: () => update(() => api.delete(url, { scope })),
        })));
      } catch (error) {
        replace(problem, /** @type {Error} */ (error).message);
        problem.hidden = false;
        body.querySelector(".loading")?.remove();
      }
    };
    update(async () => {});
    return h("div", { class: "share-dialog" }, heading,
      h("p", { class: "dialog-text" }, gettext("Others see the questions and answers as they are now, and the sources that they may read themselves. What you ask later is not shared.")),
      body, problem,
      h("div", { class: "dialog-actions" }, h("button", { type: "button", class: "button", onclick: () => finish(null) }, gettext("Close"))));
  });
}

/**
 * @param {string[]} words icon, name and explanation
 * @param {Api.Share | undefined} share
 * @param {{allowed: boolean, make: (days: string) => unknown, revoke: () => unknown}} on
 */
function scopeRow([picture, name, explanation], share, { allowed, make, revoke }) {
  const head = h("div", { class: "share-head" }, icon(picture), h("div", {}, h("h3", {}, name),
    h("p", { class: "field-help" }, allowed ? explanation : gettext("Switched off on this site; an administrator can allow it."))));
  if (!allowed) return h("section", { class: "share-scope is-off", "aria-label": name }, head);
  const days = h("select", { class: "input", "aria-label": gettext("How long the link works") }, EXPIRY.map(([value, text]) => h("option", { value }, text)));
  if (!share) {
    return h("section", { class: "share-scope", "aria-label": name }, head,
      h("div", { class: "share-row" }, days, h("button", { type: "button", class: "button primary", onclick: () => make(days.value) }, gettext("Create a link"))));
  }
  const address = h("input", { class: "input", readonly: true, "aria-label": gettext("Address"), value: share.url, onclick: (event) => /** @type {HTMLInputElement} */ (event.currentTarget).select() });
  const until = share.expires_at ? gettext("Shared as of {date}. The link works until {until}.", { date: dateOf(share.created_at), until: dateOf(share.expires_at) }) : gettext("Shared as of {date}. The link works until you revoke it.", { date: dateOf(share.created_at) });
  return h("section", { class: "share-scope", "aria-label": name }, head,
    h("div", { class: "share-row" }, address, h("button", { type: "button", class: "button primary", onclick: (event) => copyText(address.value, event.currentTarget) }, icon("copy"), gettext("Copy"))),
    h("p", { class: "field-help" }, until),
    h("div", { class: "notice-actions" },
      h("button", { type: "button", class: "button small quiet", onclick: () => make("") }, icon("retry"), gettext("Share it as it is now")),
      h("button", { type: "button", class: "button small quiet danger", onclick: revoke }, icon("trash"), gettext("Revoke"))));
}
