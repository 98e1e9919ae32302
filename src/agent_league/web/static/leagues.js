/* Making a league: sends the form as JSON, and goes to the new league's page. */
(function () {
  "use strict";
  const form = document.getElementById("new-league");
  const problem = document.getElementById("new-problem");
  const button = document.getElementById("new-button");

  function read() {
    const fields = Object.fromEntries(new FormData(form));
    for (const name of ["players", "rounds"]) fields[name] = fields[name] ? Number(fields[name]) : null;
    return fields;
  }

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    problem.textContent = "";
    button.disabled = true;
    try {
      const answer = await fetch(form.action, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(read()),
      });
      const isJson = (answer.headers.get("Content-Type") || "").startsWith("application/json");
      const said = isJson ? await answer.json() : { text: await answer.text() };
      if (answer.status === 201) {
        location.href = said.path;
        return;
      }
      problem.textContent = said.text;
    } catch {
      problem.textContent = "The server doesn't answer; try again in a moment.";
    }
    button.disabled = false;
  });
})();
