/* Keeps a page as its league is: whenever the stream says that something has changed, the page is asked for again, with
   the rights that its reader has by then, and its sections are made those of the new one. */
(function () {
  "use strict";

  const line = document.getElementById("connection");
  if (!line || !window.EventSource) return;

  let isAsking = false;
  let isBehind = false;

  async function refresh() {
    if (isAsking) {
      isBehind = true;
      return;
    }
    isAsking = true;
    try {
      do {
        isBehind = false;
        const answer = await fetch(location.pathname, { headers: { Accept: "text/html" } });
        if (answer.ok) apply(new DOMParser().parseFromString(await answer.text(), "text/html"));
        else if (answer.status === 403) location.reload();
      } while (isBehind);
    } catch {
      // the stream tries again, and says so
    }
    isAsking = false;
  }

  function apply(fresh) {
    const focused = document.activeElement;
    for (const place of document.querySelectorAll("[data-live]")) {
      const wanted = fresh.querySelector('[data-live="' + place.dataset.live + '"]');
      if (!wanted) continue;
      window.showTimes(wanted);
      window.morphChildren(place, wanted);
    }
    if (focused !== document.activeElement && focused.isConnected) focused.focus({ preventScroll: true });
  }

  window.followStream({
    address: line.dataset.events,
    since: line.dataset.last,
    line: line,
    take: refresh,
    restsHidden: true,
  });
})();
