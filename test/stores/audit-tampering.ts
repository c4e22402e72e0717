import { randomUUID } from "node:crypto";
import { environmentKeys, sealedStore } from "reeve/store";
import { expect } from "vitest";
import { type AuditHead, type Store, TenantId } from "#kernel";
import { Audit } from "../../src/audit/audit.ts";
import { AuditWriter } from "../../src/audit/audit-writer.ts";
import type { AuditFault } from "../../src/audit/verify.ts";

const keys = environmentKeys({ REEVE_KEY: Buffer.alloc(32, 7).toString("base64") });
const rest = "at, kind, data, source, key_id, previous, hash";

/** Done to the rows of one tenant, who has links 0 to 7; and what must be found. */
interface Tampering {
  readonly statements: readonly string[];
  readonly at: number;
  readonly fault: AuditFault;
  /** Whether only a head that the chain once had reveals it: that of the last report, or one that was stored elsewhere. */
  readonly kept?: true;
  /** Links that the program itself writes afterwards, unaware of it. */
  readonly thenWrites?: number;
}

const set = (what: string): readonly string[] => [`update reeve_audit set ${what} where link = 3 and TENANT`];
/** In two steps, so that no number occurs twice in between. */
const shift = (from: number, by: number): readonly string[] => [
  `update reeve_audit set link = -1 - link where link >= ${from} and TENANT`,
  `update reeve_audit set link = -1 - link + ${by} where link < 0 and TENANT`,
];

const tamperings: Readonly<Record<string, Tampering>> = {
  "its time": { statements: set("at = at + 1"), at: 3, fault: "changed" },
  "its kind": { statements: set("kind = 'spawn'"), at: 3, fault: "changed" },
  "its source": { statements: set("source = 'else/1'"), at: 3, fault: "changed" },
  "its key": { statements: set("key_id = 'mine'"), at: 3, fault: "unknown-key" },
  "what it follows": { statements: set("previous = 'x'"), at: 3, fault: "misplaced" },
  "its hash": { statements: set("hash = 'x'"), at: 3, fault: "changed" },
  "a link deleted": {
    statements: ["delete from reeve_audit where link = 2 and TENANT"],
    at: 2,
    fault: "missing",
  },
  "the first link deleted": {
    statements: ["delete from reeve_audit where link = 0 and TENANT"],
    at: 0,
    fault: "missing",
  },
  "the end cut off": {
    statements: ["delete from reeve_audit where link >= 5 and TENANT"],
    at: 5,
    fault: "truncated",
    kept: true,
  },
  "the end cut off, and another grown": {
    statements: ["delete from reeve_audit where link >= 5 and TENANT"],
    thenWrites: 6,
    at: 7,
    fault: "forked",
    kept: true,
  },
};

/** A sealed link is bound to its number. */
const moves = (fault: AuditFault): Readonly<Record<string, Tampering>> => ({
  "a link deleted and the rest moved up": {
    statements: ["delete from reeve_audit where link = 2 and TENANT", ...shift(3, -1)],
    at: 2,
    fault,
  },
  "a copy inserted": {
    statements: [
      ...shift(4, 1),
      `insert into reeve_audit (tenant_id, link, ${rest})
       select tenant_id, 4, at, kind, data, 'else/1', key_id, previous, hash
       from reeve_audit where link = 3 and TENANT`,
    ],
    at: 4,
    fault,
  },
  "two links swapped": {
    statements: [
      "update reeve_audit set link = -1 where link = 1 and TENANT",
      "update reeve_audit set link = 1 where link = 6 and TENANT",
      "update reeve_audit set link = 6 where link = -1 and TENANT",
    ],
    at: 1,
    fault,
  },
});

const ofOpenRows: Readonly<Record<string, Tampering>> = {
  ...moves("misplaced"),
  "what it says": { statements: set(`data = '{"cost":1}'`), at: 3, fault: "changed" },
  "what it says, torn": { statements: set(`data = '{"co'`), at: 3, fault: "unreadable" },
};

const ofSealedRows: Readonly<Record<string, Tampering>> = {
  ...moves("unreadable"),
  "what it says": { statements: set(`data = '{"cost":1}'`), at: 3, fault: "unreadable" },
  "what it says, from elsewhere": {
    statements: [
      `update reeve_audit set data = (select data from reeve_audit where link = 5 and TENANT)
       where link = 3 and TENANT`,
    ],
    at: 3,
    fault: "unreadable",
  },
};

/** Edits the rows of a database as an attacker without the key would. */
export async function auditTampering(
  database: Store,
  execute: (statement: string) => Promise<unknown>,
): Promise<void> {
  for (const [store, special] of [
    [database, ofOpenRows],
    [sealedStore(database, keys), ofSealedRows],
  ] as const)
    for (const [name, tampering] of Object.entries({ ...tamperings, ...special })) {
      const tenant = `tampered-${randomUUID()}`;
      await write(store, tenant, "tree", 8);
      const audit = new Audit({ store, keys, now: Date.now });
      const head = await audit.head({ tenant });
      expect(await audit.verify({ tenant, head })).toEqual({ ok: true, length: 8, head });
      for (const statement of tampering.statements)
        await execute(statement.replaceAll("TENANT", `tenant_id = '${tenant}'`));
      await write(store, tenant, "later", tampering.thenWrites ?? 0);
      const forget = (): Promise<unknown> =>
        execute(`delete from reeve_audit_check where tenant_id = '${tenant}'`);
      await check(audit, { tenant, head, name, tampering, forget });
    }
}

async function check(
  audit: Audit,
  given: {
    readonly tenant: string;
    readonly head: AuditHead | null;
    readonly name: string;
    readonly tampering: Tampering;
    /** Removes the last report. */
    readonly forget: () => Promise<unknown>;
  },
): Promise<void> {
  const { tenant, head, name, tampering, forget } = given;
  const { at, fault, kept } = tampering;
  const found = { name, ok: false, at, fault };
  // A report of a fault does not replace the head that was verified.
  for (let time = 1; time <= 2; time++) expect({ name, ...(await audit.verify({ tenant })) }).toEqual(found);
  await forget();
  if (kept) expect(await audit.verify({ tenant })).toMatchObject({ ok: true });
  await forget();
  expect({ name, ...(await audit.verify({ tenant, ...(kept && { head }) })) }).toEqual(found);
}

/** Two at a time. */
async function write(store: Store, tenant: string, tree: string, count: number): Promise<void> {
  const writer = new AuditWriter({ audit: store.audit, keys, now: () => 0 });
  for (let n = 0; n < count; n += 2)
    await writer.record(
      { tenantId: TenantId.of(tenant) },
      [n, n + 1].map((seq) => ({
        at: seq,
        kind: "spend",
        data: { cost: 10 + seq },
        source: `${tree}/${seq}`,
      })),
    );
}
