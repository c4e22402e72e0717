/** The handler that executes runs. */
export const runHandler = "run";

/** Tells, beside a sealed launch, whose key opens it. */
export const partitionHeader = "reeve-partition";

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

  /** Whether an object of that type would be called like a service of ours. */
  isTaken(type: string): boolean {
    return this.run === this.object(type);
  }

  /** The virtual object that hosts one kind of object. */
  object(type: string): string {
    return `${this.#namespace}.${type}`;
  }
}
