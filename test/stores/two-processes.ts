import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Json } from "#kernel";

/** What one of the processes is told. */
export interface Share {
  readonly store: { readonly sqlite: string } | { readonly postgres: string };
  readonly tenant: string;
  /** 0 or 1: which half of the events this process appends. */
  readonly half: number;
  readonly total: number;
}

const fixture = fileURLToPath(new URL("fixtures/append-and-tail.ts", import.meta.url));

/** Two processes append half of the events each, and tail all of them meanwhile. Gives what each has seen. */
export async function appendAndTail(share: Omit<Share, "half">): Promise<readonly (readonly string[])[]> {
  const children = [0, 1].map((half) =>
    fork(fixture, [JSON.stringify({ ...share, half })], { execArgv: ["--conditions=reeve-source"] }),
  );
  try {
    return await Promise.all(children.map(seenBy));
  } finally {
    for (const child of children) child.kill();
  }
}

async function seenBy(child: ChildProcess): Promise<readonly string[]> {
  const [seen]: Json[] = await Promise.race([
    once(child, "message"),
    once(child, "exit").then(([code]) => Promise.reject(new Error(`the process ended with ${code}`))),
  ]);
  return Array.isArray(seen) ? seen : [];
}
