// What is wider than the page scrolls in its own box; with a tab stop and a name it can be scrolled by keyboard too.
document.addEventListener("DOMContentLoaded", () => {
  for (const box of document.querySelectorAll("pre, .table-wrapper, .output.text_html, .formula")) {
    if (box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight) {
      box.tabIndex = 0;
      box.setAttribute("role", "region");
      box.setAttribute("aria-label", box.matches("pre") ? "Code or output, scrolls sideways" : "Wide content, scrolls sideways");
    }
  }
});
