// Carries an agent on this machine to a league, by plain HTTP alone: node dial_out.js MANAGER_URL AGENT_URL
const [manager, agent] = [process.argv[2].replace(/\/mcp$/, ""), process.argv[3]];
let secret = "";

async function post(url, body, authorization = "", seconds = 60) {
  const headers = { "Content-Type": "application/json", Authorization: authorization };
  const limits = { redirect: "error", signal: AbortSignal.timeout(Math.ceil(seconds * 1000)) };
  const answer = await fetch(url, { method: "POST", headers, body, ...limits });
  return { status: answer.status, body: await answer.text() };
}

async function dial(step, content) {
  const answer = await post(`${manager}/dial/${step}`, JSON.stringify(content), `Bearer ${secret}`);
  if (answer.status !== 200) throw new Error(`HTTP ${answer.status}: ${answer.body}`);
  return JSON.parse(answer.body);
}

async function carry({ call, body, authorization, limit_sec }) {
  const answer = await post(agent, body, authorization, limit_sec).catch(() => ({ failure: "unreachable" }));
  await dial("answer", { call, ...answer }).catch((error) => console.error(error.message));
}

async function keepOpen() {
  secret = (await dial("open", { forwards: agent })).secret;
  for (;;) {
    const next = await dial("next", {});
    if (next.type === "call") carry(next);
  }
}

const again = (error) => setTimeout(() => keepOpen().catch(again), 1000, console.error(error.message));
keepOpen().catch(again);
