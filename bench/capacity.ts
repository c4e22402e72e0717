// Computes what a number of live agents needs from the measured cost of single operations.
// node --conditions=reeve-source bench/capacity.ts prints the tables of docs/guide/capacity.md.

/** A measured figure and its published source; a test checks that the source still states it. */
export interface Unit {
  readonly value: number;
  readonly source: string;
  readonly says: string;
}

/** The cost of single operations. Milliseconds are CPU of one core, sizes are bytes. */
export const units = {
  /** A cycle of an `agent()` with one tool call, worker and server together. */
  cycleMs: { value: 13.3, source: "docs/reliability.md", says: "13.3 ms" },
  /** One of the other calls of a run: open and end. */
  callMs: { value: 5, source: "docs/performance.md", says: "about 5 ms of CPU" },
  /** The gate of one tree: one call after the other. */
  gateMs: { value: 6.9, source: "docs/performance.md", says: "6.94 ms" },
  /** Heap of a run in a worker's memory. */
  liveHeap: { value: 31_700, source: "docs/performance.md", says: "31.7 kB" },
  /** Heap of 3,000 runs that wait and have left it. */
  parkedHeap: { value: 4_100_000, source: "docs/reliability.md", says: "4.1 MB" },
  /** Events appended a second by one writer, one at a time. */
  appendsPerS: { value: 570, source: "docs/decisions/0015-stores.md", says: "570" },
  eventBytes: { value: 775, source: "docs/performance.md", says: "775 bytes" },
  /** Content and audit of a model call. */
  callBytes: { value: 2_900, source: "docs/performance.md", says: "2,900 bytes" },
  runBytes: { value: 9_800, source: "docs/performance.md", says: "9,800 bytes" },
  /** Per step of a run that has not ended. */
  stepBytes: { value: 23_500, source: "docs/performance.md", says: "23,500 bytes" },
} as const satisfies Record<string, Unit>;

/** The behaviour of agents. */
export interface Profile {
  readonly name: string;
  /** Seconds from one cycle to the next: the model, the tool, and waiting. */
  readonly secondsPerCycle: number;
  readonly cyclesPerRun: number;
  /** The part of them that is in a worker's memory: at work, or waiting for less than a minute. */
  readonly inMemory: number;
}

export const profiles: readonly Profile[] = [
  { name: "busy", secondsPerCycle: 30, cyclesPerRun: 20, inMemory: 1 },
  { name: "patient", secondsPerCycle: 600, cyclesPerRun: 20, inMemory: 0.1 },
];

export const sizes = [1_000, 100_000, 1_000_000] as const;

/** No core is planned to be busier than this. */
const utilisation = 0.6;
/** A cycle with one tool: cycle 2, model 4, tool 2. */
const eventsPerCycle = 8;
/** A cycle's events reach the store in about two appends: when the model has been asked, and when the cycle is over. */
const appendsPerCycle = 2;
const callsPerRun = 2;
const stepsPerCycle = 2;
const parkedInMeasure = 3_000;
const secondsPerDay = 86_400;

/** The resources for a number of live agents. */
export interface Need {
  readonly agents: number;
  readonly cyclesPerS: number;
  /** Cores of workers and Restate together. */
  readonly cores: number;
  /** Heap of all workers. */
  readonly heapBytes: number;
  readonly eventsPerS: number;
  /** Connections that write at once, at the speed of one. */
  readonly writers: number;
  readonly storeBytesPerDay: number;
  /** Journals of runs that are not over, half way on average. */
  readonly restateBytes: number;
}

export function need(agents: number, { secondsPerCycle, cyclesPerRun, inMemory }: Profile): Need {
  const cyclesPerS = agents / secondsPerCycle;
  const runsPerS = cyclesPerS / cyclesPerRun;
  const cpuMsPerS = cyclesPerS * units.cycleMs.value + runsPerS * callsPerRun * units.callMs.value;
  const eventsPerS = cyclesPerS * eventsPerCycle;
  const storeBytesPerS =
    eventsPerS * units.eventBytes.value +
    cyclesPerS * units.callBytes.value +
    runsPerS * units.runBytes.value;
  const parkedBytes = units.parkedHeap.value / parkedInMeasure;
  return {
    agents,
    cyclesPerS,
    cores: cpuMsPerS / 1000 / utilisation,
    heapBytes: agents * (inMemory * units.liveHeap.value + (1 - inMemory) * parkedBytes),
    eventsPerS,
    writers: (cyclesPerS * appendsPerCycle) / units.appendsPerS.value / utilisation,
    storeBytesPerDay: secondsPerDay * storeBytesPerS,
    restateBytes: (agents * cyclesPerRun * stepsPerCycle * units.stepBytes.value) / 2,
  };
}

/** Agents of one tree that can work at once: its gate handles model calls in sequence. */
export const agentsPerTree = ({ secondsPerCycle }: Profile): number =>
  Math.floor((secondsPerCycle * 1000 * utilisation) / units.gateMs.value);

const amounts = new Intl.NumberFormat("en", { maximumSignificantDigits: 2 });

function bytes(amount: number): string {
  const step = Math.min(4, Math.floor(Math.log10(amount) / 3));
  return `${amounts.format(amount / 1000 ** step)} ${["B", "kB", "MB", "GB", "TB"][step]}`;
}

/** The table of a profile, in Markdown. */
export function tableOf(profile: Profile): string {
  const needs = sizes.map((agents) => need(agents, profile));
  const row = (name: string, show: (given: Need) => string): string =>
    `| ${[name, ...needs.map(show)].join(" | ")} |`;
  return [
    row(profile.name, ({ agents }) => `${agents.toLocaleString("en")} agents`),
    `| ${["---", ...needs.map(() => "---")].join(" | ")} |`,
    row("cycles/s", ({ cyclesPerS }) => amounts.format(cyclesPerS)),
    row("cores, workers and Restate together", ({ cores }) => amounts.format(Math.ceil(cores * 10) / 10)),
    row("heap of all workers", ({ heapBytes }) => bytes(heapBytes)),
    row("events/s into PostgreSQL", ({ eventsPerS }) => amounts.format(eventsPerS)),
    row("writers that this keeps busy", ({ writers }) => String(Math.ceil(writers))),
    row("PostgreSQL, a day", ({ storeBytesPerDay }) => bytes(storeBytesPerDay)),
    row("Restate's disk, at most", ({ restateBytes }) => bytes(restateBytes)),
  ].join("\n");
}

if (import.meta.main) {
  for (const profile of profiles) {
    console.log(`${tableOf(profile)}\n`);
    console.log(`agents at work in one tree: ${agentsPerTree(profile).toLocaleString("en")}\n`);
  }
}
