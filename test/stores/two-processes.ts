import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { environmentKeys } from "reeve/store";
import { expect } from "vitest";
import type { Json, Store } from "#kernel";
import { Audit } from "../../src/audit/audit.ts";

/** Settings of one of the processes. */
export interface Share {
  readonly store: { readonly sqlite: string } | { readonly postgres: string };
  readonly tenant: string;
  /** 0 or 1: which half of the work is this process's. */
  readonly half: number;
  readonly total: number;
}

/** Two processes append half of the events each, and tail all of them concurrently. Returns what each has seen. */
export const appendAndTail = (share: Omit<Share, "half">): Promise<readonly (readonly string[])[]> =>
  runInTwoProcesses("append-and-tail.ts", share, {});

const key = { REEVE_KEY: Buffer.alloc(32, 7).toString("base64") };

/** Two processes run half of the trees each, for one tenant. Checks that the tenant's audit is one chain with all of it. */
export async function decideInTwo(store: Store, share: Omit<Share, "half">): Promise<void> {
  const seen = (await runInTwoProcesses("decide.ts", share, key)).flat();
  expect(seen).toHaveLength(5 * share.total);
  const { tenant } = share;
  const audit = new Audit({ store, keys: environmentKeys(key), now: Date.now });
  const links = await audit.read({ tenant, limit: 10 * share.total });
  expect(links.map(({ source }) => source).toSorted()).toEqual(seen.toSorted());
  const head = await audit.head({ tenant });
  expect(await audit.verify({ tenant, head })).toEqual({ ok: true, length: seen.length, head });
}

/** Two processes try to take all of one limit, each one at a time. Gives what each was granted. */
export const takeFromLimit = (share: Omit<Share, "half">): Promise<readonly (readonly string[])[]> =>
  runInTwoProcesses("take-from-limit.ts", share, {});

async function runInTwoProcesses(
  fixture: string,
  share: Omit<Share, "half">,
  env: NodeJS.ProcessEnv,
): Promise<readonly (readonly string[])[]> {
  const path = fileURLToPath(new URL(`fixtures/${fixture}`, import.meta.url));
  const options = { execArgv: ["--conditions=reeve-source"], env: { ...process.env, ...env } };
  const children = [0, 1].map((half) => fork(path, [JSON.stringify({ ...share, half })], options));
  try {
    return await Promise.all(children.map(messageOf));
  } finally {
    for (const child of children) child.kill();
  }
}

async function messageOf(child: ChildProcess): Promise<readonly string[]> {
  const [seen]: Json[] = await Promise.race([
    once(child, "message"),
    once(child, "exit").then(([code]) => Promise.reject(new Error(`the process ended with ${code}`))),
  ]);
  return Array.isArray(seen) ? seen : [];
}
