// My player. `choose` decides; league.js does everything else.
"use strict";

const { play } = require("./league.js");

// One of `moves`, or a promise of one. Change this. `call` is the referee's question: `call.game_type` is the game, and
// `call.move_request.context` what can be seen of it; Even/Odd asks without a move_request. `games` are the results so
// far (GAME_OVER), the latest last.
function choose(moves, call, games) {
  return moves[Math.floor(Math.random() * moves.length)];
}

play(choose, require("./config.json"));
