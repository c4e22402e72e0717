import { globSync, readFileSync } from "node:fs";
import { Deployment } from "kubernetes-models/apps/v1/Deployment";
import { StatefulSet } from "kubernetes-models/apps/v1/StatefulSet";
import { NetworkPolicy } from "kubernetes-models/networking.k8s.io/v1/NetworkPolicy";
import { PodDisruptionBudget } from "kubernetes-models/policy/v1/PodDisruptionBudget";
import { Service } from "kubernetes-models/v1/Service";
import { expect, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { z } from "zod";

const labels = z.record(z.string(), z.string());
const port = z.object({ name: z.string(), containerPort: z.number() });
const probe = z.object({ httpGet: z.object({ path: z.string(), port: z.string() }) });
const variable = z.strictObject({
  name: z.string(),
  value: z.string().optional(),
  valueFrom: z
    .union([
      z.object({ secretKeyRef: z.object({ name: z.literal("reeve"), key: z.string() }) }),
      z.object({ configMapKeyRef: z.object({ name: z.literal("reeve"), key: z.string() }) }),
      z.object({ fieldRef: z.object({ fieldPath: z.string() }) }),
    ])
    .optional(),
});
const container = z.object({
  name: z.string(),
  image: z.string(),
  env: z.array(variable),
  ports: z.array(port),
  readinessProbe: probe,
  livenessProbe: probe,
  lifecycle: z.object({ preStop: z.object({ exec: z.object({ command: z.array(z.string()) }) }) }).optional(),
  resources: z.object({ requests: labels, limits: labels }),
  securityContext: z.object({ allowPrivilegeEscalation: z.literal(false) }),
});
const workload = z.object({
  kind: z.enum(["Deployment", "StatefulSet"]),
  metadata: z.object({ name: z.string() }),
  spec: z.object({
    replicas: z.number(),
    selector: z.object({ matchLabels: labels }),
    template: z.object({
      metadata: z.object({ labels }),
      spec: z.object({
        automountServiceAccountToken: z.literal(false),
        terminationGracePeriodSeconds: z.number(),
        securityContext: z.object({ runAsNonRoot: z.literal(true) }),
        containers: z.array(container).length(1),
      }),
    }),
  }),
});
const peer = z.object({ podSelector: z.object({ matchLabels: labels }).optional() }).loose();
const policy = z.object({
  kind: z.literal("NetworkPolicy"),
  spec: z.object({
    podSelector: z.object({ matchLabels: labels.optional() }),
    policyTypes: z.tuple([z.literal("Ingress")]),
    ingress: z
      .array(z.object({ from: z.array(peer).optional(), ports: z.array(z.object({ port: z.number() })) }))
      .optional(),
  }),
});
const service = z.object({
  kind: z.literal("Service"),
  metadata: z.object({ name: z.string() }),
  spec: z.object({
    type: z.undefined().optional(),
    selector: labels,
    ports: z.array(z.object({ port: z.number() })),
  }),
});
const disruption = z.object({
  kind: z.literal("PodDisruptionBudget"),
  spec: z.object({ selector: z.object({ matchLabels: labels }) }),
});
const compose = z.object({
  services: z.record(
    z.string(),
    z
      .object({
        image: z.string(),
        environment: labels,
        ports: z.array(z.string()).optional(),
        deploy: z.object({ replicas: z.number() }).optional(),
      })
      .loose(),
  ),
});

const files = globSync("deploy/kubernetes/*.yaml");
const documents = files.flatMap((file) =>
  parseAllDocuments(readFileSync(file, "utf8")).map((document): unknown => {
    expect(document.errors).toEqual([]);
    return document.toJS();
  }),
);
const documentsOf = <Kind extends z.ZodType>(schema: Kind, ...kinds: readonly string[]): z.infer<Kind>[] =>
  documents
    .filter((document) => kinds.includes(z.object({ kind: z.string() }).parse(document).kind))
    .map((document) => schema.parse(document));

const manifests = documents
  .map((document) =>
    z
      .looseObject({ kind: z.string(), metadata: z.looseObject({ name: z.string() }).optional() })
      .parse(document),
  )
  .flatMap(({ metadata, ...rest }) => (metadata ? [{ ...rest, metadata }] : []));
const workloads = documentsOf(workload, "Deployment", "StatefulSet");
const policies = documentsOf(policy, "NetworkPolicy");
const workloadNamed = (name: string): z.infer<typeof workload> => {
  const found = workloads.find(({ metadata }) => metadata.name === name);
  if (!found) throw new Error(`there is no ${name}`);
  return found;
};
const containerOf = (name: string): z.infer<typeof container> => {
  const [only] = workloadNamed(name).spec.template.spec.containers;
  if (!only) throw new Error(`${name} has no container`);
  return only;
};
const { services } = compose.parse(parse(readFileSync("deploy/compose.yaml", "utf8"), { merge: true }));
const guide = readFileSync("docs/guide/deploy.md", "utf8");
const secret = /KEY|PASSWORD|TOKEN|DATABASE_URL/;

/** The checks of Kubernetes for each kind. */
const kinds = new Map(
  [Deployment, StatefulSet, NetworkPolicy, PodDisruptionBudget, Service].map((Kind) => [
    Kind.name,
    (given: object): void => new Kind(Object.assign({}, given)).validate(),
  ]),
);

test.each(manifests.map((given) => [`${given.kind} ${given.metadata.name}`, given] as const))(
  "Kubernetes accepts %s",
  (_, given) => {
    expect(() => kinds.get(given.kind)?.(given)).not.toThrow();
    expect(kinds.has(given.kind)).toBe(true);
  },
);

test("every image has a version", () => {
  const images = [
    ...workloads.flatMap(({ spec }) => spec.template.spec.containers),
    ...Object.values(services),
  ];
  const froms = readFileSync("deploy/Dockerfile", "utf8").matchAll(/^FROM (\S+)/gm);
  for (const image of [...images.map((each) => each.image), ...[...froms].map(([, from]) => from)])
    expect(image).toMatch(/^[\w./-]+:\d+\.\d+[\w.-]*$/);
});

test("no secret is in a file", () => {
  const variables = workloads.flatMap(({ spec }) => spec.template.spec.containers.flatMap(({ env }) => env));
  const secrets = variables.filter(({ name }) => secret.test(name) && !/^IDENTITY_KEYS$|_FILE$/.test(name));
  expect(secrets.length).toBeGreaterThan(6);
  for (const { valueFrom, value } of secrets) {
    expect(value).toBeUndefined();
    expect(valueFrom).toHaveProperty("secretKeyRef");
  }
  const settings = Object.values(services).flatMap(({ environment }) => Object.entries(environment));
  const given = settings.filter(([name]) => secret.test(name) && !name.endsWith("_FILE"));
  for (const [, value] of given) expect(value).toMatch(/\$\{\w+(:\?|:-)\}/);
  expect(
    documents.filter((document) => z.object({ kind: z.string() }).parse(document).kind === "Secret"),
  ).toEqual([]);
});

test("every secret's key is in the command that creates it", () => {
  const keys = workloads.flatMap(({ spec }) =>
    spec.template.spec.containers.flatMap(({ env }) =>
      env.flatMap(({ valueFrom }) =>
        valueFrom && "secretKeyRef" in valueFrom ? [valueFrom.secretKeyRef.key] : [],
      ),
    ),
  );
  const first = keys.filter((key) => key !== "keyPrevious");
  for (const key of first) expect(guide).toContain(`--from-literal=${key}=`);
});

test("workloads, budgets and services select their pods", () => {
  const pods = workloads.map(({ spec }) => spec.template.metadata.labels);
  const selectors = [
    ...workloads.map(({ spec }) => spec.selector.matchLabels),
    ...documentsOf(disruption, "PodDisruptionBudget").map(({ spec }) => spec.selector.matchLabels),
    ...documentsOf(service, "Service").map(({ spec }) => spec.selector),
  ];
  expect(selectors).toHaveLength(9);
  for (const selector of selectors) expect(pods).toContainEqual(expect.objectContaining(selector));
});

test("probes use the documented addresses", () => {
  const ask = (name: string): readonly string[] => {
    const { readinessProbe, livenessProbe, ports } = containerOf(name);
    return [readinessProbe, livenessProbe].map(({ httpGet }) => {
      const found = ports.find((candidate) => candidate.name === httpGet.port)?.containerPort;
      return `${found}${httpGet.path}`;
    });
  };
  expect(ask("worker-b1")).toEqual(["9081/ready", "9081/health"]);
  expect(ask("restate")).toEqual(["8080/restate/health", "9070/health"]);
  expect(ask("server")).toEqual(["3000/health", "3000/health"]);
  const ports = [...containerOf("worker-b1").ports, ...containerOf("restate").ports];
  for (const { containerPort } of ports) expect(guide).toContain(String(containerPort));
});

test("a worker has the time to drain before it is killed", () => {
  const { env, lifecycle } = containerOf("worker-b1");
  const drainS = Number(env.find(({ name }) => name === "DRAIN_MS")?.value) / 1000;
  const [command, pauseS] = lifecycle?.preStop.exec.command ?? [];
  expect(command).toBe("sleep");
  const { terminationGracePeriodSeconds } = workloadNamed("worker-b1").spec.template.spec;
  expect(terminationGracePeriodSeconds).toBeGreaterThan(drainS + Number(pauseS));
  expect(parseInt(String(services["worker"]?.["stop_grace_period"]), 10)).toBeGreaterThan(
    Number(services["worker"]?.environment["DRAIN_MS"]) / 1000,
  );
});

test("there are two workers, and only the server can be reached from outside", () => {
  expect(workloadNamed("worker-b1").spec.replicas).toBeGreaterThanOrEqual(2);
  expect(services["worker"]?.deploy?.replicas).toBeGreaterThanOrEqual(2);
  const published = Object.entries(services).filter(([, each]) => each.ports);
  expect(published.map(([name]) => name)).toEqual(["server"]);
  expect(documentsOf(service, "Service")).toHaveLength(3);
});

test("only named pods may connect: Restate's admin is for workers, a worker's port is for Restate", () => {
  const deny = policies.find(({ spec }) => !spec.podSelector.matchLabels);
  expect(deny?.spec.ingress).toBeUndefined();
  const allowed = (app: string): Record<number, readonly unknown[]> => {
    const { ingress = [] } =
      policies.find(({ spec }) => spec.podSelector.matchLabels?.["app"] === app)?.spec ?? {};
    const rules = ingress.flatMap(({ from, ports }) =>
      ports.map(
        (each) => [each.port, from?.map(({ podSelector }) => podSelector?.matchLabels["app"])] as const,
      ),
    );
    return Object.fromEntries(rules.map(([open, who]) => [open, who ?? ["any"]]));
  };
  expect(allowed("restate")).toEqual({ 8080: ["worker", "server"], 9070: ["worker"], 5122: ["restate"] });
  expect(allowed("worker")).toEqual({ 9080: ["restate"], 9082: ["server"], 9081: [undefined] });
  expect(allowed("server")).toEqual({ 3000: ["any"] });
});
