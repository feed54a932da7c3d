// How old what a source is of is: the date and the version of its document, and whether its review is overdue.
import { dateOf, dateOfDay, h, icon } from "../dom.js";
import { gettext, ngettext } from "../i18n.js";

/** Nothing for a web page, and where the document is gone. @param {Api.Source} source */
export function ageLine(source) {
  const { added_at: added, version, replaced, overdue, review_due: due } = source;
  if (!added) return null;
  const age = [gettext("of {date}", { date: dateOf(added) }), version && version > 1 ? gettext("version {number}", { number: version }) : null, replaced ? gettext("replaced since") : null];
  return h("span", { class: `source-age${replaced || overdue ? " is-old" : ""}` },
    [...age, overdue && due ? gettext("review was due on {date}", { date: dateOfDay(due) }) : null].filter(Boolean).join(" · "));
}

/** That the answer rests on what was to be reviewed by now; nothing where it does not. @param {Api.Answer} message */
export function overdueNote({ sources, overdue_sources: markers = [] }) {
  /** @type {Map<unknown, Api.Source>} */
  const documents = new Map();
  for (const source of sources) if (markers.includes(source.marker)) documents.set(source.document_id, source);
  const overdue = [...documents.values()];
  if (!overdue.length) return null;
  const [{ title, review_due: due }] = overdue;
  const text = overdue.length === 1 && due
    ? gettext("Review of “{title}” was due on {date}. Check that it still holds.", { title, date: dateOfDay(due) })
    : ngettext("{count} cited document is overdue for review: {titles}. Check that it still holds.", "{count} cited documents are overdue for review: {titles}. Check that they still hold.",
      overdue.length, { titles: overdue.map((source) => source.title).join(gettext(", ")) });
  return h("p", { class: "weak-note" }, icon("clock"), h("span", {}, text));
}
