/* The game one step at a time, and a match that is not over looked at again until it is. Without this all steps are shown. */
(function () {
  "use strict";
  document.documentElement.classList.add("scripted");
  const PACE = 1000;
  const AGAIN = 2000;

  function stepper(game) {
    const theatre = game.querySelector(".theatre");
    const steps = Array.from(game.querySelectorAll(".step"));
    const slider = game.querySelector(".controls input");
    const button = (name) => game.querySelector(`[data-go="${name}"]`);
    const announcement = game.querySelector("[data-announcement]");
    const marks = Array.from(game.querySelectorAll(".played [data-step]"));
    const clocks = document.querySelectorAll("[data-clock]");
    const windows = Array.from(game.querySelectorAll(".window"));
    let at = steps.length - 1;
    let timer = null;

    /* Not `disabled`: the keyboard would lose its place. */
    const idle = (pressed, is) => pressed.setAttribute("aria-disabled", is);

    function show(index, quietly) {
      at = Math.max(0, Math.min(steps.length - 1, index));
      const number = steps[at].dataset.step;
      steps.forEach((step, place) => step.classList.toggle("now", place === at));
      marks.forEach((mark) => {
        const isNow = mark.dataset.step === number;
        mark.classList.toggle("now", isNow);
        if (isNow) {
          mark.setAttribute("aria-current", "step");
          const around = mark.closest(".window");
          const far = mark.getBoundingClientRect().top - around.getBoundingClientRect().top;
          if (far < 40 || far > around.clientHeight - 60) around.scrollTop += far - around.clientHeight / 2;
        } else mark.removeAttribute("aria-current");
      });
      for (const clock of clocks) {
        const side = clock.dataset.clock === "a" ? "clockA" : "clockB";
        if (steps[at].dataset[side]) clock.textContent = steps[at].dataset[side];
      }
      slider.value = at;
      slider.setAttribute("aria-valuetext", words());
      for (const name of ["first", "previous"]) idle(button(name), at === 0);
      for (const name of ["next", "last"]) idle(button(name), at === steps.length - 1);
      if (at === 0) windows.forEach((around) => (around.scrollTop = 0));
      if (!quietly) {
        announcement.textContent = words();
        history.replaceState(null, "", `#step=${number}`);
      }
    }

    const words = () => steps[at].querySelector(".caption").textContent.replace(/\s+/g, " ").trim();

    function play(on) {
      clearInterval(timer);
      timer = null;
      if (on) {
        if (at === steps.length - 1) show(0);
        timer = setInterval(() => (at < steps.length - 1 ? show(at + 1) : play(false)), PACE);
      }
      theatre.classList.toggle("playing", on);
      button("play").setAttribute("aria-label", on ? "Pause" : "Play");
    }

    const actions = {
      first: () => show(0),
      previous: () => show(at - 1),
      next: () => show(at + 1),
      last: () => show(steps.length - 1),
      play: () => play(timer === null),
    };
    const keys = { ArrowLeft: "previous", ArrowRight: "next", Home: "first", End: "last", " ": "play" };

    function act(name) {
      if (name !== "play") play(false);
      actions[name]();
    }

    function fromAddress() {
      const found = /^#step=(\d+)$/.exec(location.hash);
      const index = found ? steps.findIndex((step) => step.dataset.step === found[1]) : -1;
      if (index >= 0) {
        play(false);
        show(index);
      }
      return index >= 0;
    }

    game.addEventListener("click", (event) => {
      const pressed = event.target.closest("[data-go]");
      if (pressed) act(pressed.dataset.go);
    });
    game.addEventListener("keydown", (event) => {
      const name = keys[event.key];
      const own = event.target === slider || (event.key === " " && event.target.closest("button, a, summary"));
      if (!name || own || event.ctrlKey || event.altKey || event.metaKey) return;
      event.preventDefault();
      act(name);
    });
    slider.addEventListener("input", () => {
      play(false);
      show(Number(slider.value));
    });
    window.addEventListener("hashchange", fromAddress);
    game.querySelector(".controls").hidden = false;
    theatre.classList.add("ready");
    if (!fromAddress()) show(at, true);
  }

  function waitForTheEnd(match) {
    const before = match.dataset.state;
    setTimeout(async function again() {
      try {
        const answer = await fetch(location.href, { cache: "no-store" });
        const page = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("match");
        if (page && page.dataset.state !== before) return location.reload();
      } catch {
        /* the league is away: it may come back */
      }
      setTimeout(again, AGAIN);
    }, AGAIN);
  }

  document.addEventListener("DOMContentLoaded", () => {
    const match = document.getElementById("match");
    const game = document.getElementById("game");
    if (game && game.querySelector(".step")) stepper(game);
    if (match && "live" in match.dataset && match.dataset.state !== "FINISHED") waitForTheEnd(match);
  });
})();
