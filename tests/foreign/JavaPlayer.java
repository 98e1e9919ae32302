import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.concurrent.CountDownLatch;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A player of Even/Odd with nothing but what the JDK brings; run as `java JavaPlayer.java PORT MANAGER`. */
public class JavaPlayer {
    private static final HttpClient CLIENT = HttpClient.newHttpClient();
    private static final CountDownLatch OVER = new CountDownLatch(1);
    private static String playerId = "java";
    private static String token = "";

    public static void main(String[] arguments) throws Exception {
        int port = Integer.parseInt(arguments[0]);
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", port), 0);
        server.createContext("/mcp", JavaPlayer::answer);
        server.start();
        String registration = envelope("LEAGUE_REGISTER_REQUEST", "conv-java-register")
            + ",\"player_meta\":{\"display_name\":\"Java\",\"version\":\"1.0.0\",\"game_types\":[\"even_odd\"],"
            + "\"contact_endpoint\":\"http://localhost:" + port + "/mcp\"}}";
        String registered = call(arguments[1], "register_player", registration);
        if (!"ACCEPTED".equals(field(registered, "status"))) {
            System.out.println("refused: " + registered);
            System.exit(1);
        }
        playerId = field(registered, "player_id");
        token = field(registered, "auth_token");
        System.out.println("registered as " + playerId);
        OVER.await();
        String query = envelope("LEAGUE_QUERY", "conv-java-query")
            + ",\"league_id\":\"" + field(registered, "league_id") + "\",\"query_type\":\"GET_PLAYER_STATS\"}";
        System.out.println("played " + number(call(arguments[1], "league_query", query), "played"));
        System.exit(0);
    }

    private static void answer(HttpExchange exchange) throws IOException {
        String body = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
        String conversation = field(body, "conversation_id");
        String matchId = field(body, "match_id");
        String result = switch (String.valueOf(field(body, "method"))) {
            case "handle_game_invitation" -> envelope("GAME_JOIN_ACK", conversation)
                + ",\"match_id\":\"" + matchId + "\",\"player_id\":\"" + playerId
                + "\",\"arrival_timestamp\":\"" + now() + "\",\"accept\":true}";
            case "choose_parity" -> envelope("CHOOSE_PARITY_RESPONSE", conversation)
                + ",\"match_id\":\"" + matchId + "\",\"player_id\":\"" + playerId + "\",\"parity_choice\":\"even\"}";
            default -> "{\"status\":\"ok\"}";
        };
        byte[] answer = ("{\"jsonrpc\":\"2.0\",\"result\":" + result + ",\"id\":" + number(body, "id") + "}")
            .getBytes(StandardCharsets.UTF_8);
        exchange.getResponseHeaders().set("Content-Type", "application/json");
        exchange.sendResponseHeaders(200, answer.length);
        exchange.getResponseBody().write(answer);
        exchange.close();
        if ("LEAGUE_COMPLETED".equals(field(body, "message_type"))) {
            OVER.countDown();
        }
    }

    private static String call(String manager, String method, String message) throws Exception {
        String frame = "{\"jsonrpc\":\"2.0\",\"method\":\"" + method + "\",\"params\":" + message + ",\"id\":1}";
        HttpRequest request = HttpRequest.newBuilder(URI.create(manager))
            .header("Content-Type", "application/json")
            .POST(HttpRequest.BodyPublishers.ofString(frame))
            .build();
        return CLIENT.send(request, HttpResponse.BodyHandlers.ofString()).body();
    }

    /** The beginning of a message, up to the end of its envelope. */
    private static String envelope(String messageType, String conversation) {
        return "{\"protocol\":\"league.v2\",\"message_type\":\"" + messageType + "\",\"sender\":\"player:" + playerId
            + "\",\"timestamp\":\"" + now() + "\",\"conversation_id\":\"" + conversation + "\""
            + (token.isEmpty() ? "" : ",\"auth_token\":\"" + token + "\"");
    }

    private static String now() {
        return Instant.now().truncatedTo(ChronoUnit.SECONDS).toString();
    }

    private static String field(String json, String name) {
        Matcher found = Pattern.compile("\"" + name + "\"\\s*:\\s*\"([^\"]*)\"").matcher(json);
        return found.find() ? found.group(1) : null;
    }

    private static String number(String json, String name) {
        Matcher found = Pattern.compile("\"" + name + "\"\\s*:\\s*(\\d+)").matcher(json);
        String last = "null";
        while (found.find()) {
            last = found.group(1);
        }
        return last;
    }
}
