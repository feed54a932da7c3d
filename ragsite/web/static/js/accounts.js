// Sign-in, sign-up and passwords: show the password on request, say that Caps Lock is on, and send a form once.
import { gettext } from "./i18n.js";

/** @param {ParentNode} root @returns {NodeListOf<HTMLButtonElement>} */
const submitButtons = (root) => root.querySelectorAll('button[type="submit"]');

for (const input of document.querySelectorAll(/** @type {"input"} */ ('input[type="password"]'))) {
  const wrap = document.createElement("span");
  wrap.className = "password-wrap";
  input.replaceWith(wrap);
  const toggle = document.createElement("button");
  toggle.type = "button";
  toggle.className = "password-toggle";
  toggle.textContent = gettext("Show");
  toggle.setAttribute("aria-label", gettext("Show the password"));
  toggle.addEventListener("click", () => {
    const show = input.type === "password";
    input.type = show ? "text" : "password";
    toggle.textContent = show ? gettext("Hide") : gettext("Show");
    toggle.setAttribute("aria-label", show ? gettext("Hide the password") : gettext("Show the password"));
  });
  const caps = document.createElement("p");
  caps.className = "password-caps";
  caps.setAttribute("role", "status");
  /** @param {KeyboardEvent} event */
  const noteCaps = (event) => {
    caps.textContent = event.getModifierState?.("CapsLock") ? gettext("Caps Lock is on.") : "";
  };
  input.addEventListener("keydown", noteCaps);
  input.addEventListener("keyup", noteCaps);
  input.addEventListener("blur", () => { caps.textContent = ""; });
  wrap.append(input, toggle);
  wrap.after(caps);
}

for (const form of document.querySelectorAll("form[data-once]")) {
  // Afterwards: a disabled button would not be sent, and some forms have several.
  form.addEventListener("submit", () => setTimeout(() => {
    for (const button of submitButtons(form)) button.disabled = true;
  }));
}
addEventListener("pageshow", () => {
  for (const button of submitButtons(document)) button.disabled = false;
});

// Passkeys belong to a name: browsers offer none where the site is called by a bare address, or without HTTPS.
if (window.PublicKeyCredential && !/^[\d.]+$|:/.test(location.hostname)) {
  for (const element of document.querySelectorAll(/** @type {"button"} */ ("[data-passkey]"))) element.hidden = false;
}
document.addEventListener("allauth.error", (event) => {
  event.preventDefault();
  const told = document.createElement("p");
  told.className = "form-error";
  told.setAttribute("role", "alert");
  told.textContent = gettext("The key was not used. Try again, or choose another way.");
  document.querySelector(".account-card .form-error")?.remove();
  document.querySelector(".account-card h1")?.after(told);
});

/** @type {HTMLElement | null} */
const focused = document.querySelector('[aria-invalid="true"]') || document.querySelector("form input:not([type=hidden], [readonly])");
focused?.focus();
