import { lateScreen } from "../parts/late-screen.tsx";

/** The screen of one tree. The list of runs loads its code, so a run opens with one request. */
export const runScreen = lateScreen("Run", async () => (await import("./run-screen.tsx")).RunScreen);
