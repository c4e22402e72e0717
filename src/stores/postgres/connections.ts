import { Client, Pool, types, type PoolConfig } from "pg";

/** Maximum milliseconds to wait for a connection, whether a new one or one of the pool. */
const connectMs = 10_000;
/** Milliseconds after which an idle transaction is rolled back, so that its locks are released. */
const idleInTransactionMs = 60_000;
/** Extra milliseconds for the answer to arrive after the server's own limit. */
const transferMs = 2_000;

/** Settings of every connection. Keep-alive probes detect a peer that has vanished. */
export const connectionSettings = {
  connectionTimeoutMillis: connectMs,
  keepAlive: true,
  keepAliveInitialDelayMillis: 10_000,
} as const;

/** Creates a pool. `statementMs`: the longest statement. Null: no limit. */
export function createPool({
  statementMs,
  ...options
}: { readonly statementMs: number | null } & Pick<PoolConfig, "connectionString" | "max">): Pool {
  const limits = statementMs !== null && {
    statement_timeout: statementMs,
    // The server ends its statement first. Without its answer by then, the connection is lost.
    query_timeout: statementMs + transferMs,
    idle_in_transaction_session_timeout: idleInTransactionMs,
  };
  const pool = new Pool({
    ...options,
    ...connectionSettings,
    ...limits,
    idleTimeoutMillis: 30_000,
    application_name: "reeve",
    Client: ClosingClient,
    // Times and money are safe integers.
    types: {
      getTypeParser: (oid, format) =>
        oid === types.builtins.INT8 ? Number : types.getTypeParser(oid, format),
    },
  });
  // A connection in use reports its own loss; idle ones are replaced.
  pool.on("error", () => {});
  pool.on("connect", (client) => client.on("error", () => {}));
  return pool;
}

/**
 * A client that closes its connection when a query has had no answer in time. pg leaves it open, and its pool would give
 * it to the next caller, whose query would wait behind the first one.
 */
class ClosingClient extends Client {
  constructor(config?: ConstructorParameters<typeof Client>[0]) {
    super(config);
    // Its overloads cannot be repeated in an override.
    const send: unknown = Reflect.get(Client.prototype, "query");
    if (typeof send !== "function") throw new TypeError("this release of pg has no Client.query");
    const query = (...given: readonly unknown[]): unknown => {
      const answer: unknown = Reflect.apply(send, this, given);
      if (answer instanceof Promise)
        answer.catch((error: unknown) => {
          if (isUnanswered(error)) void this.end();
        });
      return answer;
    };
    Object.assign(this, { query });
  }
}

/** Whether a query has had no answer in time. The error has no code. */
export const isUnanswered = (error: unknown): boolean =>
  error instanceof Error && error.message === "Query read timeout";
