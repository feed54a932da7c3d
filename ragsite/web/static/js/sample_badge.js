// Says of a source, or a document, that it is one of the samples that the site came with.
import { h } from "./dom.js";
import { gettext } from "./i18n.js";

const boot = document.getElementById("boot");
/** @type {Set<Api.Id | null>} what the page knows of them */
const samples = new Set(boot ? JSON.parse(boot.textContent).sample_documents ?? [] : []);

export const sampleBadge = () => h("span", { class: "sample-badge" }, gettext("Sample"));

/** @param {Api.Source} source */
export const badgeOf = (source) => (samples.has(source.document_id) ? sampleBadge() : null);
