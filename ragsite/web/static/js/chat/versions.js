// ‹1/2›: which version of a question or an answer is shown, and the way to the others.
import { h, iconButton } from "../dom.js";
import { gettext } from "../i18n.js";

/**
 * Null where there is one version alone.
 * @param {Api.Id} id the one that is shown
 * @param {Api.Id[]} versions oldest first
 * @param {(id: Api.Id) => unknown} show
 */
export function versionSwitch(id, versions, show) {
  const at = versions.indexOf(id);
  if (versions.length < 2 || at < 0) return null;
  /** @param {string} name @param {string} label @param {number} to */
  const step = (name, label, to) => iconButton(name, label, () => show(versions[to]), { class: "small", disabled: to < 0 || to >= versions.length });
  return h("div", { class: "versions", role: "group", "aria-label": gettext("Version {number} of {count}", { number: at + 1, count: versions.length }) },
    step("left", gettext("Previous version"), at - 1),
    h("span", { class: "versions-at", "aria-hidden": "true" }, `${at + 1}/${versions.length}`),
    step("right", gettext("Next version"), at + 1));
}
