"use strict";
// Tables can be put in order by a click on a heading. Without script they are as the report has them.
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  if (body.rows.length < 3) continue;
  const first = [...body.rows];
  [...table.tHead.rows[0].cells].forEach((heading, column) => {
    const text = heading.textContent;
    if (!text) return;
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = text;
    heading.replaceChildren(button);
    heading.setAttribute("aria-sort", "none");
    button.addEventListener("click", () => {
      const now = heading.getAttribute("aria-sort");
      const next = now === "none" ? "descending" : now === "descending" ? "ascending" : "none";
      for (const other of table.tHead.rows[0].cells) if (other.hasAttribute("aria-sort")) other.setAttribute("aria-sort", "none");
      heading.setAttribute("aria-sort", next);
      const key = (row) => row.cells[column];
      const compare = (a, b) => {
        const x = key(a), y = key(b);
        if ("sort" in x.dataset && "sort" in y.dataset) return x.dataset.sort - y.dataset.sort;
        if ("sort" in x.dataset !== "sort" in y.dataset) return "sort" in x.dataset ? 1 : -1;
        return x.textContent.localeCompare(y.textContent);
      };
      const rows = [...first];
      if (next !== "none") rows.sort((a, b) => (next === "ascending" ? 1 : -1) * compare(a, b));
      body.replaceChildren(...rows);
    });
  });
}
