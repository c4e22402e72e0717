import type { ReactNode } from "react";
import { Link } from "wouter";
import type { StepFigures, TreeView } from "#view";
import { errorText } from "../../api/http.ts";
import { useLock } from "../../api/session.tsx";
import { type PartRecord, useStep, useSteps } from "../../api/steps.ts";
import { InertText } from "../../parts/inert-text.tsx";
import { KeyBar } from "../../parts/key-bar.tsx";
import { Empty, Failure, Skeleton } from "../../parts/states.tsx";
import { blocksOf, ContentBlocks, messageText, toolNames } from "../../step/content-blocks.tsx";
import { isOwnCall, stepName, stepPath } from "../../step/step-names.ts";
import { useRowList } from "./row-list.ts";

/** The conversation of the root: its last prompt and its answer, as that call saw them. */
export function ConversationTab({ tree }: { readonly tree: TreeView }): ReactNode {
  const { steps, error } = useSteps({ run: tree.root.runId, own: true });
  useRowList(tree.treeId, 0, () => undefined);
  const last = steps?.findLast((step) => isOwnCall(step) && step.state !== "running") ?? null;
  if (!steps)
    return error ? (
      <Failure title="The conversation cannot be read" detail={errorText(error)} />
    ) : (
      <Skeleton label="Conversation" />
    );
  return (
    <>
      <div className="tab-scroll talk-scroll">
        {last ? (
          <Talk step={last} agent={tree.root.agent} />
        ) : (
          <Nothing reason="No model call of the root has ended." />
        )}
      </div>
      <KeyBar keys={[["⌫", "back to the tree"]]} />
    </>
  );
}

function Nothing({ reason }: { readonly reason: string }): ReactNode {
  return (
    <Empty title="Nothing to show">
      <p>{reason}</p>
    </Empty>
  );
}

function Talk({ step, agent }: { readonly step: StepFigures; readonly agent: string }): ReactNode {
  const lock = useLock("content");
  const { data, error } = useStep(step, null);
  if (error) return <Failure title="The conversation cannot be read" detail={errorText(error)} />;
  if (lock !== null) return <Nothing reason={`${lock}. The conversation is locked.`} />;
  if (!data) return <Skeleton label="Conversation" />;
  if (data.content === "erased") return <Nothing reason="[erased] The tree's key was destroyed." />;
  if (data.content === "not-recorded") return <Nothing reason="[not recorded] The call was not recorded." />;
  const said = [...data.prompt, ...data.answer].filter(({ role }) => role !== "system" && role !== "tools");
  return (
    <>
      <p className="sub">
        As <Link href={stepPath(step)}>{stepName(step)}</Link> saw it, and its answer.
      </p>
      {said.map((part, index) => (
        // oxlint-disable-next-line react/no-array-index-key -- messages are known by their place
        <Message key={index} part={part} agent={agent} />
      ))}
    </>
  );
}

function Message({ part, agent }: { readonly part: PartRecord; readonly agent: string }): ReactNode {
  const { role, content, from, missing } = part;
  const who = role === "assistant" ? agent : role === "user" ? (from?.name ?? "user") : role;
  const calls = toolNames(content, "tool-call");
  const results = toolNames(content, "tool-result");
  const isText = role === "user" || (role === "assistant" && messageText(content) !== "");
  return (
    <article className={`said ${role}`}>
      <header>
        <InertText text={who} />
        {from?.kind === "steer" && " steered"}
        {from?.kind === "followUp" && " followed up"}
      </header>
      {missing && <p className="absent">[{missing}]</p>}
      {!missing && isText && <ContentBlocks blocks={blocksOf(content).filter((block) => !isCall(block))} />}
      {[...calls.map((name) => `→ ${name}`), ...results.map((name) => `← ${name}`)].map((text, index) => (
        // oxlint-disable-next-line react/no-array-index-key -- a tool may be called twice
        <span key={index} className="pill">
          <InertText text={text} />
        </span>
      ))}
    </article>
  );
}

const isCall = (block: unknown): boolean =>
  typeof block === "object" && block !== null && Reflect.get(block, "type") === "tool-call";
