// Files: an agent works in one folder. Reading is free, writing needs a permission, and no path leads out.
import assert from "node:assert/strict";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { agent, createRuntime, permissions } from "reeve";
import { call, say, scriptedModel } from "reeve/testing";
import { files } from "reeve/tools";

const base = await mkdtemp(join(tmpdir(), "reeve-files-"));
const root = join(base, "workspace");
await mkdir(root);
await writeFile(join(root, "sales.txt"), "May: 12\nJune: 15\n");
await writeFile(join(base, "secret.txt"), "not for agents");
await symlink("../secret.txt", join(root, "innocent.txt"));

const { read, list, write } = files(root);
const model = scriptedModel([
  call("list_files", { path: "." }),
  call("read_file", { path: "sales.txt" }),
  call("read_file", { path: "../secret.txt" }),
  call("read_file", { path: "innocent.txt" }),
  call("write_file", { path: "reports/june.md", text: "Sales grew to 15." }),
  say("The report is in reports/june.md."),
]);
const writer = agent({
  name: "writer",
  model,
  tools: [read, list, write],
  permissions: permissions([{ tool: "write_file", verdict: "allow" }]),
});
// The log receives every failed call. Here one must fail.
await using runtime = createRuntime({ agents: [writer], log: () => undefined });
const { output } = await (await runtime.start(writer, "Write the report of June")).result();
console.log(output);

assert.equal(await readFile(join(root, "reports/june.md"), "utf8"), "Sales grew to 15.");
const results = model.requests.map(({ messages }) => JSON.stringify(messages.at(-1))).slice(1);
assert.match(results[1] ?? "", /June: 15/);
assert.match(results[2] ?? "", /it must stay inside the root folder/);
assert.match(results[3] ?? "", /is a link, and links are not followed/);
assert.ok(!results.join("").includes("not for agents"));
await rm(base, { recursive: true });
