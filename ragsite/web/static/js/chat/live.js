// What happens now, in a person's words: from the event of a step that has ended to the line above the growing answer.
import { gettext, ngettext } from "../i18n.js";
import { labelOf } from "../labels.js";

/** @type {Record<string, string>} tool → the line while it is used */
const TOOLS = {
  search: gettext("Searching the documents"), web_search: gettext("Searching the web"),
  query_rewriter: gettext("Looking for better words"), rewrite: gettext("Looking for better words"),
  relevance_evaluator: gettext("Judging what was found"),
};
/** @type {Record<string, string>} step → the line for what comes after it */
const AFTER = {
  memory: gettext("Understanding the question"), condense: gettext("Choosing where to look"),
  route: gettext("Searching the documents"), rewrite: gettext("Searching the documents"),
  step_back: gettext("Searching the documents"), decompose: gettext("Searching the documents"),
  hyde: gettext("Searching the documents"), refine: gettext("Searching again in another way"),
  retrieve: gettext("Sorting what was found"), grade: gettext("Judging what was found"),
  reflect: gettext("Judging the answer"), compress: gettext("Choosing the passages to write from"),
  order: gettext("Writing"), clarify: gettext("Asking back"), generate: gettext("Checking the answer against its sources"),
};

/**
 * The line for an event; "" where what is shown still holds.
 * @param {Extract<Api.Event, {type: "reasoning" | "tool_call"}>} event
 */
export function liveLine(event) {
  if (event.type === "tool_call") return TOOLS[event.tool] || labelOf("steps", event.tool);
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
  return AFTER[name] || (name ? "" : event.content);
}
