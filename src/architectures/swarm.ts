import { isJsonObject, ToolResult, type Architecture, type Hireable, type Tool } from "#kernel";
import { textInput, tool } from "#agents";
import { byName, nameOf, noWorkerAnswered } from "./roles.ts";
import { storedText } from "./stored-text.ts";

const prefix = "handoff_to_";

/** Makes the tool by which a member of a swarm passes the task on. The member's run ends with it. */
export function handoff(to: string, description = `Passes the task on to ${to}`): Tool {
  return tool({
    name: `${prefix}${to}`,
    description,
    input: textInput({ message: { description: "Everything that the next one has to know", max: 20_000 } }),
    risk: "safe",
    run: async (_, { message }) => ToolResult.terminate({ handoff: to, message }),
  });
}

/** The members of a swarm. Each has a tool of `handoff` for every member that it may pass the task on to. */
export interface SwarmOptions {
  readonly members: readonly Hireable[];
  /** The member that begins. Default: the first; in a later turn of a conversation, the one that answered last. */
  readonly entry?: Hireable | undefined;
  /** Default 8. */
  readonly maxHandoffs?: number | undefined;
}

/** Members pass the task on to each other. The one that does not answers, and begins the next turn of the conversation. */
export function swarm({ members, entry, maxHandoffs = 8 }: SwarmOptions): Architecture {
  const stored = storedText("active_member", "session", 200);
  const find = (name: string): Hireable | undefined => members.find((member) => nameOf(member) === name);
  return {
    name: "swarm",
    tools: stored.tools,
    declaredWorkers: () => byName(members),
    async *run(state, { ctx, delegate }, prompt) {
      const path: string[] = [];
      let active = find(await stored.read(ctx)) ?? entry ?? members[0];
      let task = prompt;
      while (active && path.length <= maxHandoffs && !isCircle(path)) {
        path.push(nameOf(active));
        const made = await delegate(active, task);
        if (!made.ok) throw noWorkerAnswered([made]);
        const passed = readHandoff(active, made.text);
        yield { member: nameOf(active), to: passed?.to ?? null };
        if (!passed) {
          state.output = made.value;
          await stored.write(ctx, nameOf(active));
          return;
        }
        state.output = passed.message;
        task = `${prompt}\n\n${nameOf(active)} passes this on to you: ${passed.message}`;
        active = find(passed.to);
      }
      state.interrupted = true;
      state.interruptionReason = `the task was passed on ${path.length} times: ${path.join(", ")}`;
    },
  };
}

/** Reads an answer that passes the task on. Null: it is an answer, or the member has no such tool. */
function readHandoff(
  member: Hireable,
  text: string,
): { readonly to: string; readonly message: string } | null {
  const value = parse(text);
  const { handoff: to, message } = isJsonObject(value) ? value : {};
  if (typeof to !== "string" || typeof message !== "string") return null;
  const tools: unknown = "tools" in member ? member.tools : [];
  const hasTool = Array.isArray(tools) && tools.some((each: Tool) => each.name === `${prefix}${to}`);
  return hasTool ? { to, message } : null;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Whether the path ends with the same way round taken three times, by two members or more. */
function isCircle(path: readonly string[]): boolean {
  for (let size = 2; size * 3 <= path.length; size += 1) {
    const last = path.slice(-size).join();
    const isSame = (rounds: number): boolean =>
      path.slice(-size * (rounds + 1), -size * rounds).join() === last;
    if (isSame(1) && isSame(2)) return true;
  }
  return false;
}
