/** The versions of a JavaScript platform, as `process.versions` holds them. */
export interface PlatformVersions {
  readonly node?: string | undefined;
  /** Absent: the platform is not Bun. */
  readonly bun?: string | undefined;
}

/** The lowest versions that are supported and tested. */
const lowest = { Node: "24", Bun: "1.4" } as const;

/** Returns the reason why Reeve does not support a platform, with the required one. Null if supported. */
export function findPlatformProblem({ node = "", bun }: PlatformVersions): string | null {
  const [name, version] = bun === undefined ? (["Node", node] as const) : (["Bun", bun] as const);
  if (isAtLeast(version, lowest[name])) return null;
  return `Reeve needs Node ${lowest.Node} or Bun ${lowest.Bun}, or a newer one; this is ${name} ${version}`;
}

function isAtLeast(version: string, wanted: string): boolean {
  const given = version.split(".").map(Number);
  for (const [index, part] of wanted.split(".").map(Number).entries()) {
    const difference = (given[index] ?? 0) - part;
    if (difference !== 0) return difference > 0;
  }
  return true;
}
