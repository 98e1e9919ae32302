/* One stream of events from the manager, opened again whenever it breaks off or falls silent; a line on the page says
   how it stands. `take` gets what each message says, and its id; `since` is the id of the last one that the page knows. Where the
   line is lost, `lost` may say for which good reason, and where the manager refuses it, `gone` why it will for ever. */
(function () {
  "use strict";

  const LONGEST_WAIT = 30000;
  const SILENCE = 40000; // the manager says something every 15 s
  const HIDDEN = 60000; // a browser opens only six connections to one place, and each tab holds one

  window.followStream = function (wanted) {
    const longestWait = wanted.longestWait || LONGEST_WAIT;
    let source = null;
    let last = wanted.since || "";
    let failures = 0;
    let retrying = 0;
    let silence = 0;
    let hiding = 0;
    let isOver = false;

    function show(state, words) {
      const line = wanted.line;
      line.hidden = false;
      line.dataset.state = state;
      if (line.textContent !== words) line.textContent = words;
    }

    function connect() {
      disconnect();
      if (isOver) return;
      const joint = wanted.address.includes("?") ? "&" : "?";
      source = new EventSource(wanted.address + (last ? joint + "since=" + encodeURIComponent(last) : ""));
      source.onopen = function () {
        failures = 0;
        show("live", "Live");
        heard();
      };
      source.onmessage = function (message) {
        heard();
        last = message.lastEventId;
        wanted.take(JSON.parse(message.data), last);
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
      const isRefused = source && source.readyState === EventSource.CLOSED;
      disconnect();
      const reason = wanted.lost ? wanted.lost() : "";
      show(reason ? "over" : "away", reason || "Not connected; trying again");
      const wait = Math.min(longestWait, 1000 * 2 ** failures) * (0.75 + Math.random() / 2);
      failures += 1;
      retrying = setTimeout(isRefused && wanted.gone ? ask : connect, wait);
    }

    async function ask() {
      const why = await wanted.gone();
      if (why) end(why);
      else if (!source) connect();
    }

    function end(words) {
      isOver = true;
      disconnect();
      show("over", words);
    }

    /* A browser that calls itself offline may still reach a manager on its own machine: a new connection shows it. */
    function check() {
      if (isOver || (document.hidden && !source)) return;
      show("away", "Not connected; trying again");
      connect();
    }

    function rest() {
      disconnect();
      show("", "Connecting");
    }

    document.addEventListener("visibilitychange", function () {
      clearTimeout(hiding);
      if (document.hidden && wanted.restsHidden) hiding = setTimeout(rest, HIDDEN);
      else if (!document.hidden && !source) connect();
    });
    window.addEventListener("pagehide", disconnect);
    window.addEventListener("pageshow", function (event) {
      if (event.persisted) connect();
    });
    window.addEventListener("online", check);
    window.addEventListener("offline", check);

    show("", "Connecting");
    connect();
    return { end: end };
  };
})();
