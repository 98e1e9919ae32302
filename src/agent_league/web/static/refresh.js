/* Keeps a page as its league is: whenever the stream says that something has changed, the page is asked for again, with
   the rights that its reader has by then, and its sections are made those of the new one. */
(function () {
  "use strict";

  const line = document.getElementById("connection");
  if (!line || !window.EventSource) return;

  const REST_MS = 1000;
  let newest = "";
  let isAsking = false;
  let isBehind = false;

  async function refresh(id) {
    newest = id;
    if (isAsking) {
      isBehind = true;
      return;
    }
    isAsking = true;
    try {
      do {
        isBehind = false;
        const answer = await fetch(location.pathname, { headers: { Accept: "text/html" } });
        if (answer.ok) isBehind = !apply(new DOMParser().parseFromString(await answer.text(), "text/html")) || isBehind;
        else if (answer.status === 403) location.reload();
        if (isBehind) await new Promise((done) => setTimeout(done, REST_MS));
      } while (isBehind);
    } catch {
      // the stream tries again, and says so
    }
    isAsking = false;
  }

  /* Returns whether the page that came is as new as the latest message: one that is kept for many may be a little older. */
  function apply(fresh) {
    const focused = document.activeElement;
    for (const place of document.querySelectorAll("[data-live]")) {
      const wanted = fresh.querySelector('[data-live="' + place.dataset.live + '"]');
      if (!wanted) continue;
      window.showTimes(wanted);
      window.morphChildren(place, wanted);
    }
    if (focused !== document.activeElement && focused.isConnected) focused.focus({ preventScroll: true });
    const [boot, version] = (fresh.getElementById("connection")?.dataset.last || "").split("-");
    const [newestBoot, newestVersion] = newest.split("-");
    return boot !== newestBoot || Number(version) >= Number(newestVersion);
  }

  window.followStream({
    address: line.dataset.events,
    since: line.dataset.last,
    line: line,
    take: (_, id) => refresh(id),
    gone: async function () {
      const answer = await fetch(location.pathname, { headers: { Accept: "text/html" } });
      if (answer.status !== 403) return "";
      location.reload();
      return "You may no longer see this page";
    },
    restsHidden: true,
  });
})();
