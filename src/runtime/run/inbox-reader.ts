import type { Envelope, Inbox, Sender } from "#kernel";
import type { Driver } from "../driver/driver.ts";
import { quiet } from "../driver/quiet.ts";
import type { InboxItem } from "../tree/records.ts";
import { refuseInStep } from "./ambient.ts";

const senderOf = (from: Sender): string => (from.kind === "run" ? from.runId : `outside/${from.name}`);

/** The messages of a run: one queue for each sender, served in turn. */
export class InboxReader implements Inbox {
  readonly #driver: Driver;
  readonly #queues = new Map<string, Envelope[]>();
  #steering: Envelope[] = [];
  #followUps: Envelope[] = [];
  #inHand: Envelope | null = null;

  constructor(driver: Driver) {
    this.#driver = driver;
  }

  /** The message that agent code works on: if the code gives up now, this one is the poison. */
  get inHand(): Envelope | null {
    return this.#inHand;
  }

  /** The first message that was not read: what the run was hired for. */
  get first(): Envelope | null {
    return this.#firstQueue?.[0] ?? null;
  }

  /** Other words for the first message. */
  rewrite(text: string): void {
    const queue = this.#firstQueue;
    const message = queue?.[0];
    if (queue && message) queue[0] = { ...message, text };
  }

  get #firstQueue(): Envelope[] | undefined {
    return this.#queues.values().next().value;
  }

  /** Everything that came and was not read, in the form it came in. */
  get unread(): readonly InboxItem[] {
    const messages = [...this.#queues.values()].flat();
    return [
      ...messages.map((envelope): InboxItem => ({ kind: "message", envelope })),
      ...this.#steering.map((envelope): InboxItem => ({ kind: "steer", envelope })),
      ...this.#followUps.map((envelope): InboxItem => ({ kind: "followUp", envelope })),
    ];
  }

  receive(kind: "message" | "steer" | "followUp", envelope: Envelope): void {
    if (kind === "steer") this.#steering.push(envelope);
    else if (kind === "followUp") this.#followUps.push(envelope);
    else {
      const sender = senderOf(envelope.from);
      const queue = this.#queues.get(sender);
      if (queue) queue.push(envelope);
      else this.#queues.set(sender, [envelope]);
      this.#driver.waits.tell("message", null);
    }
  }

  next({ waitS = 0 }: { readonly waitS?: number } = {}): Promise<Envelope | null> {
    return quiet(this.#next(waitS));
  }

  async #next(waitS: number): Promise<Envelope | null> {
    refuseInStep();
    this.#driver.check();
    this.#inHand = this.#shift();
    if (this.#inHand) return this.#inHand;
    await this.#driver.refresh();
    this.#inHand = this.#shift();
    if (this.#inHand || waitS <= 0) return this.#inHand;
    await this.#driver.waits.first(["message"], { at: this.#driver.time + waitS * 1000 });
    this.#inHand = this.#shift();
    return this.#inHand;
  }

  steering(): readonly Envelope[] {
    refuseInStep();
    const taken = this.#steering;
    this.#steering = [];
    return taken;
  }

  followUps(): readonly Envelope[] {
    refuseInStep();
    const taken = this.#followUps;
    this.#followUps = [];
    return taken;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Envelope, void> {
    for (;;) {
      const message = await this.next();
      if (!message) return;
      yield message;
    }
  }

  /** The next message of the sender whose turn it is; that sender then stands last. */
  #shift(): Envelope | null {
    const [entry] = this.#queues;
    if (!entry) return null;
    const [sender, queue] = entry;
    const message = queue.shift() ?? null;
    this.#queues.delete(sender);
    if (queue.length > 0) this.#queues.set(sender, queue);
    return message;
  }
}
