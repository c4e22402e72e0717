import { type Kysely, type RawBuilder, sql, type Transaction } from "kysely";
import { backoffMs } from "#base";
import { Partition, StoreRejectionError } from "#kernel";
import type { Access, Tables, Work, WriteOptions } from "#stores/sql";
import { isUnanswered } from "./connections.ts";

const tries = 5;
/** Jitter keeps writers that have collided from colliding again. */
const backoff = { firstMs: 50, maxMs: 1_000, jitter: { share: 0.5, random: Math.random } };

/**
 * Runs all work in a transaction that first names its tenant. Row-level security then restricts it to that tenant's
 * rows, whatever its queries say.
 */
export function tenantAccess(db: Kysely<Tables>): Access {
  const runInTransaction = <T>(
    mode: "read only" | "read write",
    partition: Partition,
    work: Work<T>,
    options?: WriteOptions,
  ): Promise<T> => {
    const tenant = Partition.key(partition);
    const body = async (transaction: Transaction<Tables>): Promise<T> => {
      await sql`select set_config('reeve.tenant', ${tenant}, true)${lockOf(partition, options)}`.execute(
        transaction,
      );
      return work(transaction, tenant);
    };
    return again(() => db.transaction().setAccessMode(mode).execute(body));
  };
  return {
    read: (partition, work) => runInTransaction("read only", partition, work),
    write: (partition, work, options) => runInTransaction("read write", partition, work, options),
  };
}

/** Locks a tree until the transaction ends, in the statement that names the tenant: that saves a round trip. */
function lockOf(partition: Partition, { tree, erases = false }: WriteOptions = {}): RawBuilder<unknown> {
  if (tree === undefined) return sql``;
  const key = sql`hashtextextended(${`reeve tree ${Partition.key(partition, tree)}`}, 0)`;
  return erases ? sql`, pg_advisory_xact_lock(${key})` : sql`, pg_advisory_xact_lock_shared(${key})`;
}

/**
 * After a lost connection it is unknown whether the work was done. It is repeated, because all work is repeatable. So a short
 * restart of the database fails no work.
 */
async function again<T>(work: () => Promise<T>): Promise<T> {
  for (let failed = 1; ; failed += 1) {
    try {
      return await work();
    } catch (error) {
      if (failed === tries || !isLost(error)) throw toRejection(error);
      await new Promise((resolve) => setTimeout(resolve, backoffMs(failed - 1, backoff)));
    }
  }
}

const lostCodes: ReadonlySet<string> = new Set([
  "ECONNRESET",
  "EPIPE",
  // The database stops, is down, or starts again.
  "57P01",
  "57P02",
  "ECONNREFUSED",
  "57P03",
  // The database chose this transaction to make way for another.
  "40001",
  "40P01",
]);

// Data exceptions and exceeded limits; a value that is missing, and one that a check refuses.
const rejectedCodes = /^(22|54)|^23502$|^23514$/;

/** Returns the error of a write that no repetition can mend as a rejection, and others as they are. */
function toRejection(error: unknown): unknown {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  return rejectedCodes.test(code) ? new StoreRejectionError({ reason: code, cause: error }) : error;
}

function isLost(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = "code" in error ? String(error.code) : "";
  return (
    lostCodes.has(code) ||
    isUnanswered(error) ||
    code.startsWith("08") ||
    /connection (terminated|error)|not queryable/i.test(error.message)
  );
}
