// Runs before the page is drawn, so that a chosen theme never flashes.
(() => {
  try {
    const theme = localStorage.getItem("ragsite.theme");
    if (theme !== "light" && theme !== "dark") return;
    document.documentElement.dataset.theme = theme;
    const colour = { light: "#fdfcf9", dark: "#191b1a" }[theme]; // of the window that an installed site has
    for (const meta of document.querySelectorAll('meta[name="theme-color"]')) meta.setAttribute("content", colour);
  } catch {
    // Storage is blocked: the system's theme it is.
  }
})();
