import { BudgetExhaustedError } from "#kernel";
import { FetchRequest } from "./fetch-request.ts";
import { settleResponse } from "./fetch-response.ts";
import type { GovernOptions } from "./govern-options.ts";
import { Governor } from "./governor.ts";
import type { SpendAccount } from "./spend-account.ts";

type Fetch = typeof globalThis.fetch;

/** Options of a governed `fetch`. */
export type GovernFetchOptions = GovernOptions & {
  /** The `fetch` to call. Default: the global one. */
  readonly fetch?: Fetch | undefined;
};

/** A `fetch` and the account it is booked on. */
export type GovernedFetch = Fetch & { readonly account: SpendAccount };

/** Answers what does not fit with a refusal that no client makes again. */
export function governedFetch(options: GovernFetchOptions): GovernedFetch {
  const governor = new Governor(options);
  const send: Fetch = (input, init) => (options.fetch ?? fetch)(input, init);
  const fetchGoverned: Fetch = async (input, init) => {
    const request = await FetchRequest.read(input, init);
    try {
      return await makeRequest(request, governor, send);
    } catch (error) {
      if (error instanceof BudgetExhaustedError) return toRefusedResponse(error);
      throw error;
    }
  };
  return Object.assign(fetchGoverned, { account: governor.account });
}

async function makeRequest(request: FetchRequest, governor: Governor, send: Fetch): Promise<Response> {
  const { wire } = request;
  const asked = request.toGovernedRequest(governor.allowOptions);
  if (!asked || !wire) {
    if (request.costs) governor.allow(request.url);
    return send(...request.unchanged);
  }
  const granted = governor.begin(asked);
  try {
    return await settleResponse(await send(...request.withLimit(granted)), {
      wire,
      granted,
      signal: request.signal,
    });
  } catch (error) {
    granted.fail(error);
    throw error;
  }
}

/** Returns an error body that clients of OpenAI and of Anthropic both understand. */
function toRefusedResponse(error: BudgetExhaustedError): Response {
  const body = { type: "error", error: { ...error.toJSON(), type: "budget_exhausted" } };
  return Response.json(body, { status: 402, headers: { "x-should-retry": "false" } });
}
