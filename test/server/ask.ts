import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { isJsonObject } from "#kernel";
import { Json } from "reeve";

/** A request. */
export interface Question {
  readonly key?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  /** An object is sent as JSON, a text as it is. */
  readonly body?: object | string | undefined;
}

/** The response. */
export interface Reply {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly text: string;
  readonly json: Json;
}

/** Sends one request over its own socket: the test sets every header, `Host` included. */
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

/** Returns the whole response; for a stream, only its start. */
export async function ask(url: string, method: string, question: Question = {}): Promise<Reply> {
  const response = await open(url, method, question);
  const { statusCode: status = 0, headers } = response;
  let text = "";
  if (headers["content-type"]?.startsWith("text/event-stream")) response.destroy();
  else for await (const part of response) text += String(part);
  const isJson = headers["content-type"]?.startsWith("application/json");
  return { status, headers, text, json: isJson ? Json.of(JSON.parse(text)) : null };
}

/** Returns the error code of a response. */
export function codeOf({ json }: Reply): unknown {
  const error = isJsonObject(json) ? json["error"] : null;
  return isJsonObject(error) ? error["code"] : null;
}
