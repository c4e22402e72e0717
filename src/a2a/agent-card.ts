import type { AgentCard, AgentSkill } from "@a2a-js/sdk";
import { AgentId, type Agent } from "#kernel";

/** The part of the options that a card shows. */
export interface CardOptions {
  readonly agents: readonly Agent[];
  /** The address under which clients reach the server, such as `https://api.example.com`. */
  readonly url: string;
  readonly path: string;
  readonly name: string;
  readonly description: string;
  readonly version: string;
}

/** Describes the agents that are offered, one skill each. It names no tool, no model and no child. */
export function toAgentCard({ agents, url, path, name, description, version }: CardOptions): AgentCard {
  const address = new URL(path, url).href;
  const bearer = { description: "An API key of this server.", scheme: "bearer", bearerFormat: "" };
  return {
    name,
    description,
    version,
    supportedInterfaces: ["1.0", "0.3"].map((protocolVersion) => ({
      url: address,
      protocolBinding: "JSONRPC",
      tenant: "",
      protocolVersion,
    })),
    provider: undefined,
    capabilities: { streaming: true, pushNotifications: false, extensions: [], extendedAgentCard: false },
    securitySchemes: { key: { scheme: { $case: "httpAuthSecurityScheme", value: bearer } } },
    securityRequirements: [{ schemes: { key: { list: [] } } }],
    defaultInputModes: ["text/plain"],
    defaultOutputModes: ["text/plain", "application/json"],
    skills: agents.map(toSkill),
    signatures: [],
  };
}

const toSkill = ({ id, description }: Agent): AgentSkill => ({
  id: AgentId.type(id),
  name: AgentId.type(id),
  description: description ?? `Runs the agent ${AgentId.type(id)}.`,
  tags: ["agent"],
  examples: [],
  inputModes: [],
  outputModes: [],
  securityRequirements: [],
});
