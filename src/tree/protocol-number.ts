import { isJsonObject, RetryableError, type Json, type RunLaunch } from "#kernel";

/**
 * The number of the protocol between runs, trees and stored state. It is part of the build, of every launch, of every
 * call on an object and of every stored value.
 *
 * Raise it with every change of the operations that a run makes, of the arguments of object methods, or of the shape of
 * stored values. `test/golden` fails when one of these changes without a new number. Keep reading the previous number:
 * runs that began under it continue, and values that were written under it are upgraded when they are read.
 */
export const protocolNumber = 3;

/** The oldest number that this code reads. Nothing was ever published under 0. */
const oldestProtocol = Math.max(1, protocolNumber - 1);

/** Whether this code reads a number. */
export const isKnownProtocol = (protocol: number): boolean =>
  protocol >= oldestProtocol && protocol <= protocolNumber;

/** Adds the number to the argument of a call on an object: the calling run's, else our own. */
export function withProtocol(
  argument: unknown,
  { protocol }: Pick<RunLaunch, "protocol"> = { protocol: protocolNumber },
): Json {
  return { ...(isJsonObject(argument) ? argument : {}), protocol };
}

/**
 * Checks the number that a caller or a stored value states. An absent number is 0.
 *
 * @throws RetryableError: the engine retries until a worker of another release serves the call, so nothing is lost.
 */
export function checkProtocol(what: string, stated: Json | undefined): number {
  const protocol = typeof stated === "number" ? stated : 0;
  if (isKnownProtocol(protocol)) return protocol;
  const known =
    oldestProtocol === protocolNumber ? `${protocolNumber}` : `${oldestProtocol} to ${protocolNumber}`;
  const fix =
    protocol > protocolNumber ? "serve a newer release of reeve" : "serve the release it was written with";
  throw new RetryableError({
    message: `${what} has protocol ${protocol}, this worker understands ${known}: ${fix}`,
  });
}
