import type { FileBlock, Input, InputLimits } from "#kernel";
import { checkInput, inputKey, inputPrint, keepFiles, toInlineBlocks, toInputParts } from "#tree";
import type { InputParts, NameContent } from "#tree";
import { runJournaled, placeStep, type StepServices } from "./step.ts";

/** An input on its way to another run. */
export interface KeptInput {
  /** A promise if a step must put files into the content port first. */
  readonly parts: InputParts | Promise<InputParts>;
  /** The fingerprint of the input. */
  readonly print: string;
}

/** Checks an input, and puts its large files into the content port. @throws InvalidInputError, TooLargeError */
export type KeepInput = (input: Input) => KeptInput;

/** The services for checking and naming an input. */
export interface InputOptions {
  readonly inputLimits: InputLimits | undefined;
  readonly nameContent: NameContent;
}

/** Returns the function that prepares inputs for other runs. */
export function createKeepInput(
  services: () => StepServices,
  { inputLimits, nameContent }: InputOptions,
): KeepInput {
  return (input) => {
    const checked = checkInput(input, inputLimits);
    const print = inputPrint(checked);
    const inline = toInlineBlocks(checked.files);
    if (inline) return { parts: toInputParts(checked, inline), print };
    const keep = async (): Promise<InputParts> => {
      const { engine } = services();
      const { key } = engine.primitives.launch.tree;
      const place = placeStep(engine, "content", inputKey(checked));
      // Content is named by its bytes, so a repeated write is harmless.
      const { files } = await runJournaled<{ readonly files: readonly FileBlock[] }>(
        services(),
        place,
        async ({ call }) => ({ files: await keepFiles(checked.files, { call, nameContent, key }) }),
      );
      return toInputParts(checked, files);
    };
    return { parts: keep(), print };
  };
}
