/* Times that go on by themselves: moments by this person's clock, how long something lasts, how long until it comes. */
(function () {
  "use strict";

  const WHOLE = { year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit", timeZoneName: "short" };

  /* Times as this person's clock has them; with the date and the zone, or these where one points. */
  function showTimes(root) {
    for (const time of root.querySelectorAll("time[datetime]:not([data-planned])")) {
      const moment = new Date(time.getAttribute("datetime"));
      if (isNaN(moment)) continue;
      const whole = moment.toLocaleString(undefined, WHOLE);
      time.textContent = "moment" in time.dataset ? whole : moment.toLocaleTimeString();
      time.title = whole;
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

  setInterval(function () {
    if (!document.hidden) age(document);
  }, 1000);
  showTimes(document);
  window.showTimes = showTimes;
})();
