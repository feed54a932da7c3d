// Sending a question to a person: the form, what became of it, and taking it back.
import { api } from "../api.js";
import { dateOf, h, icon, replace } from "../dom.js";
import { gettext, gettextWith, ngettext } from "../i18n.js";
import { errorToast, openDialog, toast } from "../ui.js";
import { askButton } from "./owner_row.js";

const MOST_CHARS = 1000;

/** @param {Api.Id} id of the answer */
const address = (id) => `/api/messages/${id}/ask-owner`;

/** Opens the form. @param {HTMLElement} row @param {Api.Id} id @param {string} question @param {() => unknown} again */
export async function askOwner(row, id, question, again) {
  const { request, to } = /** @type {Api.SentRequest} */ (await api.get(address(id)));
  if (request && request.state !== "withdrawn") {
    draw(row, request, id, question, again);
    return;
  }
  if (!to.length) throw new Error(gettext("This question cannot be sent to a person."));
  const sent = await openDialog(gettext("Ask the owner"), (heading, finish) => form(heading, finish, id, question, to));
  if (!sent) return;
  draw(row, sent, id, question, again);
  toast(gettext("Sent."), { action: { label: gettext("Undo"), run: () => withdraw(row, sent, id, question, again) } });
}

/** @param {HTMLElement} row @param {Api.Id} id @param {string} question @param {() => unknown} again */
export async function showSent(row, id, question, again) {
  const { request } = /** @type {Api.SentRequest} */ (await api.get(address(id)));
  if (request) draw(row, request, id, question, again);
}

/**
 * @param {HTMLElement} heading @param {(sent: Api.GapRequest | null) => void} finish
 * @param {Api.Id} id @param {string} question @param {Api.Addressee[]} to
 */
function form(heading, finish, id, question, to) {
  const remark = h("textarea", { class: "input", name: "remark", rows: 3, maxlength: MOST_CHARS, dir: "auto", "aria-describedby": "ask-owner-help" });
  const problem = h("div", { class: "form-error", role: "alert", hidden: true });
  const submit = h("button", { type: "submit", class: "button primary" }, gettext("Send the question"));
  const seen = h("p", { class: "field-help", id: "ask-owner-help" });
  const left = h("p", { class: "field-help", hidden: true });
  const tell = () => {
    const count = to.find((one) => one.sent_to === chosen())?.not_notified ?? 0;
    left.hidden = !count;
    left.textContent = ngettext("{count} of them is not notified, but finds it on the page Questions to people.", "{count} of them are not notified, but find it on the page Questions to people.", count);
    seen.textContent = chosen() === "collection"
      ? gettext("They see your name, the question and the remark, but not the conversation. The review desk sees the remark, too. You are notified when they reply.")
      : gettext("They see the question and the remark, but not the conversation. You are notified when they reply.");
  };
  const chosen = () => element.querySelector(/** @type {"input"} */ ("input[name=to]:checked"))?.value ?? to[0].sent_to;
  const element = h("form", {
    class: "ask-owner-form",
    onchange: tell,
    onsubmit: async (event) => {
      event.preventDefault();
      submit.disabled = true;
      problem.hidden = true;
      try {
        finish(await api.post(address(id), { remark: remark.value.trim(), to: chosen() }));
      } catch (error) {
        replace(problem, /** @type {Error} */ (error).message);
        problem.hidden = false;
      } finally {
        submit.disabled = false;
      }
    },
  }, heading,
  question ? h("blockquote", { dir: "auto" }, question) : null,
  to.length > 1
    ? h("fieldset", {}, h("legend", { class: "label" }, gettext("It goes to")), to.map((one, place) => h("label", {}, h("input", { type: "radio", name: "to", value: one.sent_to, checked: place === 0 }), h("span", {}, nameOf(one)))))
    : h("p", {}, gettextWith("It goes to {people}.", { people: h("strong", {}, nameOf(to[0])) })),
  h("label", { class: "field" }, h("span", { class: "label" }, gettext("Remark (optional)")), remark),
  seen, left, problem,
  h("div", { class: "dialog-actions" }, h("button", { type: "button", class: "button", onclick: () => finish(null) }, gettext("Cancel")), submit));
  tell();
  requestAnimationFrame(() => remark.focus());
  return element;
}

/** @param {Api.Addressee} addressee */
function nameOf({ sent_to: kind, collection, owner, others }) {
  if (kind === "curators") return gettext("the curators of this site");
  if (!owner) return ngettext("{count} editor of {collection}", "{count} editors of {collection}", others, { collection });
  if (!others) return gettext("{owner}, the owner of {collection}", { owner, collection });
  return ngettext("{owner} and {count} editor of {collection}", "{owner} and {count} editors of {collection}", others, { owner, collection });
}

/** What became of it. @param {HTMLElement} row @param {Api.GapRequest} request @param {Api.Id} id @param {string} question @param {() => unknown} again */
function draw(row, request, id, question, again) {
  const { state, ended_at: ended, ended_by: by, reply, note, collection } = request;
  const date = ended ? dateOf(ended) : "";
  const person = by || gettext("Somebody");
  if (state === "withdrawn") replace(row, askButton(row, id, question, again));
  else if (state === "open") {
    replace(row, line(collection ? gettext("Sent to the people of {collection} on {date}. You are notified when they reply.", { collection, date: dateOf(request.sent_at) })
      : gettext("Sent to the curators on {date}. You are notified when they reply.", { date: dateOf(request.sent_at) }), note),
    h("button", { type: "button", class: "button small quiet", onclick: () => withdraw(row, request, id, question, again) }, gettext("Withdraw the question")));
  } else if (state === "declined") replace(row, line(gettext("{person} declined it on {date}:", { person, date }), reply));
  else if (reply) replace(row, line(gettext("{person} answered it on {date}. The answer is another version of this one.", { person, date })));
  else replace(row, line(gettext("It was taken care of on {date}. Ask it again.", { date })), h("button", { type: "button", class: "button small", onclick: again }, icon("retry"), gettext("Ask again")));
}

/** @param {string} text @param {string} [more] */
const line = (text, more) => h("p", {}, icon("people"), h("span", {}, text, more ? [" ", h("span", { dir: "auto" }, more)] : null));

/** @param {HTMLElement} row @param {Api.GapRequest} request @param {Api.Id} id @param {string} question @param {() => unknown} again */
async function withdraw(row, request, id, question, again) {
  try {
    await api.delete(`/api/requests/${request.id}`);
  } catch (error) {
    errorToast(error);
    return;
  }
  replace(row, askButton(row, id, question, again));
  toast(gettext("Withdrawn. Nobody else can read it any more."));
}
