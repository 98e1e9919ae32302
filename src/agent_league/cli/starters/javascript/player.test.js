// Starts the player and has `league check` judge it: `node --test` in this folder.
"use strict";

const assert = require("node:assert");
const { spawn, spawnSync } = require("node:child_process");
const net = require("node:net");
const { test } = require("node:test");

const LEAGUE = process.env.LEAGUE ?? "league";
const isThere = spawnSync(LEAGUE, ["--version"]).status === 0;
const skip = isThere ? false : `there is no command ${LEAGUE} here; install agent-league, or name it in LEAGUE`;

test("league check finds nothing wrong", { skip }, async (context) => {
  const [port, managerPort] = [await freePort(), await freePort()];
  const manager = `http://localhost:${managerPort}/mcp`;
  const options = { cwd: __dirname, stdio: "ignore" };
  const player = spawn(process.execPath, ["player.js", "--port", port, "--manager", manager], options);
  context.after(() => player.kill());
  const url = `http://localhost:${port}/mcp`;
  const check = spawnSync(LEAGUE, ["check", url, "--manager-port", managerPort, "--wait", "30"]);
  assert.strictEqual(check.status, 0, `league check found something:\n${check.stdout}${check.stderr}`);
});

async function freePort() {
  for (;;) {
    const port = 12_000 + Math.floor(Math.random() * 20_000);
    const probe = net.createServer();
    const isFree = await new Promise((resolve) => {
      probe.once("error", () => resolve(false)).listen(port, "127.0.0.1", () => probe.close(() => resolve(true)));
    });
    if (isFree) return String(port);
  }
}
