import { onTestFinished } from "vitest";

/** What a test has opened ends with it. */
export function closing<Opened extends AsyncDisposable>(opened: Opened): Opened {
  onTestFinished(async () => {
    await opened[Symbol.asyncDispose]();
  });
  return opened;
}
