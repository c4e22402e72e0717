import assert from "node:assert/strict";
import { Labels, MemoryItem, MemoryOwner, SessionId, type Partition, type Store } from "#kernel";
import { ann, annOwns, blockEditOf, bobOwns, root, type StoreCase, storeCase } from "./harness.ts";

const name = "human";
const untrusted = { ...Labels.of({ untrusted: true }), sources: [source("fetch")] };

function source(tool: string) {
  return { kind: "tool", name: tool, runId: root, stepId: null, untrusted: true, private: false } as const;
}

/** Adds a line to a block, again and again until no other writer came first. Returns the number of conflicts. */
async function addLine(store: Store, tenant: Partition, line: string): Promise<number> {
  for (let conflicts = 0; ; conflicts += 1) {
    const present = await store.memory.block(tenant, annOwns, name);
    const { text, version } = present ?? { text: "", version: 0 };
    const edit = blockEditOf(`write-${line}`, { text: `${text}${line}\n`, version, limit: 10_000 });
    const { outcome } = await store.memory.editBlock(tenant, annOwns, name, edit);
    if (outcome === "applied") return conflicts;
  }
}

export const blockCases: readonly StoreCase[] = [
  storeCase("a block comes back as it was written, with its version, limit and writer", async (desk) => {
    const { store, tenant } = desk;
    const { memory } = store;
    assert.equal(await memory.block(tenant, annOwns, name), null);
    const first = blockEditOf("w1", { text: "Likes tea. 茶 \u0000", limit: 50, at: 5, runId: root });
    const receipt = { name, version: 1, updatedAt: 5 };
    assert.deepEqual(await memory.editBlock(tenant, annOwns, name, first), { outcome: "applied", receipt });
    const block = { name, text: first.text, limit: 50, version: 1, updatedAt: 5, runId: root };
    assert.deepEqual(await memory.block(tenant, annOwns, name), { ...block, labels: Labels.none });
    await memory.editBlock(tenant, annOwns, "a", blockEditOf("w2"));
    const names = (await memory.blocks(tenant, annOwns)).map((each) => each.name);
    assert.deepEqual(names, ["a", name]);
    await memory.removeBlock(tenant, annOwns, name);
    await memory.removeBlock(tenant, annOwns, name);
    assert.equal(await memory.block(tenant, annOwns, name), null);
  }),

  storeCase("an edit of an older version changes nothing and returns the current block", async (desk) => {
    const { memory } = desk.store;
    await memory.editBlock(desk.tenant, annOwns, name, blockEditOf("w1", { text: "one" }));
    await memory.editBlock(desk.tenant, annOwns, name, blockEditOf("w2", { text: "two", version: 1 }));
    const present = await memory.block(desk.tenant, annOwns, name);
    for (const version of [0, 1, 3]) {
      const late = blockEditOf(`late-${version}`, { text: "late", version });
      assert.deepEqual(await memory.editBlock(desk.tenant, annOwns, name, late), {
        outcome: "conflict",
        present,
      });
      assert.equal(await memory.findEdit(desk.tenant, annOwns, late.id), null);
    }
    const nothing = await memory.editBlock(desk.tenant, annOwns, "other", blockEditOf("w3", { version: 1 }));
    assert.deepEqual(nothing, { outcome: "conflict", present: null });
    assert.equal(present?.text, "two");
  }),

  storeCase("a repeated edit returns its first result, whatever came after it", async (desk) => {
    const { memory } = desk.store;
    const first = blockEditOf("w1", { text: "one" });
    const applied = await memory.editBlock(desk.tenant, annOwns, name, first);
    assert.deepEqual(await memory.editBlock(desk.tenant, annOwns, name, first), applied);
    await memory.editBlock(desk.tenant, annOwns, name, blockEditOf("w2", { text: "two", version: 1 }));
    assert.deepEqual(await memory.editBlock(desk.tenant, annOwns, name, first), applied);
    const receipt = await memory.findEdit(desk.tenant, annOwns, "w1");
    assert.deepEqual({ outcome: "applied", receipt }, applied);
    assert.equal(await memory.findEdit(desk.tenant, bobOwns, "w1"), null);
    assert.equal((await memory.block(desk.tenant, annOwns, name))?.text, "two");
    await memory.removeBlock(desk.tenant, annOwns, name);
    assert.deepEqual(await memory.editBlock(desk.tenant, annOwns, name, first), applied);
    assert.equal(await memory.block(desk.tenant, annOwns, name), null);
  }),

  storeCase("of two concurrent writers one wins each version, and no line is lost", async (desk) => {
    const { store, tenant, harness } = desk;
    const other = await harness.open();
    try {
      const race = await Promise.all(
        [store, other].map(({ memory }, n) =>
          memory.editBlock(tenant, annOwns, "raced", blockEditOf(`race-${n}`, { text: `text ${n}` })),
        ),
      );
      assert.deepEqual(race.map(({ outcome }) => outcome).toSorted(), ["applied", "conflict"]);
      const loser = race.find((result) => result.outcome === "conflict");
      assert.deepEqual(loser?.present, await store.memory.block(tenant, annOwns, "raced"));
      const lines = Array.from({ length: 20 }, (_, n) => n);
      const write = async (writer: Store, prefix: string): Promise<void> => {
        for (const n of lines) await addLine(writer, tenant, `${prefix}${n}`);
      };
      await Promise.all([write(store, "a"), write(other, "b")]);
      const block = await store.memory.block(tenant, annOwns, name);
      const wanted = ["a", "b"].flatMap((prefix) => lines.map((n) => `${prefix}${n}`));
      assert.deepEqual(block?.text.trim().split("\n").toSorted(), wanted.toSorted());
      assert.equal(block?.version, 40);
    } finally {
      await other[Symbol.asyncDispose]();
    }
  }),

  storeCase("a block keeps the labels of every run that edited it", async ({ store, tenant }) => {
    const { memory } = store;
    await memory.editBlock(tenant, annOwns, name, blockEditOf("w1", { labels: untrusted }));
    assert.deepEqual((await memory.block(tenant, annOwns, name))?.labels, untrusted);
    await memory.editBlock(tenant, annOwns, name, blockEditOf("w2", { version: 1, text: "clean" }));
    assert.deepEqual((await memory.block(tenant, annOwns, name))?.labels, untrusted);
    const own = Labels.of({ private: true });
    await memory.editBlock(tenant, annOwns, name, blockEditOf("w3", { version: 2, labels: own }));
    assert.deepEqual((await memory.block(tenant, annOwns, name))?.labels, { ...untrusted, private: true });
  }),

  storeCase("a block keeps two of its authors, and edits without one add none", async ({ store, tenant }) => {
    const { memory } = store;
    const authorsAfter = async (version: number, author: string | null): Promise<unknown> => {
      const edit = { ...blockEditOf(`w${version + 1}`, { version, text: `${version}` }), author };
      await memory.editBlock(tenant, annOwns, name, edit);
      return (await memory.block(tenant, annOwns, name))?.authors;
    };
    assert.equal(await authorsAfter(0, null), undefined);
    assert.deepEqual(await authorsAfter(1, "ann"), ["ann"]);
    assert.deepEqual(await authorsAfter(2, "ann"), ["ann"]);
    assert.deepEqual(await authorsAfter(3, "bob"), ["ann", "bob"]);
    assert.deepEqual(await authorsAfter(4, "eve"), ["ann", "bob"]);
    assert.deepEqual(await authorsAfter(5, null), ["ann", "bob"]);
  }),

  storeCase("a text beyond its limit and an invalid name, limit or id are refused", async (desk) => {
    const { memory } = desk.store;
    const edit = (fields: object, block = name): Promise<unknown> =>
      memory.editBlock(desk.tenant, annOwns, block, blockEditOf("w1", fields));
    await assert.rejects(edit({ text: "12345", limit: 4 }), /may have at most 4 characters, got 5/);
    await assert.rejects(edit({ limit: 0 }), TypeError);
    await assert.rejects(edit({ version: -1 }), TypeError);
    await assert.rejects(edit({ id: "with space" }), TypeError);
    await assert.rejects(edit({}, "with space"), TypeError);
    assert.deepEqual(await memory.blocks(desk.tenant, annOwns), []);
  }),

  storeCase("a block belongs to a user, a tenant or a session, and to no other", async (desk) => {
    const { store, tenant } = desk;
    const talk = { id: SessionId.of("talk"), userId: ann };
    const owners = [
      annOwns,
      bobOwns,
      MemoryOwner.user(null),
      MemoryOwner.tenant,
      MemoryOwner.session(talk),
      MemoryOwner.session({ ...talk, userId: null }),
      MemoryOwner.session({ ...talk, id: SessionId.of("talk2") }),
    ];
    for (const [n, owner] of owners.entries())
      await store.memory.editBlock(tenant, owner, name, blockEditOf("w", { text: `text ${n}` }));
    for (const [n, owner] of owners.entries())
      assert.equal((await store.memory.block(tenant, owner, name))?.text, `text ${n}`);
    const own = await store.memory.owners(tenant, ann);
    assert.deepEqual(own.map(MemoryOwner.key), ["s ann talk", "s ann talk2", "u ann"]);
    const item = MemoryItem.block(name);
    await store.vectors?.put(tenant, owners[4] ?? annOwns, [{ item, embedder: "e", at: 1, vector: [1] }]);
    await store.sessions.remove(tenant, talk);
    assert.deepEqual((await store.memory.owners(tenant, ann)).map(MemoryOwner.key), ["s ann talk2", "u ann"]);
    await store.eraseUser(tenant, null);
    assert.equal((await store.memory.block(tenant, MemoryOwner.tenant, name))?.text, "text 3");
    await store.eraseUser(tenant, ann);
    assert.deepEqual(await store.memory.owners(tenant, ann), []);
    assert.equal((await store.memory.block(tenant, bobOwns, name))?.text, "text 1");
  }),
];
