import type { SessionFork, SessionSwitch } from "#kernel";

/** A move of a conversation that extensions may cancel. */
export type ConversationMove =
  | { readonly moment: "sessionBeforeFork"; readonly move: SessionFork }
  | { readonly moment: "sessionBeforeSwitch"; readonly move: SessionSwitch };
