import { execFile } from "node:child_process";
import { chmod, copyFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { attempts } from "./escapes.ts";
import { isRoot } from "./sandbox-world.ts";

const execute = promisify(execFile);
const fixture = join(import.meta.dirname, "fixtures/try-escapes.ts");
const ordinary = { uid: 65_534, gid: 65_534 };

let folder: string;
/** A copy of Node, because the one of root may be where no other user can read it. */
let program: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "reeve-user-"));
  await chmod(folder, 0o755);
  program = join(folder, "node");
  await copyFile(process.execPath, program);
});
afterAll(() => rm(folder, { recursive: true }));

/** Starts a worker as an ordinary user: root becomes one, any other user remains itself. */
const asUser = (argv: readonly string[]) =>
  execute(argv[0] ?? "", argv.slice(1), {
    cwd: join(import.meta.dirname, "../.."),
    env: { PATH: process.env["PATH"], TMPDIR: tmpdir() },
    ...(isRoot && ordinary),
  });

test("a worker without root privileges also sandboxes its commands", async () => {
  const { stdout } = await asUser([program, "--conditions=reeve-source", fixture]);
  const uid = isRoot ? ordinary.uid : process.getuid?.();
  expect(JSON.parse(stdout)).toEqual({ uid, attempts: attempts.length, problems: [] });
});

test("without user namespaces the tool is refused when it is made, with the reason", async () => {
  const make = `
    import { bubblewrap, shell } from "reeve/tools";
    try { shell({ root: "/tmp", sandbox: bubblewrap() }); console.log("made"); } catch (error) { console.log(error.message); }`;
  const node = [program, "--conditions=reeve-source", "--input-type=module", "-e", make];
  expect((await asUser(node)).stdout).toBe("made\n");
  // A namespace that allows no further ones behaves like a system with namespaces disabled.
  const limit = `echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"`;
  const limited = ["/usr/bin/unshare", "-U", "-c", "--keep-caps", "sh", "-c", limit, "sh", ...node];
  expect((await asUser(limited)).stdout).toMatch(
    /^bubblewrap cannot start a sandbox: .*\. It needs unprivileged user namespaces\n$/,
  );
});
