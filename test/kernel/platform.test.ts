import { findPlatformProblem } from "#kernel";
import { expect, test } from "vitest";
import pkg from "../../package.json" with { type: "json" };

test("Node 24 and Bun 1.4 are the lowest supported platforms, as package.json says", () => {
  expect(pkg.engines).toEqual({ node: ">=24", bun: ">=1.4" });
  expect(findPlatformProblem({ node: "24.0.0" })).toBeNull();
  expect(findPlatformProblem({ node: "26.10.0" })).toBeNull();
  expect(findPlatformProblem({ node: "26.3.0", bun: "1.4.0" })).toBeNull();
  expect(findPlatformProblem({ node: "26.3.0", bun: "2.0.1" })).toBeNull();
});

test("an older platform is named together with the platforms that are supported", () => {
  expect(findPlatformProblem({ node: "22.18.0" })).toBe(
    "Reeve needs Node 24 or Bun 1.4, or a newer one; this is Node 22.18.0",
  );
  expect(findPlatformProblem({ node: "24.3.0", bun: "1.3.9" })).toBe(
    "Reeve needs Node 24 or Bun 1.4, or a newer one; this is Bun 1.3.9",
  );
});
