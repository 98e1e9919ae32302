/* Keeps the overview as the league is: takes whole sections from the manager and changes what differs. */
(function () {
  "use strict";

  const line = document.getElementById("connection");
  if (!line || !window.EventSource) return;

  const LONGEST_WAIT = 30000;
  const SILENCE = 40000; // the manager says something every 15 s
  const HIDDEN = 60000; // a browser opens only six connections to one place, and each tab holds one
  const still = window.matchMedia("(prefers-reduced-motion: reduce)");
  const heading = document.title;
  let source = null;
  let last = "";
  let failures = 0;
  let retrying = 0;
  let silence = 0;
  let hiding = 0;

  function show(state, words) {
    line.hidden = false;
    line.dataset.state = state;
    if (line.textContent !== words) line.textContent = words;
  }

  function connect() {
    disconnect();
    const since = last ? "?since=" + encodeURIComponent(last) : "";
    source = new EventSource(line.dataset.events + since);
    source.onopen = function () {
      failures = 0;
      show("live", "Live");
      heard();
    };
    source.onmessage = function (message) {
      heard();
      last = message.lastEventId;
      apply(JSON.parse(message.data));
    };
    source.addEventListener("beat", heard);
    source.onerror = retry;
    heard();
  }

  function disconnect() {
    if (source) source.close();
    source = null;
    clearTimeout(silence);
    clearTimeout(retrying);
  }

  function heard() {
    clearTimeout(silence);
    silence = setTimeout(retry, SILENCE);
  }

  function retry() {
    disconnect();
    if (state().phase === "COMPLETED") show("over", "The manager has ended");
    else show("away", "Not connected; trying again");
    const wait = Math.min(LONGEST_WAIT, 1000 * 2 ** failures) * (0.75 + Math.random() / 2);
    failures += 1;
    retrying = setTimeout(connect, wait);
  }

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
    for (const name of old.getAttributeNames()) if (!fresh.hasAttribute(name)) old.removeAttribute(name);
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

  /* Rows that changed their place glide there. */
  function glide(place, before) {
    if (still.matches || document.hidden) return;
    for (const row of place.querySelectorAll("[data-flip] [data-key]")) {
      const from = before.get(row.dataset.key);
      const moved = from === undefined ? 0 : from - row.offsetTop;
      if (!moved) continue;
      row.animate([{ transform: "translateY(" + moved + "px)" }, { transform: "none" }], {
        duration: 450,
        easing: "cubic-bezier(0.2, 0.7, 0.2, 1)",
      });
    }
  }

  /* Times as this person's clock has them. */
  function dress(root) {
    for (const time of root.querySelectorAll("time[datetime]")) {
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
    document.title = state().title + " · " + heading;
  }

  document.addEventListener("visibilitychange", function () {
    clearTimeout(hiding);
    if (document.hidden) hiding = setTimeout(disconnect, HIDDEN);
    else if (!source) connect();
  });
  window.addEventListener("pagehide", disconnect);
  window.addEventListener("pageshow", function (event) {
    if (event.persisted) connect();
  });
  window.addEventListener("online", connect);

  setInterval(function () {
    if (!document.hidden) age(document);
  }, 1000);
  dress(document);
  entitle();
  connect();
})();
