// Below an answer that was not found or not confirmed: the way to a person who may know, and what became of that.
import { dateOfDay, h, icon } from "../dom.js";
import { gettext, ngettext } from "../i18n.js";
import { errorToast } from "../ui.js";

const LATER = () => import("./ask_owner.js");

/** Null where nobody is to be asked. @param {Api.Answer} message @param {string} question @param {() => unknown} again has it written again */
export function ownerRow(message, question, again) {
  const sent = message.sent_request;
  const isSent = Boolean(sent) && sent !== "withdrawn";
  if (!isSent && !message.offers.includes("ask_owner")) return null;
  const row = h("div", { class: "ask-owner" });
  if (isSent) LATER().then(({ showSent }) => showSent(row, message.message_id, question, again)).catch(() => {});
  else row.append(askButton(row, message.message_id, question, again));
  return row;
}

/** @param {HTMLElement} row @param {Api.Id} id @param {string} question @param {() => unknown} again */
export function askButton(row, id, question, again) {
  const ask = async () => {
    button.disabled = true;
    try {
      await (await LATER()).askOwner(row, id, question, again);
    } catch (error) {
      errorToast(error);
    } finally {
      button.disabled = false;
    }
  };
  /** @type {HTMLButtonElement} */
  const button = h("button", { type: "button", class: "button small", onclick: ask }, icon("people"), gettext("Ask the owner"));
  return button;
}

/** Who wrote it, where a person did. @param {Api.Answer} message */
export function writerNote({ written_by: writer, answer, sources }) {
  if (!writer) return null;
  const cited = new Set([...answer.matchAll(/\[(\d{1,3})\](?!\()/g)].map((match) => Number(match[1])));
  for (const { marker } of sources) cited.delete(marker);
  return [h("p", { class: "curated-note" }, icon("people"), h("span", {}, gettext("Answered by {by} on {on}.", { by: writer.by, on: dateOfDay(writer.on) }))),
    cited.size ? h("p", { class: "field-help" }, ngettext("{count} cited passage is not shown, since you may not read its document.", "{count} cited passages are not shown, since you may not read their documents.", cited.size)) : null];
}
