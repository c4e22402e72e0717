import { createHash } from "node:crypto";
import type { EngineProgram } from "#kernel";
import type { HandlerSettings } from "../hosting/handler-settings.ts";

/** The identity of a worker's program. */
export interface Build {
  /** The name in the worker's address. Runs stay with the build they began on. */
  readonly name: string;
  /** Hash of the program and its Restate settings. */
  readonly program: string;
}

export function buildOf(
  program: EngineProgram,
  options: {
    readonly namespace: string;
    readonly settings: HandlerSettings;
    readonly build?: string | undefined;
  },
): Build {
  const { namespace, settings, build } = options;
  if (build !== undefined && !/^[\w.-]+$/.test(build))
    throw new TypeError(
      `invalid build ${JSON.stringify(build)}: use letters, digits, dots, dashes and underscores`,
    );
  const objects = program.objects.map(({ type, methods, queries }) => [
    type,
    Object.keys(methods),
    Object.keys(queries),
  ]);
  const sinks = program.sinks.map(({ type }) => type);
  const hash = createHash("sha256").update(
    JSON.stringify([namespace, settings, program.build, objects, sinks]),
  );
  const short = hash.digest("hex").slice(0, 12);
  return { name: build ?? short, program: short };
}

/** Returns the path of a build, below the worker's address. */
export function toBuildPath(build: string): string {
  return `/v/${build}`;
}

/** Returns the build in the address of a deployment. Null if Reeve did not register the deployment. */
export function parseBuild(uri: string): string | null {
  return /\/v\/([\w.-]+)\/?$/.exec(uri)?.[1] ?? null;
}
