// Runs before the page is drawn, so that a chosen theme never flashes.
(() => {
  const account = document.documentElement.dataset.accountTheme; // its choice comes before this browser's
  try {
    if (account === "system") localStorage.removeItem("ragsite.theme");
    else if (account) localStorage.setItem("ragsite.theme", account);
    const theme = localStorage.getItem("ragsite.theme");
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  } catch {
    // Storage is blocked: the system's theme it is.
  }
})();
