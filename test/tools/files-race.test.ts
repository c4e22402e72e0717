import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { readFile, realpath, writeFile } from "node:fs/promises";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { files } from "reeve/tools";
import { expect, test } from "vitest";
import { tryTool } from "./call-tool.ts";

const secret = "CANARY-7a42";
const paths = ["folder/inner.txt", "file.txt"];

/** Reads a file and writes it again. Returns its content. */
interface Subject {
  read(path: string): Promise<string>;
  write(path: string, text: string): Promise<unknown>;
}

/** The usual check: resolve the path, compare it with the root, then use it. */
const naive = (root: string): Subject => {
  const check = async (path: string): Promise<string> => {
    const real = await realpath(join(root, path));
    if (!real.startsWith(`${root}/`)) throw new Error("outside");
    return join(root, path);
  };
  return {
    read: async (path) => readFile(await check(path), "utf8").catch(() => ""),
    write: async (path, text) => writeFile(await check(path), text),
  };
};

const careful = (root: string): Subject => {
  const { read, write } = files(root);
  return { read: (path) => tryTool(read, { path }), write: (path, text) => tryTool(write, { path, text }) };
};

interface Outcome {
  readonly swaps: number;
  readonly escapedReads: number;
  readonly escapedWrites: number;
  readonly goodReads: number;
}

/** Uses files while another thread exchanges them with links, until `isEnough`. */
async function race(make: (root: string) => Subject, isEnough: (now: Outcome) => boolean): Promise<Outcome> {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "reeve-race-")));
  const [root, outside] = [join(base, "root"), join(base, "outside")];
  mkdirSync(join(root, "folder"), { recursive: true });
  mkdirSync(outside);
  for (const path of paths) writeFileSync(join(root, path), "ordinary");
  const canaries = ["inner.txt", "canary.txt"].map((name) => join(outside, name));
  for (const canary of canaries) writeFileSync(canary, secret);
  symlinkSync(outside, join(root, "folder.link"));
  symlinkSync(join(outside, "canary.txt"), join(root, "file.txt.link"));
  const [stop, swaps] = [new Int32Array(new SharedArrayBuffer(4)), new Int32Array(new SharedArrayBuffer(4))];
  const worker = new Worker(new URL("fixtures/swap.ts", import.meta.url), {
    workerData: { root, stop, swaps },
  });
  const thread = { isOver: false };
  const ended = once(worker, "exit").finally(() => (thread.isOver = true));
  const subject = make(root);
  let now: Outcome = { swaps: 0, escapedReads: 0, escapedWrites: 0, goodReads: 0 };
  try {
    while (!isEnough(now) && !thread.isOver) {
      const texts = await Promise.all([...paths, ...paths].map((path) => subject.read(path).catch(() => "")));
      const isChanged = canaries.some((canary) => readFileSync(canary, "utf8") !== secret);
      for (const canary of canaries) writeFileSync(canary, secret);
      now = {
        swaps: Atomics.load(swaps, 0),
        escapedReads: now.escapedReads + texts.filter((text) => text.includes(secret)).length,
        escapedWrites: now.escapedWrites + (isChanged ? 1 : 0),
        goodReads: now.goodReads + texts.filter((text) => text.includes("ordinary")).length,
      };
      await Promise.all(paths.map((path) => subject.write(path, "ordinary").catch(() => undefined)));
    }
  } finally {
    Atomics.store(stop, 0, 1);
    await ended;
    rmSync(base, { recursive: true, force: true });
  }
  return now;
}

test("links exchanged 10,000 times never lead a read or a write out of the root", async () => {
  const outcome = await race(careful, ({ swaps, goodReads }) => swaps >= 10_000 && goodReads >= 100);
  expect(outcome).toMatchObject({ escapedReads: 0, escapedWrites: 0 });
  expect(outcome.swaps).toBeGreaterThanOrEqual(10_000);
});

test("the same exchange leads an implementation out that checks a path and then uses it", async () => {
  const outcome = await race(
    naive,
    ({ escapedReads, escapedWrites }) => escapedReads > 0 && escapedWrites > 0,
  );
  expect(outcome.escapedReads + outcome.escapedWrites).toBeGreaterThan(1);
});
