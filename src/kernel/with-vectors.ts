import { copyStore } from "./copy-store.ts";
import type { VectorStore } from "./embedder.ts";
import { MemoryItem } from "./memory.ts";
import type { Store } from "./store.ts";

/**
 * Returns the store with vectors kept in another one. A vector is removed with its item, also when its session or user
 * is removed. Vectors are removed first, so that an interrupted removal can be repeated.
 */
export function withVectors(store: Store, vectors: VectorStore): Store {
  const { sessions } = store;
  return {
    ...copyStore(store),
    vectors,
    memory: withVectorsOf(store.memory, vectors),
    sessions: {
      open: (...given) => sessions.open(...given),
      fork: (...given) => sessions.fork(...given),
      head: (...given) => sessions.head(...given),
      list: (...given) => sessions.list(...given),
      rename: (...given) => sessions.rename(...given),
      append: (...given) => sessions.append(...given),
      adopt: (...given) => sessions.adopt(...given),
      path: (...given) => sessions.path(...given),
      entries: (...given) => sessions.entries(...given),
      leaf: (...given) => sessions.leaf(...given),
      moveLeaf: (...given) => sessions.moveLeaf(...given),
      settle: (...given) => sessions.settle(...given),
      remove: async (partition, session) => {
        await vectors.eraseSession(partition, session);
        await sessions.remove(partition, session);
      },
    },
    eraseUser: async (partition, user) => {
      await vectors.eraseUser(partition, user);
      await store.eraseUser(partition, user);
    },
  };
}

function withVectorsOf(memory: Store["memory"], vectors: VectorStore): Store["memory"] {
  return {
    recall: (...given) => memory.recall(...given),
    block: (...given) => memory.block(...given),
    blocks: (...given) => memory.blocks(...given),
    editBlock: (...given) => memory.editBlock(...given),
    findEdit: (...given) => memory.findEdit(...given),
    index: (...given) => memory.index(...given),
    search: (...given) => memory.search(...given),
    listIndexed: (...given) => memory.listIndexed(...given),
    owners: (...given) => memory.owners(...given),
    // A repeated write returns the same items, so a crash between the two writes leaves no vector behind.
    remember: async (partition, owner, fact, options) => {
      const replaced = await memory.remember(partition, owner, fact, options);
      await vectors.remove(partition, owner, replaced);
      return replaced;
    },
    forget: async (partition, owner, request) => {
      const erased = await memory.forget(partition, owner, request);
      await vectors.remove(partition, owner, erased);
      return erased;
    },
    removeBlock: async (partition, owner, name) => {
      await vectors.remove(partition, owner, [MemoryItem.block(name)]);
      await memory.removeBlock(partition, owner, name);
    },
    unindex: async (partition, owner, items) => {
      await vectors.remove(partition, owner, items);
      await memory.unindex(partition, owner, items);
    },
  };
}
