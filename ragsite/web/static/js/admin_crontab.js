// The form of a periodic task in the administration: the chosen crontab in words. The words are made by the server.

const told = /** @type {Record<string, string>} */ (JSON.parse(document.getElementById("readable-crontabs")?.textContent || "{}"));
const choice = /** @type {HTMLSelectElement | null} */ (document.getElementById("id_crontab"));
const words = document.querySelector(".field-crontab_translation .readonly");

function tell() {
  if (choice && words) words.textContent = told[choice.value] ?? "–";
}

choice?.addEventListener("change", tell);
tell();
