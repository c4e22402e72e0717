import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { isJsonObject } from "#kernel";
import { Json } from "reeve";

/** What is asked. */
export interface Question {
  readonly key?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  /** An object goes as JSON, a text as it is. */
  readonly body?: object | string | undefined;
}

/** What came of it. */
export interface Reply {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly text: string;
  readonly json: Json;
}

/** One request over a socket of its own: every header, also `Host`, is what the test says. */
export async function open(url: string, method: string, question: Question = {}): Promise<IncomingMessage> {
  const { key, headers = {}, body } = question;
  const text = typeof body === "object" ? JSON.stringify(body) : body;
  const sent = request(url, {
    method,
    agent: false,
    headers: {
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
      ...(typeof body === "object" && { "content-type": "application/json" }),
      ...(text !== undefined && { "content-length": String(Buffer.byteLength(text)) }),
      ...headers,
    },
  });
  sent.end(text);
  const [response]: IncomingMessage[] = await once(sent, "response");
  if (!response) throw new Error("no response");
  response.setEncoding("utf8");
  return response;
}

/** The whole answer; of a stream, that it has begun. */
export async function ask(url: string, method: string, question: Question = {}): Promise<Reply> {
  const response = await open(url, method, question);
  const { statusCode: status = 0, headers } = response;
  let text = "";
  if (headers["content-type"]?.startsWith("text/event-stream")) response.destroy();
  else for await (const part of response) text += String(part);
  const isJson = headers["content-type"]?.startsWith("application/json");
  return { status, headers, text, json: isJson ? Json.of(JSON.parse(text)) : null };
}

/** The code of the error that an answer tells. */
export function codeOf({ json }: Reply): unknown {
  const error = isJsonObject(json) ? json["error"] : null;
  return isJsonObject(error) ? error["code"] : null;
}
