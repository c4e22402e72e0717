import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import * as fc from "fast-check";
import {
  type AdoptionOutcome,
  type EntryDraft,
  type EntryId,
  exportSession,
  getPromptWindow,
  importSession,
  Labels,
  type PromptWindowOptions,
  Session,
  type SessionStore,
  TurnLostError,
} from "reeve/store";
import { RunId, SessionId, TenantId, TreeId } from "reeve";
import { type Crash, CrashingStore } from "./crashing-store.ts";
import { PlainSession } from "./plain-session.ts";
import { assistantCalls, compaction, id, label, reply, results, user } from "./talk.ts";
import { assertFills, assertPaired, assertTells } from "./window-rules.ts";

const kinds = [
  "turn",
  "turn",
  "turn",
  "navigate",
  "retreat",
  "fork",
  "compact",
  "label",
  "writer",
  "writer",
  "write",
  "write",
  "write",
  "adopt",
  "adopt",
] as const;
const rareKinds = ["settle", "again", "copy"] as const;
const writers = [1, 2, 3].map((number) => RunId.of(TreeId.of("books"), number));
/** Root runs: each writes turns on its branch, in sequence. */
const roots = ["t1", "t2", "t3", "t4"].map((tree) => RunId.root(TreeId.of(tree)));

/** An operation and its target: numbers that are resolved against the state of the sessions. */
type Operation = readonly [
  kind: (typeof kinds)[number] | (typeof rareKinds)[number],
  who: number,
  how: number,
  crash: Crash | null,
];
const crash = fc.record({
  write: fc.nat(4),
  moment: fc.constantFrom("before" as const, "after" as const),
});
const operations = fc.array(
  fc.tuple(fc.constantFrom(...kinds, ...rareKinds), fc.nat(59), fc.nat(59), fc.option(crash)),
  { maxLength: 20, size: "max" },
);
const limits = fc.record(
  {
    maxMessages: fc.nat(12),
    maxTokens: fc.nat(300),
    oldResults: fc.record({ wholeCycles: fc.nat(2), characters: fc.nat(60) }),
  },
  { requiredKeys: [] },
);

/**
 * After any sequence of operations with crashes, a session equals the reference model, and every window is complete and
 * within its limits. The store may be new or reused: each sequence has its own tenant.
 */
export function sessionProperty(storeOf: () => SessionStore | Promise<SessionStore>) {
  return fc.asyncProperty(operations, limits, async (sequence, options) => {
    const world = new World(await storeOf());
    await world.open();
    for (const operation of sequence) await world.perform(operation);
    await world.check(options);
  });
}

interface Made {
  readonly real: Session;
  readonly branch: RunId | null;
  readonly make: () => Promise<void>;
}

interface Pair {
  readonly real: Session;
  readonly plain: PlainSession;
}

class World {
  readonly #crashing: CrashingStore;
  readonly #partition = { tenantId: TenantId.of(randomUUID()) };
  readonly #pairs: Pair[] = [];
  /** Completed appends, to be repeated. */
  #made: Made[] = [];
  #named = 0;

  constructor(store: SessionStore) {
    this.#crashing = new CrashingStore(store);
  }

  async open(): Promise<void> {
    const pair = this.#add(new PlainSession(SessionId.of("first")));
    await pair.real.open({ startedAt: 0 });
  }

  async perform([kind, who, how, dies]: Operation): Promise<void> {
    const pair = pick(this.#pairs, who);
    if (!pair) return;
    const { real, plain } = pair;
    const anyMain = pick(plain.main, how)?.id ?? null;
    const branch = writers[who % writers.length] ?? null;
    const append = async (drafts: readonly EntryDraft[], to: RunId | null = null, after?: EntryId | null) => {
      if (to && plain.settled.has(to)) {
        await assert.rejects(real.append(drafts, { branch: to }), TurnLostError);
        return;
      }
      const place = { branch: to, ...(after !== undefined && { after }) };
      // A turn is written message by message: a crash may come between any two.
      const make = async (): Promise<void> => {
        for (const [index, draft] of drafts.entries())
          await real.append([draft], index === 0 ? place : { branch: to });
      };
      await this.#crashing.survive(dies, make);
      plain.append(drafts, to, after);
      this.#made.push({ real, branch: to, make });
    };
    if (kind === "turn") await append(this.#turn(how));
    if (kind === "retreat") await append(this.#turn(how), null, anyMain);
    if (kind === "writer") await append(this.#turn(how), branch, plain.leafOf(branch) ? undefined : anyMain);
    if (kind === "label" && anyMain)
      await append([label(this.#name(), anyMain, how % 3 ? `label ${how}` : null)]);
    if (kind === "compact") {
      const kept = pick(plain.path(plain.leaf), how)?.id;
      if (kept) await append([compaction(this.#name(), "what was said ".repeat(how % 5), kept)]);
    }
    if (kind === "navigate") {
      const to = how % 7 === 0 ? null : anyMain;
      await this.#crashing.survive(dies, () => real.navigate(to));
      plain.leaf = to;
    }
    const root = roots[how % roots.length] ?? null;
    if (kind === "write") await append(this.#turn(how), root, plain.leafOf(root) ? undefined : plain.leaf);
    if (kind === "adopt" && root) await this.#adopt(pair, root, { goesBack: who % 2 === 0, dies });
    const over = how % 2 ? branch : root;
    if (kind === "settle" && over) await this.#settle(pair, over, { how, dies });
    if (kind === "again") await this.#crashing.survive(dies, async () => pick(this.#made, how)?.make());
    if (kind === "fork") await this.#fork(pair, how, dies);
    if (kind === "copy") await this.#copy(pair, dies);
    assert.deepEqual(await idsOf(real.path()), plain.path(plain.leaf).map(idOf).toReversed());
  }

  async #adopt(
    { real, plain }: Pair,
    root: RunId,
    { goesBack, dies }: { readonly goesBack: boolean; readonly dies: Crash | null },
  ): Promise<void> {
    const start = plain.startOf(root);
    const adoption = {
      last: plain.leafOf(root) ?? plain.leaf ?? id("none"),
      ...(goesBack ? { follows: plain.leaf, from: start } : { follows: start }),
    };
    let outcome: AdoptionOutcome | null = null;
    await this.#crashing.survive(dies, async () => {
      outcome = await real.adopt(root, adoption);
    });
    assert.equal(outcome, plain.adopt(root, adoption));
  }

  async #settle(
    pair: Pair,
    run: RunId,
    { how, dies }: { readonly how: number; readonly dies: Crash | null },
  ): Promise<void> {
    const { real, plain } = pair;
    const closing = { id: id(this.#name()), parentId: null, at: 9, branch: run } as const;
    const end = how % 3 === 0 ? null : ({ ...closing, type: "custom", kind: "note", data: null } as const);
    const settlement = { end, goesBack: how % 5 === 0 };
    let isSettled: boolean | null = null;
    await this.#crashing.survive(dies, async () => {
      isSettled = await real.settle(run, settlement);
    });
    assert.equal(isSettled, plain.settle(run, settlement));
    if (plain.settled.has(run)) this.#forget(pair, (each) => each === run);
  }

  /** Forgets the entries of a settled branch: a run that has ended writes no more. */
  #forget({ real }: Pair, isDropped: (branch: RunId | null) => boolean): void {
    this.#made = this.#made.filter((made) => made.real !== real || !isDropped(made.branch));
  }

  async #fork({ real, plain }: Pair, how: number, dies: Crash | null): Promise<void> {
    const entry = pick(plain.entries, how)?.id;
    if (!entry) return;
    const into = { id: SessionId.of(this.#name()), startedAt: 1 };
    await this.#crashing.survive(dies, () => real.fork(entry, into));
    this.#add(plain.fork(entry, into.id));
  }

  async #copy({ real, plain }: Pair, dies: Crash | null): Promise<void> {
    const copy = this.#add(new PlainSession(SessionId.of(this.#name())));
    await this.#crashing.survive(dies, async () => {
      await copy.real.open({ startedAt: 2 });
      assert.equal((await importSession(copy.real, exportSession(real))).imported, plain.entries.length);
    });
    const source = { kind: "file", name: "import", runId: null, stepId: null } as const;
    const labels = Labels.withSource(Labels.of({ untrusted: true }), source);
    copy.plain.entries = plain.entries.map((entry) => Object.assign({}, entry, { labels }));
    copy.plain.leaf = plain.leaf;
    for (const [branch, leaf] of plain.branches) copy.plain.branches.set(branch, leaf);
  }

  async check(options: PromptWindowOptions): Promise<void> {
    for (const { real, plain } of this.#pairs) {
      const head = await real.head();
      assert.equal(head.leaf, plain.leaf);
      assert.deepEqual(head.forkedFrom, plain.forkedFrom);
      assert.deepEqual(await real.labels(), plain.labels);
      for (const branch of [null, ...writers, ...roots]) {
        const leaf = plain.leafOf(branch);
        assert.equal(await real.leaf(branch), leaf);
        assert.deepEqual(await listOf(real.path(leaf)), plain.path(leaf).toReversed());
        await checkWindow(real, plain, { ...options, at: leaf });
      }
      assert.deepEqual((await idsOf(real.entries())).toSorted(), plain.entries.map(idOf).toSorted());
    }
  }

  #add(plain: PlainSession): Pair {
    const key = { id: plain.id, userId: null };
    const pair = { real: new Session(this.#crashing.store, this.#partition, key), plain };
    this.#pairs.push(pair);
    return pair;
  }

  #name(): string {
    return `n${this.#named++}`;
  }

  /** Turns as they should be, and turns as they should not. */
  #turn(how: number): readonly EntryDraft[] {
    const [a, b, c, d] = [this.#name(), this.#name(), this.#name(), this.#name()];
    const long = "result ".repeat(how);
    const shapes: readonly (readonly EntryDraft[])[] = [
      [user(a), reply(b)],
      [user(a), assistantCalls(b, "1"), results(c, ["1"], long), reply(d)],
      [user(a), assistantCalls(b, "1", "2", "3"), results(c, ["3", "1", "2"], long), reply(d)],
      [assistantCalls(a, "1", "2"), results(b, ["2"], long), results(c, ["1"]), reply(d)],
      [assistantCalls(a, "1", "2"), results(b, ["2"]), user(c)],
      [user(a), assistantCalls(b, "1")],
      [results(a, ["1"]), user(b)],
      [assistantCalls(a, "1"), user(b), results(c, ["1"]), assistantCalls(d, "2")],
      [assistantCalls(a, "1"), results(b, ["1"]), results(c, ["1", "4"]), user(d)],
    ];
    return shapes[how % shapes.length] ?? [];
  }
}

async function checkWindow(real: Session, plain: PlainSession, options: PromptWindowOptions): Promise<void> {
  const { maxMessages: _messages, maxTokens: _tokens, ...unlimited } = options;
  const all = await getPromptWindow(real, unlimited);
  const window = await getPromptWindow(real, options);
  assertPaired(all);
  assertPaired(window);
  assertFills(window, all, options);
  assertTells(all, plain.path(options.at ?? null));
}

async function listOf<Item>(items: AsyncIterable<Item>): Promise<readonly Item[]> {
  const list: Item[] = [];
  for await (const item of items) list.push(item);
  return list;
}

const idOf = ({ id: each }: { readonly id: EntryId }): EntryId => id(each);
const idsOf = async (entries: AsyncIterable<{ readonly id: EntryId }>) => (await listOf(entries)).map(idOf);

function pick<Item>(items: readonly Item[], number: number): Item | undefined {
  return items[number % items.length];
}
