/* The cross table is one stop for Tab, and the arrow keys go from cell to cell; the row and the column of the cell in hand
   are lit. */
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

  const columns = table.querySelectorAll("col");
  const heads = table.tHead.rows[0].cells;
  let lit = [];

  const light = (target) => {
    const cell = target && target.closest("tbody td, thead th");
    for (const one of lit) one.classList.remove("lit");
    lit = cell && cell.cellIndex > 1 ? [columns[cell.cellIndex], heads[cell.cellIndex]] : [];
    if (lit.length && cell.tagName === "TD") lit.push(cell.parentElement);
    for (const one of lit) one.classList.add("lit");
  };

  table.addEventListener("pointerover", (event) => light(event.target));
  table.addEventListener("pointerleave", () => light(table.contains(document.activeElement) ? document.activeElement : null));
  table.addEventListener("focusout", () => light(null));
  table.addEventListener("focusin", (event) => {
    light(event.target);
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

/* The heat map of many players: what is in a cell is said, and leads to its match. */
(() => {
  const heat = document.querySelector(".heat");
  if (!heat) return;
  const size = Number(heat.dataset.size);
  const rows = heat.dataset.matches.split(";").map((row) => row.split(","));
  const svg = heat.querySelector("svg");
  const across = heat.querySelector(".across");
  const down = heat.querySelector(".down");
  const readout = heat.querySelector(".readout");
  const players = Array.from(document.querySelectorAll(".ranked li"));
  const mirrored = { W: "L", L: "W" };
  const verbs = { W: "beat", D: "drew with", L: "lost to", "…": "is playing", "·": "is to meet", X: "had a match aborted against" };
  let here = null;

  function read(row, column) {
    const [first, second] = row < column ? [row, column] : [column, row];
    const told = first === second ? "" : rows[first][second - first - 1];
    if (!told) return null;
    const letter = told[0];
    return { letter: row < column ? letter : mirrored[letter] || letter, id: told.slice(1) };
  }

  const name = (at) => players[at].value + " " + players[at].querySelector("a bdi").textContent.trim();

  function show(row, column) {
    here = [row, column];
    for (const [beam, axis, at] of [[across, "y", row], [down, "x", column]]) {
      beam.setAttribute(axis, at);
      beam.removeAttribute("hidden");
    }
    const found = read(row, column);
    const verb = row === column ? "" : found ? " " + verbs[found.letter] + " " : " does not meet ";
    readout.textContent = name(row) + (verb ? verb + name(column) : "") + (found ? " (" + found.id + ")" : "");
  }

  function open() {
    const found = here && read(here[0], here[1]);
    if (found) location.href = heat.dataset.match.replace("MATCH", encodeURIComponent(found.id));
  }

  function cellAt(event) {
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    const column = Math.floor(point.x);
    const row = Math.floor(point.y);
    return row >= 0 && column >= 0 && row < size && column < size ? [row, column] : null;
  }

  svg.addEventListener("pointermove", (event) => {
    const cell = cellAt(event);
    if (cell && (!here || cell[0] !== here[0] || cell[1] !== here[1])) show(cell[0], cell[1]);
  });
  svg.addEventListener("click", (event) => {
    const cell = cellAt(event);
    if (cell) show(cell[0], cell[1]);
    if (cell) open();
  });
  heat.addEventListener("keydown", (event) => {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (event.altKey || event.ctrlKey || event.metaKey || (!step && event.key !== "Enter")) return;
    event.preventDefault();
    if (!step) return open();
    const within = (at) => Math.max(0, Math.min(size - 1, at));
    const [row, column] = here || [0, 0];
    show(here ? within(row + step[0]) : 0, here ? within(column + step[1]) : 1);
  });
})();
