import { type Kysely, sql, type Transaction } from "kysely";
import { Partition } from "#kernel";
import type { Access, Tables, Work } from "#stores/sql";

const tries = 5;

/**
 * Runs all work in a transaction that first names its tenant. Row-level security then restricts it to that tenant's
 * rows, whatever its queries say.
 */
export function tenantAccess(db: Kysely<Tables>): Access {
  const runInTransaction = <T>(
    mode: "read only" | "read write",
    partition: Partition,
    work: Work<T>,
  ): Promise<T> => {
    const tenant = Partition.key(partition);
    const body = async (transaction: Transaction<Tables>): Promise<T> => {
      await sql`select set_config('reeve.tenant', ${tenant}, true)`.execute(transaction);
      return work(transaction, tenant);
    };
    return again(() => db.transaction().setAccessMode(mode).execute(body));
  };
  return {
    read: (partition, work) => runInTransaction("read only", partition, work),
    write: (partition, work) => runInTransaction("read write", partition, work),
  };
}

/** After a lost connection it is unknown whether the work was done. It is repeated, because all work is repeatable. */
async function again<T>(work: () => Promise<T>): Promise<T> {
  for (let failed = 1; ; failed += 1) {
    try {
      return await work();
    } catch (error) {
      if (failed === tries || !isLost(error)) throw error;
    }
  }
}

// The last two: the database chose this transaction to make way for another.
const lostCodes = new Set(["ECONNRESET", "EPIPE", "57P01", "57P02", "40001", "40P01"]);

function isLost(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = "code" in error ? String(error.code) : "";
  return (
    lostCodes.has(code) ||
    code.startsWith("08") ||
    /connection (terminated|error)|not queryable/i.test(error.message)
  );
}
