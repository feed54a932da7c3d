// The form of an assistant: the models that the site offers are choices of its field.
import { api } from "./api.js";
import { byId, h } from "./dom.js";

/** @type {Api.Status | null} */
const status = await api.get("/api/status").catch(() => null);
byId("assistant-models").replaceChildren(...(status?.chat_models ?? []).map((name) => h("option", { value: name })));
