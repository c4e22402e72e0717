import type { Store } from "./store.ts";

/** Returns a store with the same parts, as a plain object: some of them can be replaced. */
export function copyStore(store: Store): Store {
  return {
    durable: store.durable,
    runs: store.runs,
    events: store.events,
    sessions: store.sessions,
    memory: store.memory,
    vectors: store.vectors,
    approvals: store.approvals,
    audit: store.audit,
    manifests: store.manifests,
    keys: store.keys,
    workers: store.workers,
    apiKeys: store.apiKeys,
    limits: store.limits,
    spend: store.spend,
    cache: store.cache,
    webhooks: store.webhooks,
    eraseTree: (...given) => store.eraseTree(...given),
    isErased: (...given) => store.isErased(...given),
    eraseUser: (...given) => store.eraseUser(...given),
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}
