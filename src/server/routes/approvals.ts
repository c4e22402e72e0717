import { type ApprovalAnswer, ApprovalId, TreeId, UserId } from "#kernel";
import { whose } from "../auth.ts";
import { toJsonResponse, type Call, type Route, route } from "../route.ts";
import { shape } from "../shape.ts";
import { deciderOf, listedUser } from "../users.ts";
import { withholdArguments } from "../withhold.ts";
import { findTreeRun } from "./find-run.ts";
import { page } from "./runs.ts";

const approvalId = shape.id(ApprovalId.parse, "an approval");

const said = {
  /** Hash of the question that was shown. A changed question is not answered by it. */
  hash: shape.optional(shape.text()),
  reason: shape.optional(shape.text({ max: 10_000 })),
} as const;

/** Decides in the name of the key's holder. @throws NotFoundError, ApprovalRefusedError */
async function answerApproval(call: Call, word: Omit<ApprovalAnswer, "by">): Promise<Response> {
  const { host, principal, params } = call;
  const approval = approvalId.decode(params["approval"], "approval");
  await (await findTreeRun(call, ApprovalId.tree(approval))).status();
  const decided = { ...word, by: deciderOf(principal) };
  return toJsonResponse(await host.runtime.approvals.decide(approval, decided, whose(principal)));
}

export const approvalRoutes: readonly Route[] = [
  route({
    method: "get",
    path: "/approvals",
    scope: "read",
    forUsers: true,
    summary:
      "Approvals, newest first: of a tree, an agent, a tool, a risk or a user. Without the scope content or approve they have no arguments",
    query: shape.object({
      ...page,
      state: shape.optional(shape.oneOf(["pending", "decided"])),
      tree: shape.optional(shape.id(TreeId.of, "a tree")),
      agent: shape.optional(shape.line()),
      tool: shape.optional(shape.line()),
      risk: shape.optional(shape.oneOf(["safe", "high", "critical"])),
      user: shape.optional(shape.id(UserId.of, "a user")),
    }),
    handle: async ({ host, principal, query }) => {
      const { size = 50, after, user, ...filter } = query;
      const wanted = { ...filter, ...whose(principal), user: listedUser(principal, user) };
      const wantedPage = { size, ...(after !== undefined && { after }) };
      const found = await host.runtime.approvals.list(wanted, wantedPage);
      const items = found.items.map((record) => withholdArguments(principal, record));
      return toJsonResponse({ ...found, items });
    },
  }),
  route({
    method: "post",
    path: "/approvals/:approval/approve",
    scope: "approve",
    pool: "control",
    forUsers: true,
    summary: "Approve the call",
    body: shape.object({ ...said, remember: shape.optional(shape.flag()) }),
    handle: (call) => answerApproval(call, { decision: "approved", ...call.body }),
  }),
  route({
    method: "post",
    path: "/approvals/:approval/deny",
    scope: "approve",
    pool: "control",
    forUsers: true,
    summary: "Deny the call; the model receives the reason",
    body: shape.object(said),
    handle: (call) => answerApproval(call, { decision: "denied", ...call.body }),
  }),
  route({
    method: "post",
    path: "/approvals/:approval/edit",
    scope: "approve",
    pool: "control",
    forUsers: true,
    summary: "Approve the call with other arguments",
    body: shape.object({ ...said, arguments: shape.json() }),
    handle: (call) => answerApproval(call, { decision: "edited", ...call.body }),
  }),
];
