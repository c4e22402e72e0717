import { AgentId, ChatMessage, Json, type Agent, type ChatMiddleware } from "#kernel";
import type { Books } from "./books.ts";
import { effect } from "./doubles.ts";
import type { Stage } from "./stage.ts";
import { carryOut, type Hands, type Plan, planIn, toolNames } from "./workload.ts";

/** Calls a judge first, inside the step, if the plan says so. */
const judging: ChatMiddleware = {
  async process({ messages, scope }, next) {
    const isJudged = messages.some((message) => ChatMessage.text(message).startsWith("judged"));
    if (isJudged) await scope.llm([ChatMessage.user("judge")], { maxOutputTokens: 50 });
    await next();
  },
};

/** The one agent of a simulation: it follows the plan it was spawned with. */
export function planCarrier(stage: Stage, books: Books, recordSignals: Hands["recordSignals"]): Agent {
  const id = AgentId.of("worker");
  const recordToolCall = books.deliver.bind(books);
  const tools = toolNames.map((name) =>
    effect({ recordToolCall }, name, name === "again" ? { idempotent: true } : { onUnknown: name }),
  );
  const hands: Hands = {
    agent: { id },
    think: (ctx, { most, judged }) => {
      const text = `${judged ? "judged" : "think"} ${ctx.steps}`;
      return ctx.llm([ChatMessage.user(text)], { maxOutputTokens: most });
    },
    step: (key) => stage.happens(`effect ${key}`, () => undefined),
    recordSignals,
  };
  return {
    id,
    model: books.model,
    tools,
    policy: { chat: [judging] },
    run: async (ctx, inbox) => {
      const isContinued = Array.isArray(ctx.state);
      const plan = isContinued ? Json.as<Plan>(ctx.state) : planIn((await inbox.next())?.text);
      const rest = await carryOut(ctx, plan, hands);
      return rest.length > 0 ? ctx.continueAs(Json.of(rest)) : "done";
    },
  };
}
