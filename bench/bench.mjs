// node bench/bench.mjs [--peers bare,pi,ai,ours] [--workloads W1,W2] [--rounds 9] [--ms 250] [--out results.json]
//
// Two protocols, in the same rounds:
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
    out: { type: "string" },
  },
});
const peers = values.peers.split(",");
const workloads = values.workloads.split(",");
const rounds = Number(values.rounds);
const batchMs = Number(values.ms);
const protocols = ["as it runs", "collected"];

/** Starts a row's process. It is idle while other rows run. */
function start(peer) {
  const path = fileURLToPath(new URL("worker.mjs", import.meta.url));
  const child = fork(path, [peer], {
    execArgv: ["--expose-gc"],
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

async function batch(peer, workload, times, collects = false) {
  const reply = await processes[peer].ask({ command: "run", workload, times, collects });
  if (!reply.isDone) throw new Error(`${peer} ${workload}: ${reply.error ?? "has not done its work"}`);
  return reply;
}

/** Returns how often a workload fits into a batch, and warms it up. */
async function calibrate(peer, workload) {
  let times = 1;
  for (;;) {
    const ms = (await batch(peer, workload, times)).wallUs / 1000;
    if (ms > batchMs / 2) break;
    const wanted = Math.floor((times * batchMs) / 2 / Math.max(ms, 0.05));
    times = Math.max(times * 2, Math.min(times * 10, wanted));
  }
  const { wallUs } = await batch(peer, workload, times);
  return Math.max(2, Math.round((times * batchMs) / (wallUs / 1000)));
}

const processes = {};
for (const peer of peers) {
  processes[peer] = start(peer);
  const { error } = await processes[peer].next();
  if (error) throw new Error(error);
}

const times = {};
for (const workload of workloads) {
  for (const peer of peers) times[`${peer} ${workload}`] = await calibrate(peer, workload);
}

// Interleaved in random order, so that disturbances of the machine affect all rows equally.
const samples = {};
for (let round = 0; round < rounds; round++) {
  for (const workload of workloads) {
    for (let index = 0; index < peers.length; index++) {
      const peer = peers[(index + round) % peers.length];
      const count = times[`${peer} ${workload}`];
      for (const protocol of protocols) {
        const { wallUs, cpuUs } = await batch(peer, workload, count, protocol === "collected");
        (samples[`${protocol} ${peer} ${workload}`] ??= []).push({
          wall: wallUs / count,
          cpu: cpuUs / count,
        });
      }
    }
  }
}
for (const peer of peers) processes[peer].stop();

const of = (protocol, peer, workload, what) =>
  samples[`${protocol} ${peer} ${workload}`].map((sample) => sample[what]);

/** The median of the ratios of neighbours in time. */
const ratio = (protocol, peer, base, workload, what) => {
  const bases = of(protocol, base, workload, what);
  return median(of(protocol, peer, workload, what).map((value, index) => value / bases[index]));
};

console.log(`node ${process.version}, ${rounds} rounds, batches of ${batchMs} ms`);
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
