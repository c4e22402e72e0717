import { statSync } from "node:fs";
import { join } from "node:path";
import { bubblewrap, shell } from "reeve/tools";
import { afterAll, beforeAll, expect, test } from "vitest";
import { callTool } from "./call-tool.ts";
import { processesOf, run, setUp, tearDown, type World } from "./sandbox-world.ts";

let world: World;
beforeAll(async () => {
  world = await setUp();
});
afterAll(tearDown);

/** A command that writes five million bytes. */
const fill = (path: string): readonly string[] => ["sh", "-c", `head -c 5000000 /dev/zero > ${path}`];

test("a fork bomb stays within the limit of processes and ends with the command", async () => {
  const script =
    'print "tried\\n"; my $n = 0; for (1..500) { my $p = fork; last if !defined $p; if (!$p) { sleep 31337 } $n++ } print "$n\\n";';
  const { stdout } = await run(["perl", "-e", script], { maxProcesses: 20 });
  const count = Number(stdout.split("\n")[1]);
  expect(count).toBeGreaterThan(5);
  expect(count).toBeLessThanOrEqual(20);
  expect(processesOf("sleep 31337")).toEqual([]);
  const bomb = await run(["sh", "-c", "bomb() { bomb | bomb & }; bomb; sleep 3"], {
    maxProcesses: 20,
    timeoutS: 5,
  });
  expect(bomb.stderr).toMatch(/fork/i);
});

test("a command cannot allocate memory beyond the limit", async () => {
  const script = 'print "tried\\n"; my $x = "a" x $ARGV[0]; print "ESCAPED\\n";';
  const { stdout, exitCode } = await run(["perl", "-e", script, String(2 ** 29)], {
    maxMemoryBytes: 2 ** 28,
  });
  expect(stdout).toBe("tried\n");
  expect(exitCode).not.toBe(0);
});

test("the temporary folder and files have a limit, and the temporary folder is empty every time", async () => {
  const limits = { maxTmpBytes: 1_000_000, maxFileBytes: 3_000_000 };
  expect((await run(fill("/tmp/x"), limits)).stderr).toMatch(/No space left/);
  await run(fill("big"), limits);
  expect(statSync(join(world.root, "big")).size).toBeLessThanOrEqual(3_000_000);
  expect((await run(["ls", "-A", "/tmp"])).stdout).toBe("");
});

test("a gigabyte of output is cut at the limit, and the command ended", async () => {
  const result = await run(["head", "-c", "1000000000", "/dev/zero"], { maxOutputBytes: 1_000 });
  expect(result).toMatchObject({
    exitCode: null,
    end: "stopped: the command reached maxOutputBytes (1000)",
  });
  expect(result.stdout.length).toBe(1_000);
  const noise = await run(["sh", "-c", "yes >&2 & yes"], { maxOutputBytes: 1_000 });
  expect(noise.stdout.length + noise.stderr.length).toBe(1_000);
});

test("a command that takes too long is ended with everything that it has started", async () => {
  const script = "trap '' TERM INT HUP; setsid sleep 24680 & sleep 24680 & wait";
  const result = await run(["sh", "-c", script], { timeoutS: 0.5 });
  expect(result).toMatchObject({ exitCode: null, end: "stopped: the command reached timeoutS (0.5)" });
  await expect.poll(() => processesOf("sleep\x0024680")).toEqual([]);
});

test("a process in the background ends with the command", async () => {
  await run(["sh", "-c", "setsid sleep 13579 >/dev/null 2>&1 & exit 0"]);
  await expect.poll(() => processesOf("sleep\x0013579")).toEqual([]);
});

test("processor time has a limit", async () => {
  const { exitCode, end } = await run(["sh", "-c", "while :; do :; done"], { maxCpuS: 1, timeoutS: 60 });
  expect([exitCode, end]).toEqual([137, undefined]);
});

test("a call that is aborted ends its command", async () => {
  const tool = shell({ root: world.root, sandbox: bubblewrap() });
  const stop = new AbortController();
  const running = callTool(tool, { argv: ["sleep", "86420"] }, stop.signal);
  await expect.poll(() => processesOf("sleep\x0086420").length).toBeGreaterThan(0);
  stop.abort(new Error("cancelled"));
  await expect(running).rejects.toThrow("cancelled");
  await expect.poll(() => processesOf("sleep\x0086420")).toEqual([]);
});
