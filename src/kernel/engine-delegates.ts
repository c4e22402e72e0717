import type { Engine, ExecutionPrimitives, ObjectContext } from "./engine.ts";

/*
 * Wrappers of the engine port. Each forwards every member to `inner`, except those that are replaced. A wrapper names
 * only the members it replaces. A new member of the port is forwarded by all of them.
 */

/** Returns the primitives of an execution with some members replaced. */
export function delegatePrimitives(
  inner: ExecutionPrimitives,
  replaced: Partial<ExecutionPrimitives>,
): ExecutionPrimitives {
  const delegate: ExecutionPrimitives = {
    launch: inner.launch,
    epoch: inner.epoch,
    keepsReferences: inner.keepsReferences,
    canPause: inner.canPause,
    get isLive() {
      return inner.isLive;
    },
    now: () => inner.now(),
    callUnjournaled: (to, method, argument) => inner.callUnjournaled(to, method, argument),
    step: (name, run) => inner.step(name, run),
    call: (to, method, argument) => inner.call(to, method, argument),
    wake: (name) => inner.wake(name),
    sleepUntil: (at) => inner.sleepUntil(at),
    waitForCancel: () => inner.waitForCancel(),
    race: (open) => inner.race(open),
    flushMicrotasks: () => inner.flushMicrotasks(),
  };
  return Object.assign(delegate, replaced);
}

/** Returns the context of an object's method with some members replaced. */
export function delegateObject(inner: ObjectContext, replaced: Partial<ObjectContext>): ObjectContext {
  const delegate: ObjectContext = {
    key: inner.key,
    maxValueBytes: inner.maxValueBytes,
    keepsReferences: inner.keepsReferences,
    now: () => inner.now(),
    hostedSince: () => inner.hostedSince(),
    get: (name) => inner.get(name),
    prefetch: (names) => inner.prefetch(names),
    list: (prefix) => inner.list(prefix),
    set: (name, value) => inner.set(name, value),
    clear: (name) => inner.clear(name),
    send: (to, method, argument, options) => inner.send(to, method, argument, options),
    call: (to, method, argument) => inner.call(to, method, argument),
    launch: (run) => inner.launch(run),
    wake: (execution, name, value) => inner.wake(execution, name, value),
    cancel: (execution) => inner.cancel(execution),
    kill: (execution) => inner.kill(execution),
  };
  return Object.assign(delegate, replaced);
}

/** Returns an engine with some members replaced. */
export function delegateEngine(inner: Engine, replaced: Partial<Engine>): Engine {
  const delegate: Engine = {
    name: inner.name,
    durable: inner.durable,
    define: (program) => inner.define(program),
    serve: (options) => inner.serve(options),
    drain: (options) => inner.drain(options),
    call: (to, method, argument) => inner.call(to, method, argument),
    waitForChange: (object, options) => inner.waitForChange(object, options),
    ...(inner.attach && { attach: inner.attach.bind(inner) }),
    ...(inner.blocker && { blocker: inner.blocker.bind(inner) }),
    ...(inner.objectBlocker && { objectBlocker: inner.objectBlocker.bind(inner) }),
    ...(inner.findBlocked && { findBlocked: inner.findBlocked.bind(inner) }),
    [Symbol.asyncDispose]: () => inner[Symbol.asyncDispose](),
  };
  return Object.assign(delegate, replaced);
}
