// Sign-in, sign-up and passwords: show the password on request, and send a form once.
import "./once.js";
import { gettext } from "./i18n.js";

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
  wrap.append(input, toggle);
}

// Passkeys belong to a name: browsers offer none where the site is called by a bare address, or without HTTPS.
if (window.PublicKeyCredential && !/^[\d.]+$|:/.test(location.hostname)) {
  for (const element of document.querySelectorAll(/** @type {"button"} */ ("[data-passkey]"))) element.hidden = false;
}
document.addEventListener("allauth.error", (event) => {
  event.preventDefault();
  const told = document.createElement("p");
  told.className = "form-error";
  told.setAttribute("role", "alert");
  told.textContent = gettext("The passkey was not used. Try again, or sign in another way.");
  document.querySelector(".account-card .form-error")?.remove();
  document.querySelector(".account-card h1")?.after(told);
});

/** @type {HTMLElement | null} */
const focused = document.querySelector('[aria-invalid="true"]') || document.querySelector("form input:not([type=hidden], [readonly])");
focused?.focus();
