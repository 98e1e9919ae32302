/* Taking a seat: sends the name, remembers the handle in this browser, and offers the way back to it. */
(function () {
  "use strict";
  const card = document.getElementById("take-a-seat");
  const form = document.getElementById("seat-form");
  const agentForm = document.getElementById("a2a-form");
  const shelf = "agent-league-seats:" + card.dataset.league;
  const home = document.documentElement.dataset.home;
  const MOST = 4;

  function kept() {
    try { return JSON.parse(localStorage.getItem(shelf)) || []; } catch { return []; }
  }

  function keep(seats) {
    try { localStorage.setItem(shelf, JSON.stringify(seats.slice(0, MOST))); } catch { /* a browser that keeps nothing */ }
  }

  async function offerOwn() {
    const there = [];
    for (const seat of kept()) {
      const answer = await fetch(home + "play/" + encodeURIComponent(seat.handle)).catch(() => null);
      if (answer === null || answer.ok) there.push(seat);
    }
    keep(there);
    const place = document.getElementById("own-seats");
    place.hidden = !there.length;
    there.forEach((seat) => {
      const link = document.createElement("a");
      link.className = "button primary";
      link.href = home + "play/" + encodeURIComponent(seat.handle);
      link.textContent = "Go back to your seat as " + seat.name;
      place.append(link, " ");
    });
  }

  /* Posts what was typed; says what is wrong in `problem`, or returns the answer. */
  async function post(path, typed, button, problem) {
    problem.textContent = "";
    button.disabled = true;
    try {
      const answer = await fetch(home + path, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(typed),
      });
      if (answer.status === 201) return await answer.json();
      const isJson = (answer.headers.get("Content-Type") || "").startsWith("application/json");
      window.showSentence(problem, isJson ? (await answer.json()).text : "The league manager refused it (" + answer.status + ").");
    } catch {
      problem.textContent = "The league manager doesn't answer; try again in a moment.";
    } finally {
      button.disabled = false;
    }
    return null;
  }

  async function take(event) {
    event.preventDefault();
    const [button, problem] = [document.getElementById("seat-button"), document.getElementById("seat-problem")];
    const seat = await post("play", { name: form.elements.name.value }, button, problem);
    if (!seat) {
      form.elements.name.focus();
      return;
    }
    keep([seat, ...kept()]);
    location.href = home + "play/" + encodeURIComponent(seat.handle);
  }

  async function seatAgent(event) {
    event.preventDefault();
    const said = document.getElementById("a2a-said");
    said.textContent = "";
    const typed = { card: agentForm.elements.card.value, name: agentForm.elements.name.value };
    const done = await post("play/a2a", typed, agentForm.querySelector("button"), document.getElementById("a2a-problem"));
    if (!done) {
      agentForm.elements.card.focus();
      return;
    }
    agentForm.reset();
    window.showSentence(said, done.text);
  }

  offerOwn();
  if (form) form.addEventListener("submit", take);
  if (agentForm) agentForm.addEventListener("submit", seatAgent);
})();
