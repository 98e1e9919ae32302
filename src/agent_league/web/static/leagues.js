/* What organisers do on the index: make a league, and begin a new season of one that is over. */
(function () {
  "use strict";
  const form = document.getElementById("new-league");
  const problem = document.getElementById("new-problem");
  const button = document.getElementById("new-button");
  const signedIn = document.querySelector("input[name='csrf']");
  const csrf = signedIn ? signedIn.value : "";

  async function send(address, fields) {
    const answer = await fetch(address, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-CSRF-Token": csrf },
      body: JSON.stringify(fields),
    });
    const isJson = (answer.headers.get("Content-Type") || "").startsWith("application/json");
    const said = isJson ? await answer.json() : { text: await answer.text() };
    if (answer.status === 201) location.href = said.path;
    return answer.status === 201 ? "" : said.text;
  }

  async function tell(place, pressed, address, fields) {
    place.textContent = "";
    pressed.disabled = true;
    try {
      window.showSentence(place, await send(address, fields));
    } catch {
      place.textContent = "The server doesn't answer; try again in a moment.";
    }
    pressed.disabled = false;
  }

  function read() {
    const fields = Object.fromEntries(new FormData(form));
    for (const name of ["players", "rounds"]) fields[name] = fields[name] ? Number(fields[name]) : null;
    return fields;
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    tell(problem, button, form.action, read());
  });
  document.addEventListener("click", (event) => {
    const pressed = event.target.closest(".new-season");
    if (!pressed) return;
    const league = pressed.dataset.league;
    if (window.confirm("Put the season of " + league + " into the archive and begin another?")) {
      tell(document.getElementById("season-problem"), pressed, pressed.dataset.address, { league_id: league });
    }
  });
})();
