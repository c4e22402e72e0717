import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Partition } from "reeve/store";
import { sqliteStore } from "reeve/stores/sqlite";
import { expect, test, vi } from "vitest";

test("lists of the audit and of questions use an index, however long they are", async () => {
  const folder = await mkdtemp(join(tmpdir(), "reeve-plans-"));
  const path = join(folder, "store.db");
  const acme = Partition.of("acme");
  {
    await using store = await sqliteStore({ path });
    const prepare = vi.spyOn(DatabaseSync.prototype, "prepare");
    await store.audit.list(acme, {}, 5);
    await store.audit.list(acme, { kind: "spend", before: 9 }, 5);
    await store.audit.list(acme, { sourcePrefix: "books/", kind: "spend" }, 5);
    for (const filter of [{ agentType: "writer" }, { tool: "send" }, { risk: "high" as const }])
      await store.approvals.list(acme, filter, { size: 5 });
    const statements = new Set(prepare.mock.calls.map(([statement]) => statement));
    prepare.mockRestore();
    const file = new DatabaseSync(path);
    const steps = [...statements]
      .filter((statement) => statement.includes("reeve_"))
      .flatMap((statement) => file.prepare(`explain query plan ${statement}`).all())
      .map(({ detail }) => String(detail));
    file.close();
    expect(steps).toEqual([
      expect.stringMatching(
        /^SEARCH reeve_audit USING INDEX sqlite_autoindex_reeve_audit_1 \(tenant_id=\? AND link<\?\)$/,
      ),
      expect.stringMatching(/USING INDEX reeve_audit_kind \(tenant_id=\? AND kind=\? AND link<\?\)$/),
      expect.stringMatching(/\(tenant_id=\? AND source>\? AND source<\?\)$/),
      expect.stringMatching(/USING INDEX reeve_approval_agent_type \(tenant_id=\? AND agent_type=\?\)$/),
      expect.stringMatching(/USING INDEX reeve_approval_tool \(tenant_id=\? AND tool=\?\)$/),
      expect.stringMatching(/USING INDEX reeve_approval_risk \(tenant_id=\? AND risk=\?\)$/),
    ]);
  }
  await rm(folder, { recursive: true });
});
