import { Fact, type MemoryStore, type Partition, type UserId } from "#kernel";
import { copy, Shelf } from "./shelf.ts";

export class MemoryFacts implements MemoryStore {
  /** By user; no user has an empty id. */
  readonly shelf = new Shelf<Fact[]>();

  async remember(partition: Partition, user: UserId | null, fact: Fact): Promise<void> {
    Fact.check(fact);
    const users = this.shelf.of(partition);
    const others = (users.get(user ?? "") ?? []).filter(
      ({ key, validFrom }) => key !== fact.key || validFrom !== fact.validFrom,
    );
    users.set(user ?? "", [...others, copy(fact)]);
  }

  async recall(
    partition: Partition,
    user: UserId | null,
    { key, at }: { readonly key?: string; readonly at?: number },
  ): Promise<readonly Fact[]> {
    const told = this.shelf.of(partition).get(user ?? "") ?? [];
    const byTime = told
      .filter((fact) => key === undefined || fact.key === key)
      .toSorted((a, b) => a.validFrom - b.validFrom);
    const byKey = Map.groupBy(byTime, (fact) => fact.key);
    const facts = [...byKey.keys()].toSorted().flatMap((name) => Fact.timeline(byKey.get(name) ?? []));
    return at === undefined ? facts : facts.filter((fact) => Fact.holds(fact, at));
  }
}
