// Runs before the page is drawn, so that a chosen theme never flashes.
(() => {
  try {
    const theme = localStorage.getItem("ragsite.theme");
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  } catch {
    // Storage is blocked: the system's theme it is.
  }
})();
