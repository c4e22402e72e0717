import { onTestFinished } from "vitest";

/** Closes an opened resource at the end of the test. */
export function closing<Opened extends AsyncDisposable>(opened: Opened): Opened {
  onTestFinished(async () => {
    await opened[Symbol.asyncDispose]();
  });
  return opened;
}
