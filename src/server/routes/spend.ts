import { AttemptId, Spend, type SpendDimension, type SpendSum, UserId } from "#kernel";
import { partitionOf } from "../auth.ts";
import { type Cell, toCsv } from "../csv.ts";
import { toJsonResponse, type Route, route } from "../route.ts";
import { refuseRequest, type Shape, shape } from "../shape.ts";
import { listedUser } from "../users.ts";
import { findRun } from "./find-run.ts";
import { page } from "./runs.ts";

const dayMs = 86_400_000;
const defaultDays = 14;
const maxGroups = 10_000;

/** One dimension, or several separated by commas. */
const dimensions: Shape<readonly SpendDimension[]> = {
  schema: {
    type: "string",
    pattern: `^(${Spend.dimensions.join("|")})(,(${Spend.dimensions.join("|")})){0,2}$`,
  },
  decode: (value, at) => {
    const found = [...new Set(String(value).split(","))].map((each) =>
      shape.oneOf(Spend.dimensions).decode(each, at),
    );
    return found.length > 3 ? refuseRequest(at, "must have at most three values") : found;
  },
};

/** A group as callers see it. Days and hours are in UTC. */
type ShownSum = Omit<SpendSum, "day" | "hour"> & { readonly day?: string; readonly hour?: string };

function toShownSum({ day, hour, ...rest }: SpendSum): ShownSum {
  return {
    ...(day !== undefined && { day: new Date(day * dayMs).toISOString().slice(0, 10) }),
    ...(hour !== undefined && { hour: `${new Date(Spend.startOf(hour)).toISOString().slice(0, 13)}:00Z` }),
    ...rest,
  };
}

function csvOf(by: readonly SpendDimension[], sums: readonly ShownSum[]): Response {
  const rows = sums.map((sum): readonly Cell[] => [
    ...by.map((name) => sum[name] ?? null),
    ...Spend.figureNames.map((name) => sum[name]),
  ]);
  const disposition = 'attachment; filename="spend.csv"';
  const headers = { "content-type": "text/csv; charset=utf-8", "content-disposition": disposition };
  return new Response(toCsv([...by, ...Spend.figureNames], rows), { headers });
}

export const spendRoutes: readonly Route[] = [
  route({
    method: "get",
    path: "/spend",
    scope: "read",
    forUsers: true,
    summary: "Money, calls and runs by day, hour, agent, model, user or tree; as CSV with Accept: text/csv",
    query: shape.object({
      from: shape.optional(shape.integer()),
      to: shape.optional(shape.integer()),
      by: shape.optional(dimensions),
      agent: shape.optional(shape.line()),
      model: shape.optional(shape.line()),
      user: shape.optional(shape.id(UserId.of, "a user")),
      topUsers: shape.optional(shape.integer({ min: 1, max: maxGroups })),
      size: shape.optional(shape.integer({ min: 1, max: maxGroups })),
    }),
    handle: async ({ host, principal, query, header }) => {
      const { by = ["day"], agent, model, topUsers, size = 1_000 } = query;
      const user = listedUser(principal, query.user);
      const hour = Spend.hourOf(host.clock.now());
      const to = query.to === undefined ? hour + 1 : Spend.hourOf(query.to + Spend.startOf(1) - 1);
      const from =
        query.from === undefined ? Spend.dayStart(to - 1) - 24 * (defaultDays - 1) : Spend.hourOf(query.from);
      const sums = await host.runtime.store.spend.sum(partitionOf(principal), {
        from,
        to,
        by,
        limit: size + 1,
        ...(agent !== undefined && { agentType: agent }),
        ...(model !== undefined && { model }),
        ...(user !== undefined && { userId: user }),
        ...(topUsers !== undefined && { topUsers }),
      });
      const items = sums.slice(0, size).map(toShownSum);
      if (/\btext\/csv\b/.test(header("accept") ?? "")) return csvOf(by, items);
      const range = { from: Spend.startOf(from), to: Spend.startOf(to) };
      return toJsonResponse({ ...range, by, items, more: sums.length > size });
    },
  }),
  route({
    method: "get",
    path: "/spend/in-doubt",
    scope: "read",
    forUsers: true,
    summary: "Model calls in doubt, newest first: they are booked at their ceiling",
    query: shape.object(page),
    handle: async ({ host, principal, query }) => {
      const { size = 50, after } = query;
      const user = listedUser(principal, undefined);
      const filter = user === undefined ? {} : { userId: user };
      const wanted = { size, ...(after !== undefined && { after }) };
      return toJsonResponse(await host.runtime.store.spend.inDoubt(partitionOf(principal), filter, wanted));
    },
  }),
  route({
    method: "get",
    path: "/runs/:run/doubts/:attempt",
    scope: "read",
    forUsers: true,
    pool: "calls",
    summary: "The ceiling and the price of a call in doubt; null if the call is not in doubt",
    handle: async (call) => {
      const attempt = shape.id(AttemptId.of, "an attempt").decode(call.params["attempt"], "path.attempt");
      const doubt = await (await findRun(call)).doubt(attempt);
      return toJsonResponse(
        doubt && { run: doubt.run, step: doubt.step, ceiling: doubt.ceiling, price: doubt.price },
      );
    },
  }),
  route({
    method: "get",
    path: "/tenant",
    scope: "read",
    forUsers: true,
    pool: "calls",
    summary:
      "The account of the tenant, or of the user the caller acts for: budget, live trees, spend of today",
    handle: async ({ host, principal }) => {
      const { runtime, clock } = host;
      const { tenant } = principal;
      const user = listedUser(principal, undefined);
      const ofUser = user === undefined ? {} : { userId: user };
      const partition = partitionOf(principal);
      const hour = Spend.hourOf(clock.now());
      const { spend, runs } = runtime.store;
      const sumSince = async (from: number): Promise<object> => {
        const [sum = Spend.none] = await spend.sum(partition, {
          ...ofUser,
          from,
          to: hour + 1,
          by: [],
          limit: 1,
        });
        const { settledMicros, inDoubtMicros } = sum;
        return { from: Spend.startOf(from), settledMicros, inDoubtMicros };
      };
      const owner = tenant === null ? null : { tenant, ...(user !== undefined && { user }) };
      const [budget, live, today, thisHour] = await Promise.all([
        owner && runtime.tenants.budget(owner),
        runs.live(partition, ofUser),
        sumSince(Spend.dayStart(hour)),
        sumSince(hour),
      ]);
      return toJsonResponse({ budget, live, today, thisHour });
    },
  }),
];
