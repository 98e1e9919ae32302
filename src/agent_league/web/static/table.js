/* The table sorted by any column, searched by name, and the row of whoever looks: this browser remembers which it is. What is
   searched and sorted stays so while the table follows the league. */
(function () {
  "use strict";
  document.documentElement.classList.add("scripted");

  const place = document.getElementById("table");
  const tools = document.querySelector(".tools");
  const search = tools.querySelector("input");
  const findMe = tools.querySelector(".find-me");
  const found = document.querySelector(".found");
  const question = "Which player are you? Press the star beside its name; this browser remembers it.";
  const memory = "agent-league:me:" + place.dataset.league;
  let own = recall();
  let sorting = { key: "rank", down: false };

  const table = () => place.querySelector("table");
  const rows = () => Array.from(place.querySelectorAll("tbody tr"));
  const column = (key) => Array.from(table().tHead.rows[0].cells).findIndex((head) => head.dataset.sort === key);
  const plain = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();

  /* A browser may keep nothing for this place: then the row is known until the page is left. */
  function recall() {
    try {
      return localStorage.getItem(memory) || "";
    } catch {
      return "";
    }
  }

  function remember(key) {
    own = key;
    try {
      if (key) localStorage.setItem(memory, key);
      else localStorage.removeItem(memory);
    } catch {
      /* not kept */
    }
    markOwn();
  }

  function nameOf(row) {
    return row.querySelector("th a bdi").textContent.trim();
  }

  function valueOf(row, at) {
    const cell = row.cells[at];
    if (cell.tagName === "TH") return plain(nameOf(row));
    const number = Number(cell.dataset.value ?? cell.textContent);
    return Number.isNaN(number) ? -Infinity : number;
  }

  function order(list, at, down) {
    const values = new Map(list.map((row) => [row, valueOf(row, at)]));
    const collator = new Intl.Collator(undefined, { numeric: true });
    const compare = (one, other) =>
      typeof one === "string" ? collator.compare(one, other) : one < other ? -1 : one > other ? 1 : 0;
    return list.sort((one, other) => (down ? -1 : 1) * compare(values.get(one), values.get(other)));
  }

  /* The table comes in the order of its ranks; rows with equal values stay in it. */
  function sort(isFresh) {
    if (!table()) return;
    let at = column(sorting.key);
    if (at < 0) {
      sorting = { key: "rank", down: false };
      at = column("rank");
    }
    for (const head of table().tHead.rows[0].cells) {
      if (head.dataset.sort === sorting.key) head.setAttribute("aria-sort", sorting.down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    }
    if (at < 0 || (isFresh && sorting.key === "rank" && !sorting.down)) return;
    const rank = column("rank");
    const body = table().tBodies[0];
    /* Only rows out of place are moved: each that is moved has to be laid out anew. */
    let next = body.firstElementChild;
    for (const row of order(rank < 0 ? rows() : order(rows(), rank, false), at, sorting.down)) {
      if (row === next) next = next.nextElementSibling;
      else body.insertBefore(row, next);
    }
  }

  function filter() {
    const wanted = plain(search.value.trim());
    let shown = 0;
    const all = rows();
    for (const row of all) {
      row.hidden = wanted !== "" && !plain(nameOf(row)).includes(wanted) && row.dataset.key.toLowerCase() !== wanted;
      if (!row.hidden) shown += 1;
    }
    const count = shown + " of " + all.length + (all.length === 1 ? " player" : " players");
    say(wanted ? count : place.classList.contains("choosing") ? question : "");
  }

  function markOwn() {
    for (const row of rows()) {
      const isOwn = row.dataset.key === own;
      row.classList.toggle("mine", isOwn);
      row.querySelector(".me").setAttribute("aria-pressed", isOwn);
    }
  }

  function say(words) {
    if (found.textContent !== words) found.textContent = words;
  }

  function showOwn() {
    const row = rows().find((one) => one.dataset.key === own);
    if (!row) {
      place.classList.add("choosing");
      search.focus();
      return say(question);
    }
    if (row.hidden) {
      search.value = "";
      filter();
    }
    /* Sticky, it would be in sight wherever the page is. */
    row.classList.remove("mine");
    row.scrollIntoView({ block: "center" });
    row.classList.add("mine");
    row.querySelector("a").focus({ preventScroll: true });
  }

  place.addEventListener("click", (event) => {
    const head = event.target.closest(".sort")?.closest("th");
    const star = event.target.closest(".me");
    if (head) {
      const key = head.dataset.sort;
      const isText = head.classList.contains("player") || key === "rank";
      sorting = { key: key, down: sorting.key === key ? !sorting.down : !isText };
      sort(false);
    }
    if (star) {
      const key = star.closest("tr").dataset.key;
      remember(key === own ? "" : key);
      place.classList.remove("choosing");
      filter();
    }
  });
  tools.addEventListener("submit", (event) => event.preventDefault());
  search.addEventListener("input", filter);
  findMe.addEventListener("click", showOwn);
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !event.ctrlKey && !event.metaKey && !event.altKey && !event.target.closest("input")) {
      event.preventDefault();
      search.focus();
    }
  });
  place.addEventListener("morphed", () => {
    sort(true);
    filter();
    markOwn();
  });

  tools.hidden = false;
  sort(true);
  markOwn();
})();
