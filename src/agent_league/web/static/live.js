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
      dress(fresh.content);
      const before = places(place);
      morphChildren(place, fresh.content);
      glide(place, before);
    }
    // A row that was moved has lost it.
    if (focused !== document.activeElement && focused.isConnected) focused.focus({ preventScroll: true });
    entitle();
  }

  /* The children of one element made those of another: what has a key is found again by it, and the rest by its place. */
  function morphChildren(old, fresh) {
    const keyed = new Map();
    for (const child of old.children) if (child.dataset.key) keyed.set(child.dataset.key, child);
    let at = old.firstChild;
    for (const wanted of Array.from(fresh.childNodes)) {
      const key = wanted.dataset && wanted.dataset.key;
      const match = key ? keyed.get(key) : at;
      if (!match || !alike(match, wanted) || (!key && match.dataset && match.dataset.key)) {
        old.insertBefore(wanted, at);
        continue;
      }
      if (match === at) at = at.nextSibling;
      else old.insertBefore(match, at);
      morph(match, wanted);
    }
    while (at) {
      const next = at.nextSibling;
      at.remove();
      at = next;
    }
  }

  function alike(one, other) {
    return one.nodeName === other.nodeName && one.id === other.id;
  }

  function morph(old, fresh) {
    if (old.nodeType !== Node.ELEMENT_NODE) {
      if (old.nodeValue !== fresh.nodeValue) old.nodeValue = fresh.nodeValue;
      return;
    }
    for (const name of old.getAttributeNames()) if (!fresh.hasAttribute(name) && name !== "open") old.removeAttribute(name);
    for (const name of fresh.getAttributeNames()) {
      if (old.getAttribute(name) !== fresh.getAttribute(name)) old.setAttribute(name, fresh.getAttribute(name));
    }
    morphChildren(old, fresh);
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

  /* Times as this person's clock has them. */
  function dress(root) {
    for (const time of root.querySelectorAll("time[datetime]:not([data-planned])")) {
      const moment = new Date(time.getAttribute("datetime"));
      if (!isNaN(moment)) time.textContent = moment.toLocaleTimeString();
    }
    age(root);
  }

  function age(root) {
    for (const lasting of root.querySelectorAll("[data-since]")) {
      const seconds = Math.max(0, Math.round((Date.now() - new Date(lasting.dataset.since)) / 1000));
      const words = document.createElement("strong");
      words.textContent = duration(seconds);
      lasting.replaceChildren("for ", words);
    }
    for (const coming of root.querySelectorAll("[data-until]")) {
      const seconds = Math.ceil((new Date(coming.dataset.until) - Date.now()) / 1000);
      coming.textContent = seconds > 0 ? "(in " + wait(seconds) + ")" : "(now)";
    }
  }

  /* As format_wait of the manager has it, with seconds in the last hour. */
  function wait(seconds) {
    const hours = Math.floor(seconds / 3600);
    if (hours < 1) return duration(seconds);
    if (hours < 48) return hours + " h " + Math.floor((seconds % 3600) / 60) + " min";
    return Math.floor(hours / 24) + " days " + (hours % 24) + " h";
  }

  function duration(seconds) {
    const minutes = Math.floor(seconds / 60);
    if (minutes < 1) return seconds + " s";
    if (minutes < 60) return minutes + " min " + (seconds % 60) + " s";
    return Math.floor(minutes / 60) + " h " + (minutes % 60) + " min";
  }

  function state() {
    return document.getElementById("league-state").dataset;
  }

  function entitle() {
    if (state().title) document.title = state().title + " · " + heading;
  }

  setInterval(function () {
    if (!document.hidden) age(document);
  }, 1000);
  dress(document);
  entitle();
  window.followStream({
    address: line.dataset.events,
    line: line,
    take: apply,
    lost: () => (state().phase === "COMPLETED" ? "The manager has ended" : ""),
    restsHidden: true,
  });
})();
