import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { CancelReceipt, EndStatus } from "#kernel";
import type { NumberedEvent, StopReason } from "reeve";
import type { RunRecord } from "reeve/store";
import type { BillEntry, FlightEvent } from "reeve/testing";
import type { Disturbance } from "./faults.ts";
import type { JournalEntry } from "./witness/journal.ts";
import type { Effect } from "./witness/effect-sink.ts";
import type { TraceLine } from "./witness/marked-engine.ts";
import type { TreePlan } from "./workload/plan.ts";

/** How a tree's root ended. */
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

/** What the ledger of a tree says when all is quiet. */
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
  /** When it was known that the tree had said yes. */
  readonly acceptedAt: number;
  /** Null: somebody below it has not ended. */
  readonly receipt: CancelReceipt | null;
}

/** One tree, as those outside saw it. */
export interface TreeHistory {
  readonly plan: TreePlan;
  /** Null: it has not ended. */
  readonly end: TreeEnd | null;
  /** Asked again when all was quiet. */
  readonly endAgain: TreeEnd | null;
  /** As the first subscriber got them, and as a second one did who came and went. */
  readonly events: readonly NumberedEvent[];
  readonly eventsAgain: readonly NumberedEvent[];
  readonly ledger: LedgerEnd;
  /** As the store lists it. */
  readonly runs: readonly RunRecord[];
  readonly cancel: CancelHistory | null;
  /** Its model steps, as they can be built again. */
  readonly steps: readonly StepHistory[];
}

/** A model step as it can be built again. */
export interface StepHistory {
  readonly id: string;
  readonly at: number;
  readonly content: "recorded" | "erased" | "not-recorded";
  readonly isEqual: boolean;
  /** Whether its run is permanent: the content of others is erased. */
  readonly isPermanent: boolean;
}

/** What was found where nothing may be. */
export interface Scan {
  /** Words that stood readable in a file. */
  readonly leaks: readonly { readonly word: string; readonly file: string }[];
  /** The places in which names that may be read were found: a search that finds nothing there is blind. */
  readonly seen: readonly string[];
  /** The places it looked at. */
  readonly places: readonly string[];
}

/** What one tenant's audit says. */
export interface AuditHistory {
  readonly tenant: string;
  /** Null: the chain is whole. */
  readonly fault: string | null;
  /** What its links tell of. */
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
    /** Whether a model said it. */
    readonly isAnswer: boolean;
    /** Whether it has that label. */
    readonly isUntrusted: boolean;
  }[];
}

/** The milliseconds that the machine had lost at a time: its host kept it from its processors or its disk. */
export interface Loss {
  readonly at: number;
  readonly ms: number;
}

/** How many rows of a tree the database has under a tenant. */
export interface RowCount {
  readonly table: string;
  readonly tenant: string;
  readonly tree: string;
  readonly count: number;
}

/** What three witnesses saw of a campaign: the provider (A), engine and store (B), and the sink of effects (C). */
export interface History {
  readonly seed: string;
  readonly trees: readonly TreeHistory[];
  readonly bill: readonly BillEntry[];
  readonly flight: readonly FlightEvent[];
  readonly effects: readonly Effect[];
  readonly journal: readonly JournalEntry[];
  readonly traces: readonly TraceLine[];
  readonly disturbances: readonly Disturbance[];
  /** How much time the machine had lost since the campaign began, again and again, oldest first. */
  readonly losses: readonly Loss[];
  /** What workers logged as an error of a run. */
  readonly divergences: readonly string[];
  /** Executions that Restate has stopped for people to look at. */
  readonly stopped: readonly string[];
  readonly audits: readonly AuditHistory[];
  readonly conversations: readonly ConversationHistory[];
  readonly rows: readonly RowCount[];
  readonly scan: Scan;
}

/** Keeps a history for people to look at: one file for each witness, one line for each entry. */
export async function keep(history: History, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const { seed: _, scan, ...lists } = history;
  for (const [name, entries] of Object.entries({ ...lists, leaks: scan.leaks }))
    await writeFile(
      join(folder, `${name}.jsonl`),
      entries.map((entry: unknown) => `${JSON.stringify(entry)}\n`).join(""),
    );
}
