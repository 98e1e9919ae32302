// My player. `choose` decides; league.js does everything else.
"use strict";

const { play } = require("./league.js");

// "even" or "odd", or a promise of one. Change this. `call` is the referee's question (CHOOSE_PARITY_CALL), `games` are
// the results so far (GAME_OVER), the latest last.
function choose(call, games) {
  return Math.random() < 0.5 ? "even" : "odd";
}

play(choose, require("./config.json"));
