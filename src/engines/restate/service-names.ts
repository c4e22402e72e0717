/** The handler that executes runs. */
export const runHandler = "run";

/** The header that names the partition whose key opens a sealed launch. */
export const partitionHeader = "reeve-partition";

/** The names of a program's services on the server. */
export class ServiceNames {
  readonly #namespace: string;

  constructor(namespace: string) {
    this.#namespace = namespace;
  }

  /** The prefix of all names. */
  get prefix(): string {
    return `${this.#namespace}.`;
  }

  /** The service that executes runs. */
  get run(): string {
    return `${this.#namespace}.run`;
  }

  /** Whether an object of that type would have the name of a service of ours. */
  isTaken(type: string): boolean {
    return this.run === this.object(type);
  }

  /** Returns the name of the virtual object that hosts one type of object. */
  object(type: string): string {
    return `${this.#namespace}.${type}`;
  }
}
