import { ProviderMessage, type ProviderScript } from "reeve/testing";

/**
 * A provider that answers with what its prompt contains about the pump; else with the number of its answer. A `slow`
 * message is not answered the first time. A summary keeps what the messages contain about the pump.
 */
export class ListeningProvider {
  readonly #asked = Promise.withResolvers<void>();
  /** Fulfilled when a slow message has come. */
  readonly asked = this.#asked.promise;
  readonly #never = Promise.withResolvers<never>();
  /** Summaries that were asked for. */
  summaries = 0;
  /** Messages of the user that the last prompt had. */
  shown = 0;
  #answers = 0;
  #isPatient = true;

  readonly script: ProviderScript = async ({ messages, system }) => {
    const year = /built in (\d+)/.exec(messages.map(ProviderMessage.text).join(" "))?.[1];
    if (system.startsWith("You summarise")) {
      this.summaries += 1;
      return { text: `The pump was built in ${year}.` };
    }
    const said = messages
      .filter(({ role }) => role === "user")
      .map((message) => ProviderMessage.text(message));
    const last = said.at(-1) ?? "";
    if (last === "slow" && this.#isPatient) {
      this.#isPatient = false;
      this.#asked.resolve();
      return this.#never.promise;
    }
    this.shown = said.length;
    this.#answers += 1;
    return { text: last.endsWith("?") ? `In ${year}` : `Answer ${this.#answers}` };
  };
}
