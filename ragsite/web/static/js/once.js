// Forms that are to be sent once. A button that was disabled before the form is sent would not say that it was pressed.

/** @type {Set<HTMLButtonElement>} */
const pressed = new Set();
document.addEventListener("submit", (event) => {
  const form = /** @type {HTMLFormElement} */ (event.target);
  if (event.defaultPrevented || !("once" in form.dataset)) return;
  setTimeout(() => {
    for (const button of form.querySelectorAll(/** @type {"button"} */ ("button:not(:disabled)"))) {
      button.disabled = true;
      pressed.add(button);
    }
  });
});
addEventListener("pageshow", () => {
  for (const button of pressed) button.disabled = false; // of a page that was gone back to
  pressed.clear();
});
