/* Taking a seat: sends the name, remembers the handle in this browser, and offers the way back to it. */
(function () {
  "use strict";
  const card = document.getElementById("take-a-seat");
  const form = document.getElementById("seat-form");
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

  async function take(event) {
    event.preventDefault();
    const button = document.getElementById("seat-button");
    const problem = document.getElementById("seat-problem");
    problem.textContent = "";
    button.disabled = true;
    try {
      const answer = await fetch(home + "play", {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ name: form.elements.name.value }),
      });
      if (answer.status === 201) {
        const seat = await answer.json();
        keep([seat, ...kept()]);
        location.href = home + "play/" + encodeURIComponent(seat.handle);
        return;
      }
      const isJson = (answer.headers.get("Content-Type") || "").startsWith("application/json");
      problem.textContent = isJson ? (await answer.json()).text : "The league manager refused it (" + answer.status + ").";
    } catch {
      problem.textContent = "The league manager doesn't answer; try again in a moment.";
    }
    button.disabled = false;
    form.elements.name.focus();
  }

  offerOwn();
  if (form) form.addEventListener("submit", take);
})();
