// Players on servers of the TypeScript SDK, one for each `PORT:OPTIONS` (the version, stateless); their owner registers them.
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { McpServer as McpServer1 } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { createMcpHandler, McpServer as McpServer2 } from "@modelcontextprotocol/server";
import { z } from "zod";

const MATCH = { match_id: z.string() };

function addTools(server, inputSchema) {
  const answer = (message) => ({ content: [{ type: "text", text: JSON.stringify(message) }] });
  server.registerTool("handle_game_invitation", { inputSchema }, ({ match_id }) =>
    answer({ message_type: "GAME_JOIN_ACK", match_id, accept: true }),
  );
  server.registerTool("choose_parity", { inputSchema }, ({ match_id }) =>
    answer({ message_type: "CHOOSE_PARITY_RESPONSE", match_id, parity_choice: "odd" }),
  );
  server.registerTool("notify_match_result", { inputSchema }, () => answer({ status: "ok" }));
  return server;
}

function handleV1(stateless) {
  const sessions = new Map();
  const open = async () => {
    const transport = new StreamableHTTPServerTransport(
      stateless
        ? { sessionIdGenerator: undefined }
        : { sessionIdGenerator: randomUUID, onsessioninitialized: (id) => sessions.set(id, transport) },
    );
    await addTools(new McpServer1({ name: "player", version: "1.0.0" }), MATCH).connect(transport);
    return transport;
  };
  return async (request, response) => {
    const id = request.headers["mcp-session-id"];
    if (id && !sessions.has(id)) response.writeHead(404).end();
    else await (sessions.get(id) ?? (await open())).handleRequest(request, response);
  };
}

const handleV2 = () =>
  toNodeHandler(createMcpHandler(() => addTools(new McpServer2({ name: "player", version: "1.0.0" }), z.object(MATCH))));

for (const [port, options] of process.argv.slice(2).map((argument) => argument.split(":"))) {
  const handle = options.startsWith("1.") ? handleV1(options.includes("stateless")) : handleV2();
  createServer((request, response) => handle(request, response)).listen(Number(port), "127.0.0.1");
}
