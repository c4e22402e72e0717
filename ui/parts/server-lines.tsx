import { type ReactNode, useEffect } from "react";
import { useServerStatus } from "../live/connection.ts";
import { span } from "./amounts.ts";
import { announceNow } from "./announcer.tsx";
import { StatusMark } from "./status-mark.tsx";
import { useNow } from "./use-now.ts";

/** The store is behind from here on. */
const behindMs = 5_000;
/** A worker that restarts is away for a moment. */
const noWorkerMs = 10_000;

/** Messages at the top while the server has a problem. The rest of the page remains. */
export function ServerLines(): ReactNode {
  const now = useNow();
  const { lostSince, isStoreGone, lagMs, failedWrites, reducedTrees, noWorkerSince } = useServerStatus();
  const isLost = lostSince !== null;
  // Announced once: the text itself changes every second.
  useEffect(() => {
    if (isLost) announceNow("The server does not answer");
  }, [isLost]);
  useEffect(() => {
    if (isStoreGone) announceNow("The store does not answer");
  }, [isStoreGone]);
  // Without its store a server ends the stream, but still answers: the store is the reason to show.
  if (isStoreGone)
    return (
      <Line title="The store does not answer: nothing new can be read.">
        Check the server&apos;s database. The page retries automatically.
      </Line>
    );
  if (lostSince !== null)
    return (
      <Line title={`The server has not answered for ${span(now - lostSince)}.`}>
        Runs continue. The page reconnects automatically.
      </Line>
    );
  return (
    <>
      {lagMs !== null && lagMs > behindMs && (
        <Line title={`The store is ${span(lagMs)} behind.`}>
          The page shows an older state.{" "}
          {failedWrites
            ? `The last ${failedWrites} tries to write to it have failed: the log of its worker has the reason.`
            : "If this persists, check the database's load."}
        </Line>
      )}
      {reducedTrees !== null && reducedTrees > 0 && (
        <Line
          title={`The store rejected values of ${reducedTrees} ${reducedTrees === 1 ? "tree" : "trees"}.`}
        >
          They are stored in reduced form, without names and content. The log of the worker has the reason.
        </Line>
      )}
      {noWorkerSince !== null && now - noWorkerSince > noWorkerMs && (
        <Line title="No worker is connected: runs wait until one starts.">
          Run <code className="cmd">npx reeve dev</code>, or start a worker.
        </Line>
      )}
    </>
  );
}

function Line({ title, children }: { readonly title: string; readonly children: ReactNode }): ReactNode {
  return (
    <div className="lost">
      <StatusMark status="paused" markOnly />
      <div>
        <b>{title}</b> {children}
      </div>
    </div>
  );
}
