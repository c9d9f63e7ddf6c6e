// What is wider than the page scrolls in its own box; with a tab stop and a name, that of its heading, it can be scrolled by keyboard too.
function nameWhatScrolls() {
  for (const box of document.querySelectorAll("pre, .table-wrapper, .output.text_html, .formula, .picture, .drawing")) {
    if (box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight) {
      const heading = box.closest("section")?.querySelector("h1, h2, h3, h4")?.firstChild?.textContent.trim() || "this page";
      const kind = box.matches("pre") ? "Code or output" : box.matches(".picture, .drawing") ? "Picture" : "Wide content";
      box.tabIndex = 0;
      box.setAttribute("role", "group");
      box.setAttribute("aria-label", `${kind} under \u201c${heading}\u201d, scrolls`);
    }
  }
}
document.addEventListener("DOMContentLoaded", nameWhatScrolls);
document.addEventListener("toggle", nameWhatScrolls, true);  // what was folded has had no size

// A browser lets no page read another one from the disk, and Sphinx's search takes its excerpts from the pages.
document.addEventListener("DOMContentLoaded", () => {
  const results = document.getElementById("search-results");
  if (!results || location.protocol !== "file:") return;
  const note = document.createElement("p");
  note.className = "no-excerpts";
  note.innerHTML = "The search shows titles only, because this page was opened from the disk. For excerpts, run <code>python -m http.server</code> " +
    "in the site's folder and open <code>http://localhost:8000</code>.";
  results.before(note);
});
