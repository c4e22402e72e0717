import { type Kysely, sql, type Transaction } from "kysely";
import { Partition } from "#kernel";
import type { Access, Tables, Work } from "#stores/sql";

const tries = 5;

/**
 * Every piece of work is a transaction that first names its tenant: row-level security shows it that tenant's rows
 * only, whatever its queries say.
 */
export function tenantAccess(db: Kysely<Tables>): Access {
  const within = <T>(mode: "read only" | "read write", partition: Partition, work: Work<T>): Promise<T> => {
    const tenant = Partition.key(partition);
    const body = async (transaction: Transaction<Tables>): Promise<T> => {
      await sql`select set_config('reeve.tenant', ${tenant}, true)`.execute(transaction);
      return work(transaction, tenant);
    };
    return again(() => db.transaction().setAccessMode(mode).execute(body));
  };
  return {
    read: (partition, work) => within("read only", partition, work),
    write: (partition, work) => within("read write", partition, work),
  };
}

/** A lost connection says nothing about the work. Whether it was done or not, it may be done again. */
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
