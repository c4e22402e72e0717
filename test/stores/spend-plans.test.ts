import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Partition } from "reeve/store";
import { sqliteStore } from "reeve/stores/sqlite";
import { expect, test, vi } from "vitest";
import { Spend, type SpendQuery, TreeId, UserId } from "#kernel";

const acme = Partition.of("acme");
const trees = 40;

/** The queries of the dashboard, and the rows that answer each, of 40 trees by 40 users in one hour. */
const queries: readonly (readonly [Pick<SpendQuery, "from" | "to" | "by" | "topUsers">, "sums" | "trees"])[] =
  [
    [{ from: 48, to: 72, by: ["hour", "model"] }, "sums"],
    [{ from: 0, to: 336, by: ["day", "model"] }, "sums"],
    [{ from: 0, to: 336, by: ["agent", "model"] }, "sums"],
    [{ from: 0, to: 336, by: ["day", "user"] }, "sums"],
    [{ from: 0, to: 336, by: ["day", "user"], topUsers: 2 }, "sums"],
    [{ from: 47, to: 73, by: [] }, "sums"],
    [{ from: 48, to: 72, by: ["tree"] }, "trees"],
  ];

test("sums over all trees are read from an index with a size independent of the number of trees", async () => {
  const folder = await mkdtemp(join(tmpdir(), "reeve-spend-plans-"));
  const path = join(folder, "store.db");
  {
    await using store = await sqliteStore({ path });
    const file = new DatabaseSync(path);
    for (let tree = 0; tree < trees; tree += 1) {
      const figures = { ...Spend.none, calls: 1, settledMicros: tree };
      await store.spend.put(acme, TreeId.of(`t${tree}`), {
        userId: UserId.of(`u${tree % 4}`),
        seq: 1,
        rolledSeq: 0,
        rows: [{ hour: 50, agentType: "lead", model: "m", ...figures }],
        calls: [],
      });
    }
    const kinds = file.prepare("select kind, count(*) as rows from reeve_spend_sum group by kind").all();
    expect(kinds.map(({ kind, rows }) => ({ kind, rows }))).toEqual([
      { kind: "day", rows: 1 },
      { kind: "hour", rows: 1 },
      { kind: "user", rows: 4 },
    ]);
    for (const [query, table] of queries) {
      const prepare = vi.spyOn(DatabaseSync.prototype, "prepare");
      await store.spend.sum(acme, { ...query, limit: 9 });
      const statements = prepare.mock.calls.map(([statement]) => statement);
      prepare.mockRestore();
      const steps = statements
        .filter((statement) => statement.includes("reeve_spend"))
        .flatMap((statement) => file.prepare(`explain query plan ${statement}`).all())
        .map(({ detail }) => String(detail))
        .filter((detail) => detail.includes("reeve_"));
      const own = table === "sums" ? "reeve_spend_sum" : "reeve_spend";
      const search = new RegExp(
        `^SEARCH ${own} USING INDEX \\S+ \\(tenant_id=\\?.* hour>\\? AND hour<\\?\\)$`,
      );
      expect(steps.length).toBeGreaterThan(0);
      for (const step of steps) expect(step).toMatch(search);
    }
    file.close();
  }
  await rm(folder, { recursive: true });
});
