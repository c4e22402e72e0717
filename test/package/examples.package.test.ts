import { cpSync, globSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { afterAll, beforeAll, test } from "vitest";
import { sample } from "../effort.ts";
import { packBeside } from "./packed.ts";
import { currentNode, type Platform, supportedPlatforms } from "./platform.ts";
import { installMs, Terminal } from "./terminal.ts";

const platforms = await supportedPlatforms();
/** Tried on every platform by every change: a run, and a server that runs it. */
const always = ["examples/01-one-agent.ts", "examples/16-server.ts"];
const drawn = sample(globSync("examples/[0-9]*.ts").toSorted(), 0.1);
const examples = [...new Set([...always, ...drawn])].map((path) => basename(path));
const cases = platforms.flatMap((platform) => examples.map((example): Case => ({ platform, example })));

interface Case {
  readonly platform: Platform;
  readonly example: string;
}

let top = "";
let folder = "";

beforeAll(async () => {
  ({ top, folder } = await packBeside("user"));
  cpSync("examples", join(folder, "examples"), { recursive: true });
  const manifest = { private: true, type: "module", dependencies: dependenciesOf(join(folder, "examples")) };
  writeFileSync(join(folder, "package.json"), JSON.stringify(manifest));
  await new Terminal(currentNode(), folder).run("npm install --ignore-scripts --no-audit --no-fund");
}, installMs);

afterAll(() => rmSync(top, { recursive: true, force: true }));

/** Examples with a worker on a port of its own cannot run beside each other. */
const takesPort = ({ example }: Case): boolean =>
  readFileSync(join("examples", example), "utf8").includes("serve({ port: 9080 })");

const print = ({ platform, example }: Case): Promise<string> =>
  new Terminal(platform, folder).run(`${platform.command} examples/${example}`);

test.concurrent.for(cases.filter((each) => !takesPort(each)))(
  "$example holds on $platform.name, with the packed package",
  async (each, { expect }) => {
    expect(await print(each)).not.toMatch(/warning/i);
  },
);

test.for(cases.filter(takesPort))(
  "$example, which takes a port, holds on $platform.name, with the packed package",
  async (each, { expect }) => {
    expect(await print(each)).not.toMatch(/warning/i);
  },
);

/** Returns the imports of the examples, in the versions installed here. */
function dependenciesOf(examplesFolder: string): Readonly<Record<string, string>> {
  const source = globSync("*.ts", { cwd: examplesFolder })
    .map((path) => readFileSync(join(examplesFolder, path), "utf8"))
    .join("\n");
  const imported = [...source.matchAll(/from "((?:@[\w-]+\/)?[\w-]+)/g)].map(([, name = ""]) => name);
  // The peers of the adapters that the examples use: the package finds them by itself.
  const peers = [
    "@a2a-js/sdk",
    "@modelcontextprotocol/client",
    "@modelcontextprotocol/server",
    "@modelcontextprotocol/server-filesystem",
    "@opentelemetry/api",
    "@restatedev/restate-sdk",
    "@restatedev/restate-server",
    "hono",
    "kysely",
  ];
  const names = new Set([...imported, ...peers].filter((name) => name !== "reeve" && name !== "node"));
  const versions = [...names].map((name) => [name, versionOf(name)] as const);
  return { ...Object.fromEntries(versions), reeve: "file:../reeve/reeve-0.0.0.tgz" };
}

function versionOf(name: string): string {
  const { version }: { version: string } = JSON.parse(
    readFileSync(`node_modules/${name}/package.json`, "utf8"),
  );
  return version;
}
