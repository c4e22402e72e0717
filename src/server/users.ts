import { UserId } from "#kernel";
import { mayDo, type Principal } from "./auth.ts";
import { HttpError } from "./http-error.ts";
import { shape } from "./shape.ts";

/** The header in which a trusted backend names the user for whom it asks. */
export const userHeader = "x-reeve-user";

const userId = shape.id(UserId.of, "a user");

/**
 * Returns the caller, bound to the user that the header names: from here on, a request of a trusted backend for a user is
 * the same as a request with that user's own key. @throws HttpError unless the caller may act for that user.
 */
export function actForUser(principal: Principal, header: string | null): Principal {
  if (header === null) return principal;
  const named = userId.decode(header, `header ${userHeader}`);
  return { ...principal, user: namedUser(principal, named, `header ${userHeader}`) };
}

/** Returns the user the caller acts for, whether or not it names one. Null: no user. @throws HttpError */
export function actingUser(principal: Principal, named: UserId | undefined, at: string): UserId | null {
  return named === undefined ? userOf(principal) : namedUser(principal, named, at);
}

/** Returns the user to whom a list is restricted; undefined: to none. @throws HttpError for another than the caller's own. */
export function listedUser(principal: Principal, named: UserId | undefined): UserId | undefined {
  return principal.user === undefined || named === undefined
    ? (named ?? userOf(principal) ?? undefined)
    : namedUser(principal, named, "query.user");
}

/** Returns the only user that the caller reaches; null: all of its tenant. */
export const userOf = ({ user }: Principal): UserId | null => (user === undefined ? null : UserId.of(user));

/** Returns the name under which a decision is recorded: the key's, and the user's for whom it acts. */
export const deciderOf = ({ id, user }: Principal): string => (user === undefined ? id : `${id} for ${user}`);

/** Refuses callers that act for one user where the answer is the whole tenant's. @throws HttpError */
export function checkUnbound({ user }: Principal): void {
  if (user !== undefined)
    throw new HttpError(
      "forbidden",
      "this request is for the whole tenant: use a key that is bound to no user, without the header x-reeve-user",
    );
}

function namedUser(principal: Principal, named: UserId, at: string): UserId {
  if (principal.user !== undefined && principal.user !== named)
    throw new HttpError(
      "forbidden",
      `${at}: another user than that of the key: remove it, or use a key of that user`,
    );
  if (principal.user === undefined && !mayDo(principal, "act-for-users"))
    throw new HttpError(
      "forbidden",
      `${at}: this key may not act for users: use a key bound to the user, or one with the scope act-for-users`,
    );
  return named;
}
