// What a model server said when it was tried.
import { h, icon, replace, seconds } from "../dom.js";
import { gettext, ngettext } from "../i18n.js";

/** @param {HTMLElement} place @param {Api.ModelServerTest} found */
export function showFound(place, found) {
  const { label, address, models } = found;
  if (!found.answered) {
    replace(place, h("p", { class: "hint" }, icon("warn"), h("span", {}, found.reason)));
    return;
  }
  const said = ngettext("{label} at {address} answered in {time}: {count} model.", "{label} at {address} answered in {time}: {count} models.", models.length, { label, address, time: seconds(found.list_ms) });
  const call = found.called && (found.call_ms === null
    ? gettext("{model} did not answer: {reason}", { model: found.called, reason: found.reason })
    : gettext("{model} replied in {time}.", { model: found.called, time: seconds(found.call_ms) }));
  const none = models.some((model) => model.can_chat) ? "" : gettext("None of them can write answers.");
  const isGood = found.call_ms !== null;
  replace(place,
    h("p", { class: `hint${isGood ? " is-plain" : ""}` }, icon(isGood ? "check" : "warn"), h("span", {}, [said, call, models.length ? none : ""].filter(Boolean).join(" "))),
    models.length ? h("div", { class: "models-list" }, h("table", {},
      h("thead", {}, h("tr", {}, [gettext("Model"), gettext("Good for"), gettext("Reads at once")].map((text) => h("th", { scope: "col" }, text)))),
      h("tbody", {}, models.map((model) => row(model, found.ignoring_format.includes(model.name)))))) : null);
}

/** @param {Api.FoundModel} model @param {boolean} ignoresFormat */
function row(model, ignoresFormat) {
  const abilities = [model.can_chat && gettext("answers"), model.can_embed && gettext("finding by meaning"), model.can_think && gettext("thinks first")].filter(Boolean);
  return h("tr", {},
    h("td", {}, model.name),
    h("td", {}, abilities.join(gettext(", ")) || gettext("neither"), ignoresFormat ? h("p", { class: "muted" }, gettext("Does not keep to a form: grading and checking by it are less certain.")) : null),
    h("td", {}, model.context_length ? ngettext("{count} token", "{count} tokens", model.context_length) : gettext("not told")));
}
