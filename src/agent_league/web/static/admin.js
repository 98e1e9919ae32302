/* The organiser's panel: says to /mcp what a person with the admin token wants. What is possible now, and for whom, it
   reads from the live parts of the page. The token is kept for this tab alone. */
(function () {
  "use strict";

  const panel = document.getElementById("admin");
  const state = document.getElementById("league-state");
  if (!panel || !state) return;

  const part = (name) => document.getElementById("admin-" + name);
  const shelf = "agent-league-admin:" + panel.dataset.league;
  const toggle = part("toggle");
  const start = part("start");
  const players = part("player");
  const playerButton = part("player-button");
  let token = recall();
  let asking = null; // what waits for a yes, and where the focus was
  let busy = false;
  let calls = 0;

  function recall() {
    try { return sessionStorage.getItem(shelf) || ""; } catch { return ""; }
  }

  function keep(value) {
    token = value;
    try {
      if (value) sessionStorage.setItem(shelf, value);
      else sessionStorage.removeItem(shelf);
    } catch { /* a browser that keeps nothing */ }
    show();
  }

  function say(words, isBad) {
    part("said").dataset.bad = String(Boolean(isBad));
    part("said").textContent = words;
  }

  /* What the toggle does now: one button, so that the focus stays where it is. */
  function switching() {
    if (state.dataset.phase === "REGISTRATION") {
      return state.dataset.open === "true"
        ? { label: "Close registration", action: "CLOSE_REGISTRATION", done: "Registration is closed: no new player gets in." }
        : { label: "Open registration", action: "OPEN_REGISTRATION", done: "Registration is open." };
    }
    return state.dataset.paused === "true"
      ? { label: "Resume the league", action: "RESUME", done: "The league goes on." }
      : { label: "Pause the league", action: "PAUSE", done: "The league is paused: matches in play end, no other begins." };
  }

  function show() {
    const phase = state.dataset.phase;
    panel.hidden = phase === "COMPLETED";
    part("token-form").hidden = Boolean(token);
    part("actions").hidden = !token;
    part("confirm").hidden = !asking;
    toggle.textContent = switching().label;
    const isLeft = document.activeElement === start && phase !== "REGISTRATION";
    start.hidden = phase !== "REGISTRATION";
    if (isLeft) toggle.focus();
    start.disabled = Boolean(state.dataset.start);
    part("obstacle").hidden = start.hidden || !start.disabled;
    part("obstacle").textContent = start.disabled ? "It can't start yet: " + state.dataset.start + "." : "";
    part("player-form").hidden = !players.options.length;
    playerButton.textContent = isSuspended() ? "Reinstate" : "Suspend";
  }

  /* The players as the table of agents has them. */
  function list() {
    const chosen = players.value;
    const rows = Array.from(document.querySelectorAll('[data-live="agents"] tr[data-role="player"]'));
    const options = rows.map((row) => {
      const label = row.querySelector("th a").textContent + " (" + row.dataset.key + ")";
      const option = new Option(row.dataset.state === "SUSPENDED" ? label + ", suspended" : label, row.dataset.key);
      option.dataset.state = row.dataset.state;
      return option;
    });
    const told = (list) => Array.from(list, (option) => option.text).join("\n");
    if (told(options) !== told(players.options)) {
      players.replaceChildren(...options);
      if (rows.some((row) => row.dataset.key === chosen)) players.value = chosen;
    }
    show();
  }

  function isSuspended() {
    const chosen = players.selectedOptions[0];
    return Boolean(chosen) && chosen.dataset.state === "SUSPENDED";
  }

  function name() {
    return players.selectedOptions[0].text.replace(/, suspended$/, "");
  }

  /* Some things are asked about once more, in the page. */
  function ask(question, yes, deed) {
    asking = { deed: deed, from: document.activeElement };
    part("question").textContent = question;
    part("yes").textContent = yes;
    say("");
    show();
    part("no").focus();
  }

  function answered(isYes) {
    const { deed, from } = asking;
    asking = null;
    show();
    from.focus();
    if (isYes) deed();
  }

  async function command(method, type, fields, done) {
    if (busy) return;
    busy = true;
    say("Asking the manager…");
    try {
      const refusal = await call(method, type, fields);
      if (refusal === null) say(done);
      else say(refusal, true);
    } catch {
      say("The manager gives no answer; try again in a moment.", true);
    }
    busy = false;
  }

  /* Why it wasn't done, or null. */
  async function call(method, type, fields) {
    calls += 1;
    const params = {
      protocol: "league.v2",
      message_type: type,
      sender: "league_manager",
      timestamp: new Date().toISOString(),
      conversation_id: "conv-page-" + calls,
      league_id: panel.dataset.league,
      ...fields,
    };
    const answer = await fetch(document.documentElement.dataset.home + "mcp", {
      method: "POST",
      headers: { "Content-Type": "application/json", Authorization: "Bearer " + token },
      body: JSON.stringify({ jsonrpc: "2.0", method: method, params: params, id: calls }),
    });
    if (!answer.ok) return "The manager refused it: " + (await answer.text());
    const { result, error } = await answer.json();
    if (result && result.status === "ok") return null;
    const code = result && result.error_code;
    if (code === "E011" || code === "E012") {
      keep("");
      part("token").focus();
      return "This is not the admin token of this league. A manager writes a new one each time it starts.";
    }
    return "The manager refused it: " + ((result || error || {}).message || "no reason was given");
  }

  function manage(action, done, playerId) {
    const about = playerId ? { action: action, player_id: playerId } : { action: action };
    return command("manage_league", "MANAGE_LEAGUE", about, done);
  }

  part("token-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const given = part("token").value.trim();
    part("token").value = "";
    if (!/^[\x21-\x7e]+$/.test(given)) return say("A token has no blanks and no letters beyond ASCII; copy it from the file.", true);
    say("");
    keep(given);
    toggle.focus();
  });
  part("forget").addEventListener("click", () => {
    keep("");
    say("The token is forgotten.");
    part("token").focus();
  });
  toggle.addEventListener("click", () => {
    const { action, done } = switching();
    manage(action, done);
  });
  start.addEventListener("click", () => {
    ask("Start the league? Registration ends with it, and it can't be undone.", "Start it", () =>
      command("start_league", "START_LEAGUE", {}, "The league has started."));
  });
  part("player-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const [id, who] = [players.value, name()];
    if (isSuspended()) return manage("REINSTATE_PLAYER", who + " plays again.", id);
    ask("Suspend " + who + "? It loses its matches technically until it is reinstated.", "Suspend it", () =>
      manage("SUSPEND_PLAYER", who + " is suspended.", id));
  });
  players.addEventListener("change", show);
  part("yes").addEventListener("click", () => answered(true));
  part("no").addEventListener("click", () => answered(false));
  part("confirm").addEventListener("keydown", (event) => {
    if (event.key === "Escape") answered(false);
  });

  new MutationObserver(show).observe(state, { attributes: true });
  const agents = document.querySelector('[data-live="agents"]');
  if (agents) new MutationObserver(list).observe(agents, { attributes: true, childList: true, subtree: true });
  if (token) panel.open = true;
  list();
})();
