/* A person's seat: follows its stream, counts down, and sends the move that is clicked or typed. */
(function () {
  "use strict";
  const seat = document.getElementById("seat");
  const now = document.getElementById("part-now");
  const announcer = document.getElementById("announcer");
  const problem = document.getElementById("seat-problem");
  const address = document.documentElement.dataset.home + "play/" + encodeURIComponent(seat.dataset.handle);
  const title = document.title;
  const LONGEST_WAIT_MS = 5000;
  const MOVE_MS = 8000;
  const TICK_MS = 100;
  const ANNOUNCED = [10, 5];
  const LOW = 5;
  let turn = null;
  let said = "";
  let sending = false;
  let isLost = false;

  /* The stream. */

  async function whyGone() {
    const answer = await fetch(address, { cache: "no-store" }).catch(() => null);
    if (!answer || answer.status !== 404) return "";
    stopTurn();
    problem.textContent = "There is no such seat here any more: seats end with their league.";
    return "This seat is gone";
  }

  function noteLost() {
    isLost = true;
    return "";
  }

  function take(news) {
    isLost = false;
    const wasIn = now.contains(document.activeElement);
    const isFree = wasIn || document.activeElement === document.body;
    for (const [name, html] of Object.entries(news.parts)) {
      replace(name, html);
    }
    follow(news.turn);
    if (news.parts.now !== undefined) {
      sending = false;
      problem.textContent = "";
      if (isFree && turn) focusFirst();
      else if (wasIn) now.focus({ preventScroll: true });
    }
    const heard = news.said + (turn ? turn.id : "");
    if (news.said && heard !== said) {
      said = heard;
      announce(news.said);
    }
    if (news.is_over) stream.end("Finished");
  }

  /* The same words once more are only heard where the text changes. */
  function announce(text) {
    announcer.textContent = announcer.textContent === text ? text + "\u00a0" : text;
  }

  function replace(name, html) {
    const part = document.getElementById("part-" + name);
    const wasOpen = part.querySelector("details[open]") !== null;
    part.innerHTML = html;
    const details = part.querySelector("details");
    if (details && wasOpen) details.open = true;
  }

  /* The countdown: from the seconds that were left when the server said so, by this browser's own clock. */

  function follow(told) {
    if (!told) {
      stopTurn();
      return;
    }
    const isNew = !turn || turn.id !== told.id;
    const ends = performance.now() + told.seconds_left * 1000;
    turn = { id: told.id, of: told.of, ends: ends, announced: isNew ? announcedAt(told.seconds_left) : turn.announced };
    now.classList.add("asked");
    document.title = "Your move · " + title;
    if (isNew && document.hidden && navigator.vibrate) navigator.vibrate(80);
    count();
  }

  function announcedAt(seconds) {
    return new Set(ANNOUNCED.filter((mark) => seconds <= mark));
  }

  function stopTurn() {
    turn = null;
    now.classList.remove("asked", "low");
    document.title = title;
  }

  function count() {
    if (!turn) return;
    const left = Math.max(0, (turn.ends - performance.now()) / 1000);
    const seconds = document.getElementById("seconds");
    const bar = document.getElementById("countdown-bar");
    if (!seconds || !bar) return;
    const shown = String(Math.ceil(left));
    if (seconds.textContent !== shown) seconds.textContent = shown;
    bar.max = turn.of;
    bar.value = left;
    now.classList.toggle("low", left <= LOW);
    for (const mark of ANNOUNCED) {
      if (left <= mark && !turn.announced.has(mark)) {
        turn.announced.add(mark);
        announce(mark + " seconds left");
      }
    }
  }

  /* Moves. */

  async function play(move, chosen) {
    if (!turn || sending) return;
    if (isLost) { // a manager that was started again may ask for another move than this page shows
      problem.textContent = "Not connected at the moment; your move can't be sent.";
      return;
    }
    const id = turn.id;
    sending = true;
    problem.textContent = "";
    now.classList.add("sending");
    if (chosen) chosen.classList.add("chosen");
    const patience = new AbortController();
    const limit = setTimeout(() => patience.abort(), MOVE_MS);
    let text = "The league manager doesn't answer; your move may not be in. Try again.";
    try {
      const answer = await fetch(address + "/move", {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(Object.assign({ turn_id: id }, move)),
        signal: patience.signal,
      });
      const isJson = (answer.headers.get("Content-Type") || "").startsWith("application/json");
      text = answer.ok ? "" : isJson ? (await answer.json()).text : "The move was refused (" + answer.status + ").";
    } catch { /* said below */ }
    clearTimeout(limit);
    now.classList.remove("sending");
    if (text) {
      if (turn && turn.id === id) sending = false;
      if (chosen) chosen.classList.remove("chosen");
      problem.textContent = text;
    }
  }

  function playPlace(element) {
    play({ place: Number(element.dataset.place) }, buttonOf(element));
  }

  function buttonOf(element) {
    return now.querySelector("button[data-place='" + element.dataset.place + "']") || element;
  }

  function buttons() {
    return Array.from(now.querySelectorAll("button[data-place]")).filter((one) => !one.hidden);
  }

  function focusFirst() {
    const first = document.getElementById("number-move") || buttons()[0];
    if (first) first.focus({ preventScroll: true });
  }

  now.addEventListener("click", (event) => {
    const target = event.target.closest("[data-place]");
    if (target) playPlace(target);
  });

  now.addEventListener("submit", (event) => {
    event.preventDefault();
    const field = document.getElementById("number-move");
    if (field.value === "" || !field.checkValidity()) {
      problem.textContent = field.validationMessage || "Type a number.";
      field.focus();
      return;
    }
    play({ move: Number(field.value) }, null);
  });

  now.addEventListener("input", (event) => {
    if (event.target.id !== "filter-moves") return;
    const wanted = event.target.value.trim().toLowerCase();
    for (const option of now.querySelectorAll("button.option")) {
      option.hidden = !option.textContent.toLowerCase().includes(wanted);
    }
  });

  now.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || !turn) return;
    const isTyping = event.target instanceof HTMLInputElement;
    if (event.target.id === "filter-moves" && event.key === "Enter") {
      const left = buttons();
      if (left.length === 1) playPlace(left[0]);
      event.preventDefault();
    } else if (!isTyping && /^[0-9]$/.test(event.key)) {
      const meant = now.querySelector("button[data-key='" + event.key + "']");
      if (meant) playPlace(meant);
    } else if (!isTyping && event.key.startsWith("Arrow")) {
      step(event);
    }
  });

  /* Arrow keys go to the nearest button in their direction. */
  function step(event) {
    const from = document.activeElement.getBoundingClientRect();
    const ways = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const [x, y] = ways[event.key];
    let best = null;
    let least = Infinity;
    for (const one of buttons()) {
      const to = one.getBoundingClientRect();
      const across = to.left + to.width / 2 - from.left - from.width / 2;
      const down = to.top + to.height / 2 - from.top - from.height / 2;
      const along = across * x + down * y;
      const aside = Math.abs(across * y) + Math.abs(down * x);
      if (along > 1 && along + aside * 2 < least) {
        least = along + aside * 2;
        best = one;
      }
    }
    if (best) {
      best.focus();
      event.preventDefault();
    }
  }

  function aim(event) {
    const target = event.target.closest && event.target.closest("[data-place]");
    for (const one of now.querySelectorAll(".aimed")) one.classList.remove("aimed");
    if (target && target.closest(".cells")) {
      for (const one of now.querySelectorAll(".cells [data-place='" + target.dataset.place + "']")) {
        one.classList.add("aimed");
      }
    }
  }

  now.addEventListener("pointerover", aim);
  now.addEventListener("pointerleave", aim);
  now.addEventListener("focusin", aim);

  setInterval(count, TICK_MS);
  const stream = window.followStream({
    address: address + "/events",
    line: document.getElementById("connection"),
    take: take,
    lost: noteLost,
    gone: whyGone,
    longestWait: LONGEST_WAIT_MS,
  });
})();
