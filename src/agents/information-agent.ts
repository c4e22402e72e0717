import {
  AgentId,
  CancellationError,
  Json,
  TopicId,
  type Agent,
  type Continuation,
  type Envelope,
  type Inbox,
  type RunContext,
  type Subscription,
} from "#kernel";
import { valueText } from "#base";

/** The options of an information agent. */
export interface InformationAgentOptions<State extends Json> {
  /** Its name in the program. */
  readonly name: string;
  /** The name of the topic that it subscribes to, in the tree of its run. */
  readonly topic: string;
  /** The state before the first message. */
  readonly initial: State;
  /** Returns the state after a message. Must be a pure function, because it runs again after a crash. */
  readonly fold: (state: State, message: Envelope) => State;
  /** Returns the answer to a question. Must be a pure function. Default: the state. */
  readonly answer?: ((state: State, question: Envelope) => Json) | undefined;
  /** A description that a model reads when it chooses an agent. */
  readonly description?: string | undefined;
  /** Number of journal entries after which a run continues in a fresh execution. Default: 2,000. */
  readonly continueAfter?: number | undefined;
}

const defaultContinueAfter = 2_000;

/** Timeout of the wait. Messages wake the agent immediately, so this only bounds the wait. */
const waitS = 86_400;

/**
 * Creates an agent that subscribes to a topic, keeps a state, and answers every question from it. Its first reply means
 * that its subscription has begun: spawn it with `ask(agent, "listen")`, and it misses no later message. It listens
 * until it is cancelled, and its state is its output.
 */
export function informationAgent<State extends Json>(
  options: InformationAgentOptions<State> & { readonly answer?: undefined },
): Agent<State>;
export function informationAgent<State extends Json>(options: InformationAgentOptions<State>): Agent;
export function informationAgent<State extends Json>(options: InformationAgentOptions<State>): Agent<State> {
  const { name, description, continueAfter = defaultContinueAfter } = options;
  return {
    id: AgentId.of(name),
    description,
    run: (ctx, inbox) => foldMessages(options, continueAfter, { ctx, inbox }),
  };
}

async function foldMessages<State extends Json>(
  { topic, initial, fold, answer = (state) => state }: InformationAgentOptions<State>,
  continueAfter: number,
  { ctx, inbox }: { readonly ctx: RunContext; readonly inbox: Inbox },
): Promise<State | Continuation> {
  const isFirst = ctx.state === null;
  let state = isFirst ? initial : Json.as<{ readonly state: State }>(ctx.state).state;
  let isLeaving = false;
  const goesOn = (): boolean => !isLeaving && ctx.journalLength < continueAfter;

  // Each loop ends only while the other one waits and has taken nothing: unread messages go to the next execution.
  const hear = async (subscription: Subscription): Promise<void> => {
    const messages = subscription[Symbol.asyncIterator]();
    do {
      const { value, done } = await messages.next();
      if (done) return;
      state = fold(state, value);
    } while (goesOn());
    isLeaving = true;
  };
  const respond = async (subscription: Subscription): Promise<void> => {
    await subscription.begin();
    // In a fresh execution, earlier messages arrive together with a question. One step later they are folded.
    if (!isFirst) await ctx.now();
    if (isLeaving) return;
    do {
      const question = await inbox.next({ waitS });
      if (!question) continue;
      const reply = answer(state, question);
      await ctx.reply(question, valueText(reply), reply);
    } while (goesOn());
    isLeaving = true;
  };

  try {
    const subscription = ctx.subscribe(TopicId.of(topic, ctx.supervision.treeId));
    await Promise.race([hear(subscription), respond(subscription)]);
    return ctx.continueAs({ state });
  } catch (error) {
    if (error instanceof CancellationError) return state;
    throw error;
  }
}
