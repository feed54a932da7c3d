// What a phone shared waits in this tab for the chat page, also while somebody signs in.
import { query, sharedText } from "./dom.js";

if (sharedText.keep(query(document, "[data-shared]", HTMLTextAreaElement).value)) location.replace("/");
