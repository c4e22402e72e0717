import { storedText } from "../memory/stored-text.ts";

/**
 * The name of the agent that has the conversation, stored with the session. Empty: the one that the session began with.
 */
export const activeAgent = storedText("active_agent", "session", 200);
