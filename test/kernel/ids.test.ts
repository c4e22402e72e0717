import { AgentId, RunId, TenantId, TopicId, TreeId } from "reeve";
import { Partition } from "reeve/store";
import { expect, test } from "vitest";

const tree = TreeId.of("books-2026-11");

test("a run id carries its tree and its number, the root is number 0", () => {
  const run = RunId.of(tree, 7);
  expect(run).toBe("books-2026-11~7");
  expect(RunId.tree(run)).toBe(tree);
  expect(RunId.root(tree)).toBe("books-2026-11~0");
  expect(RunId.parse("books-2026-11~7")).toBe(run);
  expect([RunId.is(run), RunId.is(tree), RunId.is("writer/1")]).toEqual([true, false, false]);
});

test.each(["", "a b", "x".repeat(129), "a~1", "a/b", "ü"])("%j is not a tree id", (text) => {
  expect(() => TreeId.of(text)).toThrow(TypeError);
});

test.each(["books", "books~", "books~x", "a~1~2", "~1"])("%j is not a run id", (text) => {
  expect(() => RunId.parse(text)).toThrow(TypeError);
});

test("an agent id is a type and, where several share it, a key", () => {
  expect(AgentId.of("writer")).toBe("writer");
  expect(AgentId.type(AgentId.of("writer", "north"))).toBe("writer");
  expect(AgentId.parse("writer/north")).toBe(AgentId.of("writer", "north"));
  expect(() => AgentId.of("a~b")).toThrow(TypeError);
});

test("a topic belongs to one tree", () => {
  expect(TopicId.of("agent.progress", tree)).toBe("agent.progress/books-2026-11");
});

test("no tenant has the name reserved for the absent tenant", () => {
  expect(() => TenantId.of("-")).toThrow(TypeError);
  expect(Partition.key({ tenantId: null })).toBe("-");
  for (const key of ["-", "acme", "-/books", "acme/books"]) {
    const { partition, tree: named } = Partition.parse(key);
    expect(Partition.key(partition, named)).toBe(key);
  }
  for (const bad of ["", "/books", "acme/", "acme/a/b"])
    expect(() => Partition.parse(bad)).toThrow(TypeError);
});
