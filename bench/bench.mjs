// node bench/bench.mjs [--peers bare,pi,ai,ours] [--workloads W1,W2] [--rounds 9] [--ms 250] [--warm 2000] [--out results.json]
//
// Two protocols, in the same rounds, each in its own process:
//   as it runs   nothing is collected by force: what a process pays that goes on working
//   collected    a full collection before each batch. It throws optimised code away that no live object holds, so the
//                first runs of a batch are slow: what a process pays that was idle
import { fork } from "node:child_process";
import fs from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { median, table } from "./figures.mjs";

const { values } = parseArgs({
  options: {
    peers: { type: "string", default: "bare,pi,ai,ours" },
    workloads: { type: "string", default: "W1,W2,W3,W4,W5,W6" },
    rounds: { type: "string", default: "9" },
    ms: { type: "string", default: "250" },
    warm: { type: "string", default: "2000" },
    out: { type: "string" },
  },
});
const peers = values.peers.split(",");
const workloads = values.workloads.split(",");
const rounds = Number(values.rounds);
const batchMs = Number(values.ms);
const warmMs = Number(values.warm);
const protocols = ["as it runs", "collected"];

/** Starts the process of a row and a protocol. It is idle while others run. */
function start(protocol, peer) {
  const path = fileURLToPath(new URL("worker.mjs", import.meta.url));
  const child = fork(path, [peer], {
    execArgv: protocol === "collected" ? ["--expose-gc"] : [],
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  let answer;
  child.on("message", (message) => answer?.(message));
  child.on("exit", (code) => answer?.({ error: `${peer} exited with ${code}` }));
  const next = () => new Promise((resolve) => (answer = resolve));
  return {
    next,
    ask: async (message) => {
      const reply = next();
      child.send(message);
      return reply;
    },
    stop: () => child.kill(),
  };
}

async function batch(protocol, peer, workload, times, collects = false) {
  const reply = await processes[`${protocol} ${peer}`].ask({ command: "run", workload, times, collects });
  if (!reply.isDone) throw new Error(`${peer} ${workload}: ${reply.error ?? "has not done its work"}`);
  return reply;
}

/** Runs a workload until it is warm, and returns how often it fits into a batch. */
async function warmUp(protocol, peer, workload) {
  let times = 1;
  let warmedMs = 0;
  for (;;) {
    const ms = (await batch(protocol, peer, workload, times)).wallUs / 1000;
    warmedMs += ms;
    const fitting = Math.max(2, Math.round((times * batchMs) / Math.max(ms, 0.05)));
    if (ms > batchMs / 2 && warmedMs >= warmMs) return fitting;
    times = Math.min(times * 10, fitting);
  }
}

const processes = {};
for (const protocol of protocols) {
  for (const peer of peers) {
    const child = (processes[`${protocol} ${peer}`] = start(protocol, peer));
    const { error } = await child.next();
    if (error) throw new Error(error);
  }
}

// Rounds rotate the rows, so that disturbances of the machine affect all of them equally.
const samples = {};
for (const workload of workloads) {
  const times = {};
  for (const protocol of protocols) {
    for (const peer of peers) times[`${protocol} ${peer}`] = await warmUp(protocol, peer, workload);
  }
  for (let round = 0; round < rounds; round++) {
    for (const protocol of protocols) {
      for (let index = 0; index < peers.length; index++) {
        const peer = peers[(index + round) % peers.length];
        const count = times[`${protocol} ${peer}`];
        const { wallUs, cpuUs } = await batch(protocol, peer, workload, count, protocol === "collected");
        (samples[`${protocol} ${peer} ${workload}`] ??= []).push({
          wall: wallUs / count,
          cpu: cpuUs / count,
        });
      }
    }
  }
}
for (const child of Object.values(processes)) child.stop();

const of = (protocol, peer, workload, what) =>
  samples[`${protocol} ${peer} ${workload}`].map((sample) => sample[what]);

/** The median of the ratios of neighbours in time. */
const ratio = (protocol, peer, base, workload, what) => {
  const bases = of(protocol, base, workload, what);
  return median(of(protocol, peer, workload, what).map((value, index) => value / bases[index]));
};

console.log(
  `node ${process.version}, ${rounds} rounds, batches of ${batchMs} ms after ${warmMs} ms of the same`,
);
for (const protocol of protocols) {
  console.log(`\n## ${protocol}\n\nleast CPU of one run in µs`);
  console.log(table(peers, workloads, (peer, each) => Math.min(...of(protocol, peer, each, "cpu"))));
  // On a shared machine only CPU time can be compared: wall time depends on other programs.
  for (const what of ["wall", "cpu"]) {
    for (const base of ["bare", "pi", "ai"].filter((each) => peers.includes(each))) {
      console.log(`\n× ${base}, ${what}`);
      console.log(table(peers, workloads, (peer, each) => ratio(protocol, peer, base, each, what)));
    }
  }
}
if (values.out) fs.writeFileSync(values.out, JSON.stringify({ node: process.version, rounds, samples }));
