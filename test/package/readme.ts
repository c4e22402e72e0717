import { readFileSync } from "node:fs";

/** A fenced block of a page. */
interface Block {
  /** Empty: plain text. */
  readonly language: string;
  readonly text: string;
}

const [screen, build, install, program, start, receipt, realModel, project, run, approve, ...rest] = blocksOf(
  readFileSync("README.md", "utf8"),
);

/** The blocks of the README, in order. An added or removed block must be listed here. */
export const readme = {
  screen: textOf(screen, ""),
  build: linesOf(build),
  install: linesOf(install),
  program: textOf(program, "ts"),
  start: linesOf(start),
  receipt: textOf(receipt, ""),
  realModel: textOf(realModel, "ts"),
  project: linesOf(project),
  run: linesOf(run),
  approve: linesOf(approve),
  rest,
};

function blocksOf(page: string): readonly Block[] {
  return [...page.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].map(([, language = "", text = ""]) => ({
    language,
    text,
  }));
}

function textOf(block: Block | undefined, language: string): string {
  if (block?.language !== language) throw new Error(`expected a block of "${language}": ${block?.text}`);
  return block.text;
}

/** The commands of a block for a shell, without their comments. */
function linesOf(block: Block | undefined): readonly string[] {
  const lines = textOf(block, "sh").split("\n");
  return lines.map((line) => line.replace(/ +#.*$/, "")).filter((line) => line !== "");
}
