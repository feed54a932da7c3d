// What happens now, in a person's words: from the event of a step that has ended to the line above the growing answer.
import { gettext, ngettext } from "../i18n.js";
import { knownLabel, labelOf } from "../labels.js";

/**
 * The line for an event; "" where what is shown still holds.
 * @param {Extract<Api.Event, {type: "reasoning" | "tool_call"}>} event
 */
export function liveLine(event) {
  if (event.type === "tool_call") return knownLabel("tools", event.tool) ?? labelOf("steps", event.tool);
  const { name = "", status, detail = {} } = event.step ?? {};
  if (status === "skipped") return "";
  if (name === "retrieve" && detail.candidates?.length) {
    return ngettext("Comparing {count} passage", "Comparing {count} passages", detail.candidates.length);
  }
  if (name === "assess" && ["REFINE", "NO_ANSWER", "rewrite"].includes(detail.verdict)) return gettext("Looking further");
  if (name === "assess" && detail.verdict) return gettext("Choosing the passages to write from");
  const shown = detail.scores && Object.keys(detail.scores).length;
  if (name === "rerank" && shown) {
    return ngettext("Checking whether {count} passage answers the question", "Checking whether {count} passages answer the question", shown);
  }
  return knownLabel("after_steps", name) ?? (name ? "" : event.content);
}
