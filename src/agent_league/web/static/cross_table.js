/* Arrow keys in the cross table: it is one stop for Tab, and the arrows go from cell to cell. */
(() => {
  const table = document.querySelector(".cross table");
  if (!table || !table.tBodies[0]) return;
  const rows = table.tBodies[0].rows;
  const first = table.querySelector("td a");
  if (!first) return;
  let here = first;
  for (const link of table.querySelectorAll("td a")) link.tabIndex = -1;
  here.tabIndex = 0;

  const go = (link) => {
    here.tabIndex = -1;
    here = link;
    here.tabIndex = 0;
    here.focus();
  };

  const linkFrom = (row, column, down, right) => {
    for (let y = row + down, x = column + right; rows[y] && rows[y].cells[x]; y += down, x += right) {
      const link = rows[y].cells[x].querySelector("td > a");
      if (link) return link;
    }
    return null;
  };

  table.addEventListener("focusin", (event) => {
    const link = event.target.closest("td a");
    if (link && link !== here) {
      here.tabIndex = -1;
      here = link;
      here.tabIndex = 0;
    }
  });

  table.addEventListener("keydown", (event) => {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    const link = event.target.closest("td a");
    if (!step || !link || event.altKey || event.ctrlKey || event.metaKey) return;
    const beside = step[1] > 0 ? link.nextElementSibling : step[1] < 0 ? link.previousElementSibling : null;
    const cell = link.parentElement;
    const next = beside || linkFrom(cell.parentElement.sectionRowIndex, cell.cellIndex, step[0], step[1]);
    event.preventDefault();
    if (next) go(next);
  });
})();
