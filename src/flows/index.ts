export type { Flow, FlowStep } from "./flow.ts";
export { map, parallel, type MapOptions, type ParallelOptions } from "./parallel.ts";
export { branch, loop, sequence, type LoopOptions } from "./sequence.ts";
