import { AgentId, ChatMessage, Json, type Agent } from "#kernel";
import type { Books } from "./books.ts";
import { effect } from "./doubles.ts";
import type { Stage } from "./stage.ts";
import { carryOut, type Hands, type Plan, planIn, toolNames } from "./workload.ts";

/** The one agent of a simulation: it does what the plan says that it was hired with. */
export function planCarrier(stage: Stage, books: Books): Agent {
  const id = AgentId.of("worker");
  const told = books.deliver.bind(books);
  const tools = toolNames.map((name) =>
    effect({ told }, name, name === "again" ? { idempotent: true } : { onUnknown: name }),
  );
  const hands: Hands = {
    agent: { id },
    think: (ctx, most) => ctx.llm([ChatMessage.user(`think ${ctx.steps}`)], { maxOutputTokens: most }),
    step: (key) => stage.happens(`effect ${key}`, () => undefined),
  };
  return {
    id,
    model: books.model,
    tools,
    run: async (ctx, inbox) => {
      const isContinued = Array.isArray(ctx.state);
      const plan = isContinued ? Json.as<Plan>(ctx.state) : planIn((await inbox.next())?.text);
      const rest = await carryOut(ctx, plan, hands);
      return rest.length > 0 ? ctx.continueAs(Json.of(rest)) : "done";
    },
  };
}
