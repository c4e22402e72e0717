import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import type { CancelReceipt, EndStatus } from "#kernel";
import { Json, type NumberedEvent, type StopReason } from "reeve";
import type { RunRecord } from "reeve/store";
import type { BillEntry, FlightEvent } from "reeve/testing";
import type { Disturbance } from "./faults.ts";
import type { JournalEntry } from "./witness/journal.ts";
import type { Effect } from "./witness/effect-sink.ts";
import type { TraceLine } from "./witness/marked-engine.ts";
import type { TreePlan } from "./workload/plan.ts";

/** The end of a tree's root. */
export interface TreeEnd {
  readonly status: EndStatus;
  readonly stopReason: StopReason;
  readonly costMicros: number;
  readonly inDoubtMicros: number;
}

/** Tokens and money. */
export interface Amounts {
  readonly tokens: number;
  readonly costMicros: number;
}

/** The ledger of a tree after all have ended. */
export interface LedgerEnd {
  readonly settled: Amounts;
  readonly reserved: Amounts;
  readonly inDoubt: Amounts;
  /** The runs that still hold a place. */
  readonly slots: readonly string[];
}

/** A cancel that was accepted. */
export interface CancelHistory {
  readonly run: string;
  readonly number: number;
  readonly askedAt: number;
  /** Time at which the tree's acceptance was known. */
  readonly acceptedAt: number;
  /** Null: a descendant has not ended. */
  readonly receipt: CancelReceipt | null;
}

/** One tree, as seen by external clients. */
export interface TreeHistory {
  readonly plan: TreePlan;
  /** Null: it has not ended. */
  readonly end: TreeEnd | null;
  /** Asked again when all was quiet. */
  readonly endAgain: TreeEnd | null;
  /** As received by the first subscriber, and by a second one that reconnected. */
  readonly events: readonly NumberedEvent[];
  readonly eventsAgain: readonly NumberedEvent[];
  readonly ledger: LedgerEnd;
  /** As listed by the store. */
  readonly runs: readonly RunRecord[];
  readonly cancel: CancelHistory | null;
  /** Its model steps, as they can be built again. */
  readonly steps: readonly StepHistory[];
}

/** A model step as it can be rebuilt. */
export interface StepHistory {
  readonly id: string;
  readonly at: number;
  readonly content: "recorded" | "erased" | "not-recorded";
  readonly isEqual: boolean;
  /** Whether its run is permanent: content of other runs is erased. */
  readonly isPermanent: boolean;
}

/** Findings of a search in files that must hold no content. */
export interface Scan {
  /** Words that were readable in a file. */
  readonly leaks: readonly { readonly word: string; readonly file: string }[];
  /** Places in which permitted names were found: a search that finds none there does not work. */
  readonly seen: readonly string[];
  /** The places it looked at. */
  readonly places: readonly string[];
}

/** The audit of one tenant. */
export interface AuditHistory {
  readonly tenant: string;
  /** Null: the chain is whole. */
  readonly fault: string | null;
  /** The sources of its links. */
  readonly sources: readonly string[];
}

/** One conversation that trees took turns in. */
export interface ConversationHistory {
  readonly tenant: string;
  readonly session: string;
  readonly leaf: string | null;
  readonly entries: readonly {
    readonly id: string;
    readonly parentId: string | null;
    readonly branch: string | null;
    /** Whether a model produced it. */
    readonly isAnswer: boolean;
    /** Whether it has that label. */
    readonly isUntrusted: boolean;
  }[];
}

/** Milliseconds that the machine had lost at a time: its host withheld processors or disk. */
export interface Loss {
  readonly at: number;
  readonly ms: number;
}

/** Rows of a tree that the database has under a tenant. */
export interface RowCount {
  readonly table: string;
  readonly tenant: string;
  readonly tree: string;
  readonly count: number;
}

/**
 * The observations of three witnesses of a campaign: the provider (A), engine and store (B), and the sink of effects
 * (C).
 */
export interface History {
  readonly seed: string;
  /** Whether the machine may have been busy with something else: then nothing is held to seconds. */
  readonly isMachineBusy: boolean;
  readonly trees: readonly TreeHistory[];
  readonly bill: readonly BillEntry[];
  readonly flight: readonly FlightEvent[];
  readonly effects: readonly Effect[];
  readonly journal: readonly JournalEntry[];
  readonly traces: readonly TraceLine[];
  readonly disturbances: readonly Disturbance[];
  /** Samples of the time that the machine had lost since the campaign began, oldest first. */
  readonly losses: readonly Loss[];
  /** Errors of runs in the workers' logs. */
  readonly divergences: readonly string[];
  /** Executions that Restate has paused for inspection. */
  readonly stopped: readonly string[];
  readonly audits: readonly AuditHistory[];
  readonly conversations: readonly ConversationHistory[];
  readonly rows: readonly RowCount[];
  readonly scan: Scan;
}

/** Writes a history for inspection: one file per witness, one line per entry. */
export async function keep(history: History, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const [witness, found] of Object.entries(history)) {
    const entries: readonly unknown[] = Array.isArray(found) ? found : [found];
    const lines = entries.map((entry) => `${JSON.stringify(entry)}\n`);
    await writeFile(join(folder, `${witness}.jsonl`), lines.join(""));
  }
}

/** Reads a history that was kept, so that a corrected predicate can be asked again. */
export async function readKept(folder: string): Promise<History> {
  const history: Record<string, unknown> = {};
  for (const file of await readdir(folder)) {
    const witness = basename(file, ".jsonl");
    const lines = (await readFile(join(folder, file), "utf8")).split("\n").filter((line) => line !== "");
    const entries = lines.map((line): unknown => JSON.parse(line));
    history[witness] = ["seed", "scan", "isMachineBusy"].includes(witness) ? entries[0] : entries;
  }
  return Json.as<History>(Json.of(history));
}
