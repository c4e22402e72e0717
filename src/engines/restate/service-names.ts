/** The handler that executes runs. */
export const runHandler = "run";

/** What the services of one program are called on the server. */
export class ServiceNames {
  readonly #namespace: string;

  constructor(namespace: string) {
    this.#namespace = namespace;
  }

  /** What all of them begin with. */
  get prefix(): string {
    return `${this.#namespace}.`;
  }

  /** The service that executes runs. */
  get run(): string {
    return `${this.#namespace}.run`;
  }

  /** The virtual object that hosts one kind of object. */
  object(type: string): string {
    return `${this.#namespace}.${type}`;
  }
}
