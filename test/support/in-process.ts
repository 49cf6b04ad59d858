/**
 * The whole system in one process and on one virtual clock: the operator as it is, a Kubernetes cluster in memory, and the
 * simulator without sockets. The same seed gives the same run.
 */
import type { Clock } from '../../src/base/time.ts';
import { createOperator, type Operator } from '../../src/cli/operator/operator.ts';
import { OperatorKey } from '../../src/engine/kind/planner/compare.ts';
import { type AnyKind, group, version, resourceOf } from '../../src/engine/kind/contract/define.ts';
import type { KubeObject, Leadership, Log } from '../../src/engine/ports.ts';
import { openHosting } from '../../src/hosting/service.ts';
import type { Wire } from '../../src/hosting/wire/wire.ts';
import { kinds as allKinds } from '../../src/kinds/index.ts';
import { secretResource } from '../../src/kube/material.ts';
import { Secret } from '../../src/base/json.ts';
import type { Reply } from '../../src/simulator/http/exchange.ts';
import { createSimulator, type Simulator } from '../../src/simulator/simulator.ts';
import { MetricRegistry } from '../../src/telemetry/metrics.ts';
import { CheckedKube } from './memory/checked-kube.ts';
import { MemoryCluster } from './memory/memory-cluster.ts';
import { SeededEntropy, settle } from '../../src/cli/in-memory/virtual-clock.ts';
import { SuspendableClock } from './suspendable-clock.ts';
import { aborted, forged, received, retold, timedOut, type Interference } from './disturbed-wire.ts';

export interface InProcessOptions {
  readonly kinds?: readonly AnyKind[];
  readonly readings?: Readonly<Record<string, unknown>>;
  readonly world?: 'demo' | 'empty';
  readonly seed?: number;
  readonly horizonMs?: number;
  readonly callDeadlineMs?: number;
  readonly pollMs?: number;
  /** How many objects are looked at in parallel; 8 unless given. */
  readonly workers?: number;
  readonly readOnly?: boolean;
  readonly secretWatch?: 'on' | 'off';
  /** Labels of the resources that the operator looks after; all unless given. */
  readonly selector?: string;
  /** What the operator is started with, but for the time. */
  readonly powers?: { readonly activation: boolean; readonly accountReset: boolean };
  /** Another operator's world: this one shares its clock, its cluster and its service. */
  readonly beside?: InProcess;
}

/** One line that somebody wrote anywhere: log, event, status. */
export interface Trace {
  readonly lines: string[];
}

/** A request on its way. */
export interface Sent {
  readonly method: string;
  readonly path: string;
  readonly body: string;
  readonly wallMs: number;
}

export const namespace = 'team';
const baseUrl = 'http://127.0.0.1:8088';

export class InProcess {
  readonly clock: SuspendableClock;
  readonly cluster: MemoryCluster;
  readonly service: Simulator;
  readonly trace: Trace = { lines: [] };
  readonly leadership: Leadership & { why: string | undefined } = {
    why: undefined,
    mayAct() {
      return this.why;
    },
  };
  /** How far the clocks of Kubernetes and of the service are ahead of this machine's. */
  readonly ahead = { clusterMs: 0, serviceMs: 0 };
  /** What operators that start from now on may do. */
  powers: InProcessOptions['powers'];
  /** The operator's own key; another one counts from the next process on. */
  key = 'a key made up for tests';
  interference: Interference = () => undefined;
  /** What each way of each request to Kubernetes takes from now on. */
  kubeLatencyMs = 0;
  kube: CheckedKube;
  operator: Operator;
  /** Of the newest process. */
  metrics: MetricRegistry | undefined;
  calls = 0;
  /** How many times its process died and another took its place. */
  deaths = 0;
  /** Every request that went out and was no read. */
  readonly sent: Sent[] = [];
  readonly #options: InProcessOptions;
  #generation = 0;

  constructor(options: InProcessOptions = {}) {
    this.#options = options;
    this.powers = options.powers;
    this.clock = options.beside?.clock ?? new SuspendableClock();
    const entropy = new SeededEntropy((options.seed ?? 1) + 1_000);
    this.cluster = options.beside?.cluster ?? new MemoryCluster(this.clock, entropy);
    this.service = options.beside?.service ?? this.#simulator(options);
    this.kube = new CheckedKube(this.cluster, () => this.kubeLatencyMs);
    this.operator = this.#assemble();
  }

  #simulator(options: InProcessOptions): Simulator {
    return createSimulator({
      clock: 'virtual',
      world: options.world ?? 'demo',
      readings: options.readings ?? {},
      seed: String(options.seed ?? 1),
      wallNow: () => this.clock.wall(),
      wait: (ms) => new Promise((resolve) => void this.clock.after(ms, resolve)),
    });
  }

  /** Starts the operator; with `takeOverMs` as if it had taken over. */
  async start(takeOverMs = 0): Promise<void> {
    this.operator.watch();
    await settle();
    await this.operator.synced();
    this.operator.act(takeOverMs);
    await settle();
  }

  /** The process dies, with everything it has in memory, and another takes its place. */
  async crash(takeOverMs = 0): Promise<void> {
    this.kill();
    this.deaths += 1;
    await settle();
    this.kube = new CheckedKube(this.cluster, () => this.kubeLatencyMs);
    this.operator = this.#assemble();
    await this.start(takeOverMs);
  }

  /** The process dies: nothing it does from now on has any effect. */
  kill(): void {
    this.#generation += 1;
    this.kube.mute();
    this.kube.cut = true;
  }

  /** The machine sleeps while time passes everywhere else. */
  sleep(ms: number): void {
    this.clock.suspend(ms);
    this.service.advance(ms);
  }

  /** Lets time pass everywhere; throws when the operator wrote a status that is not as it must be. */
  async run(ms: number): Promise<void> {
    await this.#pass(ms);
    const flaws = this.kube.flaws.splice(0);
    if (flaws.length > 0) throw new Error(flaws.slice(0, 5).join('\n'));
  }

  async #pass(ms: number): Promise<void> {
    const until = this.clock.monotonic() + ms;
    await settle();
    for (;;) {
      const next = Math.min(this.clock.nextAt ?? until, until);
      const step = Math.max(0, next - this.clock.monotonic());
      this.service.advance(step);
      await this.clock.advance(step);
      if (this.clock.monotonic() >= until && (this.clock.nextAt ?? Number.POSITIVE_INFINITY) > until) return;
    }
  }

  /** Creates an object of ours, or changes its spec and annotations. */
  apply(
    kind: string,
    name: string,
    spec: object,
    annotations: Readonly<Record<string, string>> = {},
    within = namespace,
  ): KubeObject {
    const resource = this.#resource(kind);
    const where = resource.namespaced ? within : undefined;
    const known = this.cluster.get(resource, where, name);
    if (known === undefined) {
      return this.cluster.create(resource, where, {
        apiVersion: `${group}/${version}`,
        kind,
        metadata: { name, ...(where !== undefined && { namespace: where }), annotations },
        spec,
      });
    }
    const metadata = { ...known.metadata, annotations };
    return this.cluster.update(resource, where, name, { ...known, metadata, spec }, 'object');
  }

  /** Somebody writes over the status of an object. */
  tamper(kind: string, name: string, change: (status: Readonly<Record<string, unknown>>) => object): void {
    const resource = this.#resource(kind);
    const known = this.get(kind, name);
    if (known === undefined) throw new Error(`${kind} ${name} does not exist`);
    const status = change((known.status ?? {}) as Readonly<Record<string, unknown>>);
    this.cluster.update(resource, known.metadata.namespace, name, { ...known, status }, 'status');
  }

  delete(kind: string, name: string, within = namespace): void {
    const resource = this.#resource(kind);
    this.cluster.delete(resource, resource.namespaced ? within : undefined, name);
  }

  get(kind: string, name: string, within = namespace): KubeObject | undefined {
    const resource = this.#resource(kind);
    return this.cluster.get(resource, resource.namespaced ? within : undefined, name);
  }

  /** Creates a Secret or replaces its values. */
  secret(name: string, values: Readonly<Record<string, string>>, within = namespace): void {
    const data = Object.fromEntries(
      Object.entries(values).map(([key, value]) => [key, Buffer.from(value).toString('base64')]),
    );
    const body = { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace: within }, data };
    const known = this.cluster.get(secretResource, within, name);
    if (known === undefined) this.cluster.create(secretResource, within, body);
    else this.cluster.update(secretResource, within, name, { ...body, metadata: known.metadata }, 'object');
  }

  /** An account `default` with the admin's token. */
  account(spec: object = {}, within = namespace): void {
    this.secret('hosting-credentials', { baseUrl, token: 'demo-admin' }, within);
    const usual = { externalId: 'acc_demo', credentialsRef: { name: 'hosting-credentials' } };
    this.apply('HostingAccount', 'default', { ...usual, ...spec }, {}, within);
  }

  /** Calls the simulator's control surface. */
  async control(method: string, path: string, body?: unknown): Promise<unknown> {
    const reply = await this.service.handle({
      method,
      url: `/_sim${path}`,
      headers: { host: '127.0.0.1:8088', 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    if (reply.kind !== 'answered' || reply.status >= 300)
      throw new Error(`${method} ${path}: ${JSON.stringify(reply)}`);
    return reply.body === '' ? undefined : JSON.parse(reply.body);
  }

  /** Calls the public interface as somebody else does. */
  async request(
    method: string,
    path: string,
    body?: unknown,
    token = 'demo-admin',
  ): Promise<{ status: number; body: unknown }> {
    const reply = await this.#handle(
      method,
      `/api/public/v1${path}`,
      token,
      body === undefined ? undefined : JSON.stringify(body),
    );
    if (reply.kind !== 'answered') throw new Error(`no answer: ${reply.kind}`);
    return { status: reply.status, body: reply.body === '' ? undefined : JSON.parse(reply.body) };
  }

  /** Commits of the service, newest last. */
  async ledger(): Promise<readonly { kind: string; id: string }[]> {
    const { items } = (await this.control('GET', '/ledger')) as { items: readonly { kind: string; id: string }[] };
    return items;
  }

  #resource(kind: string): ReturnType<typeof resourceOf> {
    const found = (this.#options.kinds ?? allKinds).find((one) => one.kind === kind);
    if (found === undefined) throw new Error(`${kind} is not a kind`);
    return resourceOf(found);
  }

  #handle(method: string, url: string, token: string, body: string | undefined): Promise<Reply> {
    return this.service.handle({
      method,
      url,
      headers: {
        host: '127.0.0.1:8088',
        authorization: token,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body }),
    });
  }

  #wire(): Wire {
    const generation = this.#generation;
    return async (request) => {
      if (generation !== this.#generation) return new Promise(() => undefined);
      this.calls += 1;
      const path = request.path.split('?', 1)[0] ?? '';
      const what = this.interference({ method: request.method, path, body: request.body, count: this.calls });
      if (what === 'refuseConnection') return { failed: 'connection', message: 'refused' };
      const stopped = request.start();
      if (stopped !== undefined) return { failed: 'connection', message: stopped };
      if (request.method !== 'GET')
        this.sent.push({ method: request.method, path, body: request.body ?? '', wallMs: this.clock.wall() });
      if (what === 'loseBefore') return { failed: 'connection', message: 'reset' };
      if (what === 'hangBefore') return timedOut(request.signal);
      if (typeof what === 'object' && 'insteadOf' in what) return forged(what.insteadOf);
      const { method, headers } = request;
      if (typeof what === 'object' && 'lateMs' in what) {
        const arrive = () => void this.#handle(method, request.path, headers['authorization'] ?? '', request.body);
        this.clock.after(what.lateMs, arrive);
        return { failed: 'connection', message: 'reset' };
      }
      const reply = await Promise.race([
        this.#handle(method, request.path, headers['authorization'] ?? '', request.body),
        aborted(request.signal),
      ]);
      if (generation !== this.#generation) return new Promise(() => undefined);
      if (reply === 'aborted' || what === 'loseAnswer') return { failed: 'connection', message: 'reset' };
      if (what === 'hangAfter') return timedOut(request.signal);
      if (typeof what === 'object' && 'afterwards' in what) return forged(what.afterwards);
      const dateMs = this.service.now() + this.ahead.serviceMs;
      const told = what === undefined ? reply : retold(reply, what.retold);
      return received(dated(told, dateMs), request.signal);
    };
  }

  /** Time as one process knows it: it ends with the process. */
  #lifetime(): Clock {
    const { clock } = this;
    const generation = this.#generation;
    const after = (delayMs: number, wake: () => void) =>
      clock.after(delayMs, () => {
        if (generation === this.#generation) wake();
      });
    return { wall: () => clock.wall(), monotonic: () => clock.monotonic(), after };
  }

  #assemble(): Operator {
    const options = this.#options;
    const clock = this.#lifetime();
    const entropy = new SeededEntropy((options.seed ?? 1) + this.#generation);
    const log = collecting(this.trace.lines);
    const metrics = new MetricRegistry(false, (name) => {
      throw new Error(`there is no metric ${name}`);
    });
    this.metrics = metrics;
    const hosting = openHosting({
      clock,
      entropy,
      log,
      metrics,
      hostRules: { allowedHosts: [], allowInsecureLoopback: true, allowPrivateAddresses: false, proxy: undefined },
      callDeadlineMs: options.callDeadlineMs ?? 30_000,
      wire: this.#wire(),
    });
    return createOperator({
      kinds: options.kinds ?? allKinds,
      api: Object.assign(this.kube, {
        serverDate: () => ({ dateMs: this.clock.wall() + this.ahead.clusterMs, seenAt: this.clock.monotonic() }),
      }),
      hosting,
      leadership: this.leadership,
      clock,
      entropy,
      log,
      metrics,
      key: new OperatorKey(new Secret(this.key)),
      instance: `operator-${this.#generation}`,
      operatorNamespace: 'apphosting-system',
      namespace: undefined,
      selector: options.selector,
      secretWatch: options.secretWatch ?? 'on',
      settings: {
        readOnly: options.readOnly ?? false,
        ...(this.powers !== undefined && { powers: { sinceMs: this.clock.wall(), ...this.powers } }),
        horizonMs: options.horizonMs ?? 120_000,
        callDeadlineMs: options.callDeadlineMs ?? 30_000,
        pollMs: options.pollMs ?? 60_000,
        workers: options.workers ?? 8,
      },
    });
  }
}

/** What the server of a real service adds to every answer. */
function dated(reply: Reply, dateMs: number): Reply {
  if (reply.kind !== 'answered') return reply;
  return { ...reply, headers: { date: new Date(dateMs).toUTCString(), ...reply.headers } };
}

function collecting(lines: string[]): Log {
  const at = (level: string) => (fields: object, message: string) => {
    lines.push(
      `${level} ${message} ${JSON.stringify(fields, (_key, value: unknown) => (value instanceof Error ? value.stack : value))}`,
    );
  };
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}
