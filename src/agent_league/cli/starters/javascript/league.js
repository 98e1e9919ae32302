// A player of league.v2 in plain Node: an HTTP server that answers JSON-RPC 2.0 at POST /mcp.
"use strict";

const crypto = require("node:crypto");
const dgram = require("node:dgram");
const fs = require("node:fs");
const http = require("node:http");
const path = require("node:path");
const { parseArgs } = require("node:util");

const MAX_BODY = 1024 * 1024;
const MAX_BATCH = 100;
const MAX_MOVES = 1000;
const LEEWAY = 30_000;
const ENVELOPE = ["protocol", "message_type", "sender", "timestamp", "conversation_id"];
const UTC = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)$/;
const LOCAL = ["localhost", "127.0.0.1", "0.0.0.0"];
const UNKNOWN_TOKEN = ["E005", "E011", "E012"]; // of a manager that doesn't know us, or no longer does
const HEADERS = { "Content-Type": "application/json" };

// Serves and registers. --name, --version, --port, --manager, --host, --public-url and --dial-out replace what the
// configuration says, and LEAGUE_SIGN_UP_URL its manager.
async function play(choose, config) {
  const string = { type: "string" };
  const flag = { type: "boolean" };
  const own = { name: string, version: string, port: string, manager: string };
  const { values } = parseArgs({ options: { ...own, host: string, "public-url": string, "dial-out": flag } });
  const defaults = { games: ["even_odd", "*"], version: "1.0.0" };
  const signUp = process.env.LEAGUE_SIGN_UP_URL ? { manager: process.env.LEAGUE_SIGN_UP_URL } : {};
  const { name, version, port, manager, games, ...place } = { ...defaults, ...config, ...signUp, ...values };
  if (!(port >= 1 && port <= 65535)) stop(2, `${name}: expected a port from 1 to 65535, found '${port}'`);
  const player = new Player(choose, name, version, `player-${port}`);
  player.credentials = new Credentials(port, name, manager);
  if (place["dial-out"] ?? place.dial_out) return dialOut(player, manager, games);
  const outward = await findOutwardAddress(manager);
  const host = place.host ?? outward ?? "127.0.0.1";
  const named = LOCAL.includes(host) ? ((host === "0.0.0.0" && outward) || "localhost") : host;
  player.endpoint = place["public-url"] ?? place.public_url ?? `http://${named}:${port}/mcp`;
  const server = http.createServer((request, response) => {
    serve(player, request, response).catch(() => response.destroy());
  });
  server.requestTimeout = 10_000;
  server.on("error", (error) => {
    const reason = error.code === "EADDRINUSE" ? "another program has it" : error.message;
    stop(2, `Port ${port} can't be served: ${reason}. Choose another with --port, or in config.json.`);
  });
  server.listen(Number(port), host, () => {
    console.error(`${name} at ${player.endpoint} registers with ${hideKey(manager)}`);
    register(player, manager, games);
  });
}

// Plays without an address of its own: asks the league's server for each call. `docs/dial-out.md` tells the form.
async function dialOut(player, manager, games) {
  console.error(`${player.name} dials out to ${hideKey(manager)}`);
  const base = manager.replace(/\/mcp$/, "");
  let seat = {};
  const dial = async (step, content) => {
    const headers = { ...HEADERS, Authorization: `Bearer ${seat.secret ?? ""}` };
    const limits = { redirect: "error", signal: AbortSignal.timeout(60_000) };
    const response = await fetch(`${base}/dial/${step}`, { method: "POST", headers, body: content, ...limits });
    if (!response.ok) throw new Error(`HTTP ${response.status}: ${await response.text()}`);
    return response.json();
  };
  const reply = async ({ call, body, authorization }) => {
    const answered = await answer(player, Buffer.from(body), authorization);
    const told = { call, status: answered ? 200 : 202, body: answered ? JSON.stringify(answered) : "" };
    await dial("answer", JSON.stringify(told)).catch(() => {}); // the call has failed by then
  };
  for (let complained = false; ; ) {
    try {
      seat = await dial("open", JSON.stringify({}));
      player.endpoint = seat.address;
      if (!player.token) register(player, seat.manager, games);
      for (complained = false; ; ) {
        const next = await dial("next", "{}");
        if (next.type === "call") reply(next);
      }
    } catch (error) {
      if (!complained) console.error(`${JSON.stringify(error.message)}; dialling again`);
      complained = true;
      await new Promise((wake) => setTimeout(wake, 1000));
    }
  }
}

// This machine's IPv4 address on the way to the manager; undefined where the manager is on this machine too.
function findOutwardAddress(manager) {
  const { hostname, port } = new URL(URL.canParse(manager) ? manager : "http://localhost");
  if (LOCAL.includes(hostname)) return undefined;
  return new Promise((resolve) => {
    const socket = dgram.createSocket("udp4");
    const end = (address) => socket.close(() => resolve(address));
    socket.on("error", () => end(undefined));
    socket.connect(Number(port) || 80, hostname, () => end(socket.address().address)); // sends nothing
  });
}

// Who we are to this manager, in a file beside this one that only its owner can read, so that a restart is no newcomer.
class Credentials {
  constructor(port, name, manager) {
    this.file = path.join(__dirname, `credentials-${port}.json`);
    this.owner = crypto.createHash("sha256").update(`${name}\n${manager}`).digest("hex");
  }

  // The id and the token of an earlier registration; undefined where there is none for this name and manager.
  load() {
    try {
      const { owner, player_id, auth_token } = JSON.parse(fs.readFileSync(this.file, "utf8"));
      if (owner === this.owner && typeof player_id === "string" && typeof auth_token === "string")
        return { player_id, auth_token };
    } catch {
      return undefined; // no file, or a damaged one
    }
  }

  save({ player_id, auth_token }) {
    try {
      const content = JSON.stringify({ owner: this.owner, player_id, auth_token });
      fs.writeFileSync(`${this.file}.new`, content, { mode: 0o600 });
      fs.renameSync(`${this.file}.new`, this.file);
    } catch (error) {
      console.error(`${this.file} can't be written (${error.code}): after a restart this player may be a new one.`);
    }
  }
}

// Who may call a player: whom its manager vouches for, by tokens that it signs. A manager without a key is believed.
class CallerCheck {
  key = undefined;
  referees = new Map(); // match id -> hash of the token of a referee that shows its own

  trust({ public_key, league_id, timestamp }, player) {
    try {
      this.key = isObject(public_key) ? crypto.createPublicKey({ key: public_key, format: "jwk" }) : undefined;
    } catch (error) {
      console.error(`The League Manager's key can't be used (${error.code}): whoever calls is believed.`);
    }
    this.lag = (Date.parse(timestamp) || Date.now()) - Date.now(); // tokens expire by the manager's clock
    Object.assign(this, { league: league_id, player });
  }

  announce(matches) {
    for (const { match_id, referee_token_sha256: hash } of Array.isArray(matches) ? matches.filter(isObject) : [])
      this.referees.set(match_id, hash);
  }

  // Why a caller is refused, as code, name and sentence; undefined where it may call.
  problem(message, expected, authorization) {
    if (!this.key) return undefined;
    const ofMatch = /^(GAME|CHOOSE)/.test(expected);
    const token = ofMatch ? message.auth_token : /^Bearer (\S+)$/.exec(authorization ?? "")?.[1];
    const where = ofMatch ? "'auth_token'" : "the header `Authorization: Bearer`";
    if (typeof token !== "string") return ["E011", "AUTH_TOKEN_MISSING", `${where} must hold a token of the manager's`];
    const hash = this.referees.get(message.match_id);
    if (ofMatch && hash && crypto.createHash("sha256").update(token).digest("hex") === hash) return undefined;
    const claims = this.read(token);
    const subject = ofMatch ? message.match_id : "league_manager";
    const referee = /^referee:(REF\d+)$/.exec(message.sender)?.[1]; // others go by names of their own
    const isGood =
      claims?.use === (ofMatch ? "match" : "manager") &&
      claims.sub === subject &&
      claims.iss === this.league &&
      claims.aud?.includes(this.player) &&
      (!ofMatch || !referee || claims.ref === referee) &&
      claims.exp * 1000 + LEEWAY > Date.now() + this.lag;
    return isGood ? undefined : ["E012", "AUTH_TOKEN_INVALID", `${where} isn't valid for this call`];
  }

  // What a token says that the manager has signed; undefined where it has not.
  read(token) {
    try {
      const [head, body, signature] = token.split(".");
      const decode = (part) => JSON.parse(Buffer.from(part, "base64url"));
      if (decode(head).alg !== "EdDSA") return undefined;
      const signed = Buffer.from(`${head}.${body}`);
      return crypto.verify(null, signed, this.key, Buffer.from(signature, "base64url")) ? decode(body) : undefined;
    } catch {
      return undefined;
    }
  }
}

class Player {
  // The methods that it answers, and the message that each of them takes.
  methods = {
    handle_game_invitation: ["GAME_INVITATION", (asked) => this.join(asked)],
    choose_parity: ["CHOOSE_PARITY_CALL", (asked) => this.chooseParity(asked)],
    make_move: ["GAME_MOVE_CALL", (asked) => this.makeMove(asked)],
    notify_match_result: ["GAME_OVER", (told) => this.remember(told)],
    notify_game_error: ["GAME_ERROR", (told) => noted(`${told.match_id}: ${told.error_code} ${told.message}`)],
    notify_round: ["ROUND_ANNOUNCEMENT", (told) => this.announce(told)],
    update_standings: ["LEAGUE_STANDINGS_UPDATE", () => noted()],
    notify_round_completed: ["ROUND_COMPLETED", () => noted()],
    notify_league_completed: ["LEAGUE_COMPLETED", (told) => noted(`Champion: ${told.champion?.player_id}`)],
  };
  moves = new Map(); // match id -> step -> move: who is asked twice says the same twice
  games = new Map(); // match id -> GAME_OVER
  token = undefined; // from the registration
  callers = new CallerCheck();

  endpoint = ""; // where it is called

  constructor(choose, name, version, id) {
    Object.assign(this, { choose, name, version, id });
  }

  health() {
    const state = this.token ? "REGISTERED" : "INIT";
    return { status: "ok", role: "player", id: this.id, state, version: this.version };
  }

  announce(told) {
    this.callers.announce(told.matches);
    return noted(`Round ${told.round_id}`);
  }

  join(asked) {
    return this.reply(asked, "GAME_JOIN_ACK", { arrival_timestamp: now(), accept: true });
  }

  async chooseParity(asked) {
    const parity_choice = await this.decide(asked, 0, ["even", "odd"]);
    return this.reply(asked, "CHOOSE_PARITY_RESPONSE", { parity_choice });
  }

  async makeMove(asked) {
    const wanted = asked.move_request;
    if (!isObject(wanted) || !moves(wanted).length) {
      const sentence = "'move_request' needs 'valid_options' or a 'move_schema' of whole numbers";
      return this.refusal(asked, "GAME_MOVE_CALL", "E003", "MISSING_REQUIRED_FIELD", sentence);
    }
    return this.reply(asked, "GAME_MOVE_RESPONSE", { move_data: await this.decide(asked, wanted.step, moves(wanted)) });
  }

  async decide(asked, step, moves) {
    const { match_id } = asked;
    if (!this.moves.has(match_id)) this.moves.set(match_id, new Map());
    const made = this.moves.get(match_id);
    if (!made.has(step)) {
      const move = await this.choose(moves, asked, [...this.games.values()]);
      if (!made.has(step)) made.set(step, move);
    }
    return made.get(step);
  }

  remember(told) {
    this.moves.delete(told.match_id);
    this.games.set(told.match_id, told);
    const { status, winner_player_id: winner, reason } = told.game_result ?? {};
    const outcome = winner ? (winner === this.id ? "WIN" : "LOSS") : status;
    return noted(`${told.match_id}: ${outcome} (${reason})`);
  }

  reply(asked, type, fields) {
    const whose = { auth_token: this.token, match_id: asked.match_id, player_id: this.id };
    return this.message(type, asked.conversation_id, { ...whose, ...fields });
  }

  message(message_type, conversation_id, fields) {
    const sender = `player:${this.id}`;
    return { protocol: "league.v2", message_type, sender, timestamp: now(), conversation_id, ...fields };
  }

  refusal(asked, expected, error_code, error_name, sentence) {
    const error = { error_code, error_name, error_description: error_name, message: sentence, retryable: false };
    const conversation = typeof asked.conversation_id === "string" ? asked.conversation_id : "conv-error";
    const about = { original_message_type: expected, affected_player: null, action_required: null };
    return this.message("LEAGUE_ERROR", conversation, { ...error, ...about, context: { action: expected } });
  }
}

// The moves of a request; of those that are told by their ends, the first ones.
function moves({ valid_options, move_schema }) {
  if (Array.isArray(valid_options)) return valid_options;
  const { minimum, maximum, multipleOf = 1 } = isObject(move_schema) ? move_schema : {};
  const first = Math.ceil(minimum / multipleOf);
  const count = Math.min(MAX_MOVES, Math.floor(maximum / multipleOf) - first + 1);
  return Array.from({ length: count || 0 }, (_, index) => (first + index) * multipleOf);
}

function now() {
  return new Date().toISOString().replace(/\.\d+/, "");
}

function noted(sentence) {
  if (sentence) console.log(JSON.stringify(sentence)); // quoted, so that a terminal obeys nothing in it
  return { status: "ok" };
}

// What is wrong with a message, as code, name and sentence; undefined where nothing is.
function problem(message, expected) {
  const needed = /^(GAME|CHOOSE)/.test(expected) ? [...ENVELOPE, "match_id"] : ENVELOPE;
  const missing = needed.filter((name) => message[name] == null);
  const wrong = needed.find((name) => typeof message[name] !== "string");
  if ((message.protocol ?? "league.v2") !== "league.v2")
    return ["E018", "PROTOCOL_VERSION_MISMATCH", "'protocol' must be 'league.v2'"];
  if (missing.length) return ["E003", "MISSING_REQUIRED_FIELD", `missing: ${missing.join(", ")}`];
  if (wrong) return ["E002", "INVALID_MESSAGE_FORMAT", `'${wrong}' must be a string`];
  if (message.message_type !== expected)
    return ["E002", "INVALID_MESSAGE_FORMAT", `'message_type' must be '${expected}'`];
  if (!UTC.test(message.timestamp) || Number.isNaN(Date.parse(message.timestamp)))
    return ["E021", "INVALID_TIMESTAMP", "'timestamp' must be in UTC, such as 2025-01-15T10:30:00Z"];
}

// The answer to a body: a request or a batch of them; undefined where nothing is to be said.
async function answer(player, body, authorization) {
  let parsed;
  try {
    parsed = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
  } catch (error) {
    return failure(null, -32700, `the body is not JSON: ${error.message}`);
  }
  if (!Array.isArray(parsed)) return answerOne(player, parsed, authorization);
  if (!parsed.length || parsed.length > MAX_BATCH)
    return failure(null, -32600, `a batch holds 1 to ${MAX_BATCH} requests, found ${parsed.length}`);
  const answers = await Promise.all(parsed.map((request) => answerOne(player, request, authorization)));
  return answers.some(Boolean) ? answers.filter(Boolean) : undefined;
}

async function answerOne(player, request, authorization) {
  if (!isObject(request)) return failure(null, -32600, "a request is an object");
  const { jsonrpc, id = null, method, params = {} } = request;
  if (id !== null && typeof id !== "string" && !Number.isInteger(id))
    return failure(null, -32600, "'id' must be an integer, a string or null");
  if (jsonrpc !== "2.0" || typeof method !== "string")
    return failure(id, -32600, "expected \"jsonrpc\": \"2.0\" and a method's name");
  const answered = await call(player, id, method, params, authorization);
  return "id" in request ? answered : undefined;
}

async function call(player, id, method, params, authorization) {
  if (!Object.hasOwn(player.methods, method))
    return failure(id, -32601, "no such method here", { methods: Object.keys(player.methods) });
  if (!isObject(params)) return failure(id, -32602, "'params' must be an object");
  const [expected, handle] = player.methods[method];
  const wrong = problem(params, expected) ?? player.callers.problem(params, expected, authorization);
  try {
    const result = wrong ? player.refusal(params, expected, ...wrong) : await handle(params);
    return { jsonrpc: "2.0", result, id };
  } catch (error) {
    console.error(error);
    return failure(id, -32603, "an error of this player; its terminal shows it");
  }
}

function failure(id, code, sentence, data) {
  return { jsonrpc: "2.0", error: { code, message: sentence, data }, id };
}

function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

async function serve(player, request, response) {
  const chunks = [];
  let size = 0;
  for await (const chunk of request) if ((size += chunk.length) <= MAX_BODY) chunks.push(chunk);
  const send = (status, content) => response.writeHead(status, HEADERS).end(content && JSON.stringify(content));
  if (request.url === "/health") return send(200, player.health());
  if (request.url !== "/mcp") return send(404, { error: "call POST /mcp" });
  if (request.method !== "POST") return send(405, { error: "call POST /mcp" });
  if (size > MAX_BODY) return send(413, { error: `a body has at most ${MAX_BODY} bytes` });
  const answered = await answer(player, Buffer.concat(chunks), request.headers.authorization);
  return send(answered ? 200 : 202, answered);
}

// Asks the League Manager until it is there and answers.
async function register(player, manager, games) {
  const contact = { display_name: player.name, contact_endpoint: player.endpoint };
  const player_meta = { ...contact, version: player.version, game_types: games };
  const newcomer = player.id;
  let known = player.credentials?.load();
  for (let complained = false; ; ) {
    player.id = known?.player_id ?? newcomer;
    const about = { player_meta, auth_token: known?.auth_token };
    const params = player.message("LEAGUE_REGISTER_REQUEST", `conv-${player.id}-register`, about);
    const result = await ask(manager, { jsonrpc: "2.0", method: "register_player", params, id: 1 });
    if (result?.status === "REJECTED") stop(1, rejection(result, games));
    if (result?.status === "ACCEPTED") {
      Object.assign(player, { id: result.player_id, token: result.auth_token });
      player.callers.trust(result, player.id);
      if (result.auth_token) player.credentials?.save(result);
      return noted(`Registered as ${player.id}.`);
    }
    if (known && UNKNOWN_TOKEN.includes(result?.error_code)) {
      known = undefined; // another league, or one that has begun anew
      continue;
    }
    if (result?.failure) {
      const said = `${hideKey(manager)} answers ${JSON.stringify(result.failure)}`; // quoted, as what a terminal shows
      if (result.failure.startsWith("HTTP 403")) stop(1, said);
      if (!complained) console.error(`${said}; waiting for a League Manager there`);
      complained = true;
    }
    await new Promise((wake) => setTimeout(wake, 500));
  }
}

// An address as it may be shown: without its sign-up key.
function hideKey(address) {
  return String(address).replace(/(\/join\/)[^/]+/, "$1[key]");
}

function rejection({ reason, detail }, games) {
  const said = `The League Manager says no: ${JSON.stringify(detail ? `${reason} (${detail})` : reason)}.`;
  if (reason !== "Unsupported game type") return said;
  return `${said} You take ${JSON.stringify(games)}: name the league's game, or "*" for any, in config.json.`;
}

async function ask(url, frame) {
  const request = { method: "POST", headers: HEADERS, body: JSON.stringify(frame) };
  try {
    const response = await fetch(url, { ...request, signal: AbortSignal.timeout(10_000) });
    const text = await response.text();
    if (!response.ok) return { failure: `HTTP ${response.status}: ${text.slice(0, 500)}` };
    return JSON.parse(text).result;
  } catch {
    return undefined; // nobody is there yet
  }
}

function stop(code, sentence) {
  console.error(sentence);
  process.exit(code);
}

module.exports = { play };
