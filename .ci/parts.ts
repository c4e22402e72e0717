/** A part of a script: one command. */
export interface Part {
  readonly name: string;
  readonly command: string;
  /** Parts that must have passed before. Default: none. */
  readonly after?: readonly string[];
  /** Cores that it keeps busy: parts run beside each other while there are enough. */
  readonly cores: number;
}

/** The name of a script: `.ci/run` or `.ci/full`. */
export type Script = "run" | "full";

/** The projects of vitest: `REEVE_TESTS` selects one. */
export const projects = ["unit", "engine", "stores", "browser", "package"] as const;

/** A project of vitest. */
export type Project = (typeof projects)[number];

/** The files of a project that a script runs. Those named `*.full.test.ts` are only for `.ci/full`. */
export function testFiles(
  project: Project,
  script: Script,
): { readonly include: readonly string[]; readonly exclude: readonly string[] } {
  const filesOf = (name: Project): readonly string[] => [
    `test/**/*.${name}.test.ts`,
    `test/**/*.${name}.full.test.ts`,
  ];
  const others = projects.filter((name) => name !== "unit").flatMap(filesOf);
  const forFull = script === "full" ? [] : ["test/**/*.full.test.ts"];
  return project === "unit"
    ? { include: ["test/**/*.test.ts"], exclude: [...others, ...forFull] }
    : { include: filesOf(project), exclude: forFull };
}

const vitest = (project: Project): string => `REEVE_TESTS=${project} npx vitest run`;

const checks: readonly Part[] = [
  { name: "build", command: "npm run build", cores: 1 },
  // It follows imports of the package into what the build writes.
  { name: "lint", command: "npm run lint", after: ["build"], cores: 1 },
  { name: "types", command: "npm run typecheck", cores: 1 },
  { name: "pack", command: "npm run pack:check", after: ["build"], cores: 1 },
];

/** Seeds follow from the commit, so that what is tried adds up over many changes. */
const seed = Number.parseInt((process.env["REEVE_SEED"] ?? "1").slice(0, 6), 16);

/** The parts of each script, in the order in which they start. Both together hold every test. */
export const scripts: Readonly<Record<Script, readonly Part[]>> = {
  run: [
    ...checks,
    { name: "simulate", command: `npm run simulate -- --seeds 1500 --from ${seed}`, cores: 2 },
    { name: "engine", command: vitest("engine"), cores: 1 },
    { name: "unit", command: vitest("unit"), cores: 1 },
    { name: "package", command: vitest("package"), after: ["build"], cores: 1 },
    { name: "stores", command: vitest("stores"), cores: 1 },
    { name: "browser", command: vitest("browser"), after: ["build"], cores: 1 },
    {
      name: "chaos",
      command: `npm run chaos -- --runs 60 --seed ${seed} --busy --no-directed --planted none`,
      cores: 2,
    },
  ],
  full: [
    ...checks,
    { name: "unit", command: vitest("unit"), cores: 2 },
    { name: "package", command: vitest("package"), after: ["build"], cores: 2 },
    { name: "simulate", command: `npm run simulate -- --seeds 20000 --from ${seed}`, cores: 2 },
    { name: "engine", command: vitest("engine"), cores: 2 },
    { name: "stores", command: vitest("stores"), cores: 2 },
    { name: "browser", command: vitest("browser"), after: ["build"], cores: 2 },
    { name: "chaos", command: `npm run chaos -- --runs 500 --seed ${seed}`, cores: 2 },
  ],
};
