import { type ReactNode, useState } from "react";

const languages = ["TypeScript", "curl", "CLI"] as const;
type Language = (typeof languages)[number];

/** The limits of a tree that is started here. */
export interface PlayLimits {
  readonly maxCostUsd: number;
  readonly maxAgents: number;
  /** At the limit: land with what there is, or wait for a top-up. */
  readonly onLimit: "land" | "wait";
}

interface Start {
  readonly agent: string;
  readonly text: string;
  readonly limits: PlayLimits;
}

/** Quotes a text for a shell. */
const quote = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

const writers: Readonly<Record<Language, (start: Start) => string>> = {
  TypeScript: ({ agent, text, limits }) =>
    [
      `const run = await runtime.start(${agent},`,
      `  ${JSON.stringify(text)},`,
      `  { budget: { maxCostUsd: ${limits.maxCostUsd}${limits.onLimit === "wait" ? ', onLimit: "wait"' : ""} },`,
      `    spawn: { maxAgents: ${limits.maxAgents} } });`,
      "",
      "for await (const event of run.events())",
      "  console.log(event.seq, event.agent, event.type);",
    ].join("\n"),
  curl: ({ agent, text, limits }) => {
    const { maxAgents, ...budget } = limits;
    const body = { agent, input: text, budget, spawn: { maxAgents } };
    return [
      `curl ${location.origin}/runs \\`,
      "  -H 'content-type: application/json' \\",
      `  -d ${quote(JSON.stringify(body))}`,
    ].join("\n");
  },
  CLI: ({ agent, text, limits }) =>
    `npx reeve run ${agent} ${quote(text)} \\\n  --max-cost ${limits.maxCostUsd} --max-agents ${limits.maxAgents}`,
};

/** The same start as code, filled in. */
export function SameFromCode(start: Start): ReactNode {
  const [language, setLanguage] = useState<Language>("TypeScript");
  return (
    <section className="sec">
      <h2 className="line">
        The same from code
        <span className="right languages">
          {languages.map((each) => (
            <button
              key={each}
              type="button"
              aria-pressed={each === language}
              onClick={() => setLanguage(each)}
            >
              {each}
            </button>
          ))}
        </span>
      </h2>
      <pre className="code" tabIndex={0} aria-label={`The start in ${language}`}>
        {writers[language](start)}
      </pre>
    </section>
  );
}
