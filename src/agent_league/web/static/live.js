/* Keeps the overview as the league is: takes whole sections from the manager and changes what differs. */
(function () {
  "use strict";

  const line = document.getElementById("connection");
  if (!line || !window.EventSource) return;

  const still = window.matchMedia("(prefers-reduced-motion: reduce)");
  const heading = document.title;
  const CALM_MS = 1000;
  let lastMove = -CALM_MS;

  function apply(sections) {
    const focused = document.activeElement;
    for (const name of Object.keys(sections)) {
      const place = document.querySelector('[data-live="' + name + '"]');
      if (!place) continue;
      const fresh = document.createElement("template");
      fresh.innerHTML = sections[name];
      window.showTimes(fresh.content);
      const before = places(place);
      window.morphChildren(place, fresh.content);
      place.dispatchEvent(new Event("morphed"));
      glide(place, before);
    }
    // A row that was moved has lost it.
    if (focused !== document.activeElement && focused.isConnected) focused.focus({ preventScroll: true });
    entitle();
  }

  function places(place) {
    const found = new Map();
    for (const row of place.querySelectorAll("[data-flip] [data-key]")) found.set(row.dataset.key, row.offsetTop);
    return found;
  }

  /* Rows that changed their place glide there, where they are seen. All is measured first: whoever measures between
     two changes has the page laid out anew each time. While places change all the time nothing glides: a table whose
     rows are always on their way is never in order. */
  function glide(place, before) {
    if (still.matches || document.hidden) return;
    const moves = [];
    for (const row of place.querySelectorAll("[data-flip] [data-key]")) {
      const from = before.get(row.dataset.key);
      const far = from === undefined ? 0 : from - row.offsetTop;
      if (far && isSeen(row)) moves.push([row, far]);
    }
    if (!moves.length) return;
    const inHaste = performance.now() - lastMove < CALM_MS;
    lastMove = performance.now();
    for (const [row, far] of moves) {
      for (const running of row.getAnimations()) running.cancel();
      if (inHaste) continue;
      row.animate([{ transform: "translateY(" + far + "px)" }, { transform: "none" }], {
        duration: 450,
        easing: "cubic-bezier(0.2, 0.7, 0.2, 1)",
      });
    }
  }

  function isSeen(row) {
    const box = row.getBoundingClientRect();
    return box.bottom > 0 && box.top < window.innerHeight;
  }

  function state() {
    return document.getElementById("league-state")?.dataset || {};
  }

  function entitle() {
    if (state().title) document.title = state().title + " · " + heading;
  }

  entitle();
  window.followStream({
    address: line.dataset.events,
    line: line,
    take: apply,
    lost: () => (state().phase === "COMPLETED" ? "The manager has ended" : ""),
    restsHidden: true,
  });
})();
