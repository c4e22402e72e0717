import { randomBytes } from "node:crypto";
import { AgentId, Runtime, type Agent } from "reeve";
import { type Engine } from "reeve/engine";
import { type FileBlock } from "#kernel";
import { local } from "reeve/engines/local";
import { expect, test } from "vitest";
import { environmentKeys } from "#sealing";

const file = { mediaType: "image/png", data: randomBytes(100_000) };

/** An engine that notes which methods of content objects are called. */
function notingEngine(): { readonly engine: Engine; readonly methods: string[] } {
  const inner = local();
  const methods: string[] = [];
  const engine: Engine = {
    ...inner,
    call: (to, method, argument) => {
      if (to.type === "content") methods.push(method);
      return inner.call(to, method, argument);
    },
  };
  return { engine, methods };
}

const received: FileBlock[] = [];
const holder: Agent = {
  id: AgentId.of("holder"),
  async run(ctx, inbox) {
    received.push(...((await inbox.next())?.files ?? []));
    await ctx.waitFor("go");
    return null;
  },
};

function contentOf(block: FileBlock | undefined): { readonly name: string; readonly part: number } {
  if (!block || !("content" in block.source)) throw new Error("the file is in its message");
  return { name: block.source.content, part: 0 };
}

test("the same file is sent and kept once for each tree, and removed when the tree is erased", async () => {
  const { engine, methods } = notingEngine();
  await using runtime = new Runtime({ agents: [holder], engine, eraseAfterS: 0.05 });
  const run = await runtime.start(holder, { files: [file, file] }, { id: "tree" });
  await run.steer({ files: [file] });
  expect(methods).toEqual(["has", "put", "has", "has"]);
  await expect.poll(() => received.length).toBe(2);
  expect(received[1]).toEqual(received[0]);
  const read = () => engine.call({ type: "content", key: "-/tree" }, "get", contentOf(received[0]));
  expect(await read()).toBe(file.data.toString("base64"));
  await run.signal("go");
  await run.result();
  await expect.poll(read).toBe(null);
  await run.steer({ files: [file] }).catch(() => undefined);
  expect(await read()).toBe(null);
});

test("the name of content depends on its tree and key, and does not reveal its bytes", async () => {
  received.length = 0;
  for (const REEVE_KEY of [randomBytes(32), randomBytes(32)].map((key) => key.toString("base64")))
    for (const id of ["one", "two"]) {
      const keys = environmentKeys({ REEVE_KEY });
      await using runtime = new Runtime({ agents: [holder], engine: local(), keys });
      const run = await runtime.start(holder, { files: [file] }, { id });
      await run.signal("go");
      await run.result();
    }
  expect(new Set(received.map((block) => contentOf(block).name)).size).toBe(4);
});
