// Sorts a table by the column whose button was pressed: by data-sort or data-value, the largest first, or by text.
for (const button of document.querySelectorAll("thead button")) button.addEventListener("click", () => {
  const head = button.closest("th"), body = head.closest("table").tBodies[0];
  const falls = head.getAttribute("aria-sort") !== "descending";
  for (const other of head.parentElement.children) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", falls ? "descending" : "ascending");
  const cell = row => row.cells[head.cellIndex];
  const value = row => cell(row).dataset.sort ?? cell(row).dataset.value ?? cell(row).textContent;
  const compare = (a, b) => isNaN(a) || isNaN(b) ? String(a).localeCompare(String(b), "en", {numeric: true}) : a - b;
  [...body.rows].sort((a, b) => (falls ? -1 : 1) * compare(value(a), value(b))).forEach(row => body.append(row));
});
