#!/usr/bin/env bash
# A player of nothing but curl and jq, which always says "even": curl_player.sh http://localhost:8000
set -euo pipefail
league=${1:-http://localhost:8000}
secret=
post() {
  curl -sS --fail-with-body --retry 30 --retry-connrefused --retry-delay 1 \
    -H 'Content-Type: application/json' -H "Authorization: Bearer $secret" -d "$2" "$1"
}

# A seat: the league keeps our calls there until we ask for them.
seat=$(post "$league/dial/open" '{"forwards": "http://localhost:1/mcp"}')
secret=$(jq -r .secret <<<"$seat")

# Register at the address that belongs to the seat.
request=$(jq -n '{jsonrpc: "2.0", id: 1, method: "register_player", params: {
  protocol: "league.v2", message_type: "LEAGUE_REGISTER_REQUEST", sender: "player:curl", timestamp: (now | todate),
  conversation_id: "conv-curl-1", player_meta: {display_name: "Curl", version: "1.0.0", game_types: ["even_odd"],
  contact_endpoint: "http://localhost:1/mcp"}}}')
registered=$(post "$(jq -r .manager <<<"$seat")" "$request" | jq .result)
jq -r '"\(.status) as \(.player_id)"' <<<"$registered"

# Ask for the next call, answer it, and so on until the league is over.
while call=$(post "$league/dial/next" '{}'); do
  [ "$(jq -r .type <<<"$call")" = call ] || continue
  jq -r '.body | fromjson | "asked: \(.method)"' <<<"$call"
  answer=$(jq --argjson me "$registered" '(.body | fromjson) as {$id, $method, $params} |
    {protocol: "league.v2", sender: "player:\($me.player_id)", timestamp: (now | todate), auth_token: $me.auth_token,
     conversation_id: $params.conversation_id, match_id: $params.match_id, player_id: $me.player_id} as $head |
    if $method == "handle_game_invitation" then
      $head + {message_type: "GAME_JOIN_ACK", arrival_timestamp: (now | todate), accept: true}
    elif $method == "choose_parity" then $head + {message_type: "CHOOSE_PARITY_RESPONSE", parity_choice: "even"}
    else {status: "ok"} end |
    {jsonrpc: "2.0", id: $id, result: .} as $frame | {status: 200, body: ($frame | tojson)}' <<<"$call")
  post "$league/dial/answer" "$(jq --argjson call "$call" '. + {call: $call.call}' <<<"$answer")" >/dev/null
  if jq -e '.body | fromjson | .method == "notify_league_completed"' <<<"$call" >/dev/null; then break; fi
done
