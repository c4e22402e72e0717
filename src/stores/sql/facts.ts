import { Fact, Json, type MemoryStore, type Partition, type UserId } from "#kernel";
import type { Access } from "./access.ts";

export class SqlFacts implements MemoryStore {
  readonly #access: Access;

  constructor(access: Access) {
    this.#access = access;
  }

  async remember(partition: Partition, user: UserId | null, fact: Fact): Promise<void> {
    Fact.check(fact);
    const told = { valid_to: fact.validTo, value: JSON.stringify(fact.value) };
    await this.#access.write(partition, (db, tenant) =>
      db
        .insertInto("reeve_fact")
        .values({
          tenant_id: tenant,
          user_id: user ?? "",
          key: fact.key,
          valid_from: fact.validFrom,
          ...told,
        })
        .onConflict((conflict) =>
          conflict.columns(["tenant_id", "user_id", "key", "valid_from"]).doUpdateSet(told),
        )
        .execute(),
    );
  }

  async recall(
    partition: Partition,
    user: UserId | null,
    { key, at }: { readonly key?: string; readonly at?: number },
  ): Promise<readonly Fact[]> {
    const rows = await this.#access.read(partition, (db, tenant) =>
      db
        .selectFrom("reeve_fact")
        .select(["key", "value", "valid_from", "valid_to"])
        .where("tenant_id", "=", tenant)
        .where("user_id", "=", user ?? "")
        .$if(key !== undefined, (query) => query.where("key", "=", key ?? ""))
        .orderBy("key")
        .orderBy("valid_from")
        .execute(),
    );
    const told = rows.map((row) => ({
      key: row.key,
      value: Json.of(JSON.parse(row.value)),
      validFrom: row.valid_from,
      validTo: row.valid_to,
    }));
    const facts = [...Map.groupBy(told, (fact) => fact.key).values()].flatMap(Fact.timeline);
    return at === undefined ? facts : facts.filter((fact) => Fact.holds(fact, at));
  }
}
