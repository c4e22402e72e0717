import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import pkg from "../package.json" with { type: "json" };

test("the run-time dependencies are the six of the decision record, and none has an install script", () => {
  const names = Object.keys(pkg.dependencies).toSorted();
  expect(names).toEqual([
    "@ai-sdk/provider",
    "@pydantic/genai-prices",
    "@standard-schema/spec",
    "commander",
    "croner",
    "tokenx",
  ]);
  for (const name of names) {
    const { scripts = {} } = JSON.parse(readFileSync(`node_modules/${name}/package.json`, "utf8"));
    expect(Object.keys(scripts).filter((script) => /^(pre|post)?install$/.test(script))).toEqual([]);
  }
});

test("the libraries of adapters are optional peers", () => {
  const optional = Object.entries(pkg.peerDependenciesMeta).filter(([, meta]) => meta.optional);
  expect(optional.map(([name]) => name).toSorted()).toEqual(Object.keys(pkg.peerDependencies).toSorted());
});

test("the package is published with its provenance", () => {
  expect(pkg.publishConfig).toEqual({ access: "public", provenance: true });
});
