/**
 * Random orders of everything that can happen to one protection and the requests about it, in the whole system: what people and
 * GitOps tools apply, delete and apply again, deaths, two operators at once, a cluster that is restored from a backup, clocks that
 * differ, calls that are lost or late, and what others do in the service. The service's own ledger judges.
 */
import { activationId } from '../../src/kinds/recovery-activation/content.ts';
import type { ClusterSnapshot } from '../support/memory/memory-cluster.ts';
import type { Disturbance } from '../support/disturbed-wire.ts';
import { InProcess } from '../support/in-process.ts';
import { SeededEntropy } from '../../src/cli/in-memory/virtual-clock.ts';
import type { Lived } from '../properties/whole/whole-run.ts';
import { leaksOf } from '../properties/walk.ts';
import { anActivation, conditionOf, statusOf, target, type ProtectionStatus } from './support.ts';

const kinds = ['RecoveryActivation', 'ActivationDiscard', 'DisasterReset'] as const;
const byHand = 'hand-token';
const powers = { activation: true, accountReset: false };
const protection = {
  environmentRef: { externalId: 'env_db_prod' },
  destinationRegion: 'us-east',
  protectionMode: 'Cold',
  snapshotIntervalSeconds: 3_600,
  target,
};

/** How the service shows operations: whole in every other run, and else in one of these ways. */
const readings: readonly Readonly<Record<string, string>>[] = [
  { 'dr.operations': 'withoutIds', 'activate.receipt': 'opaque' },
  { 'dr.operations': 'asNamed' },
  { 'dr.operations': 'asNamed', 'activate.receipt': 'opaque' },
  { 'dr.operations': 'withoutIds', 'activate.receipt': 'opaque', 'dr.disclosed': 'minimal' },
];

function readingsOf(seed: number): Readonly<Record<string, string>> {
  return seed % 2 === 0 ? {} : (readings[((seed - 1) / 2) % readings.length] ?? {});
}

interface Commit {
  readonly at: string;
  readonly kind: string;
  readonly id: string;
  readonly token: string | null;
  readonly requestId?: string;
  readonly detail: { readonly configurationId?: string; readonly generation?: number; readonly name?: string };
}

/** What a finished activation claims. */
interface Claimed {
  readonly externalId?: string;
  readonly result?: { readonly targetEnvironmentId?: string };
}

interface Request {
  readonly kind: (typeof kinds)[number];
  readonly name: string;
  readonly spec: Readonly<Record<string, unknown>>;
}

/** The id that a spec of an activation has, wherever it is applied. */
function requestIdOf(spec: Request['spec']): string {
  // What is applied here is valid, and of an account only what tells it from others counts.
  const asked = { spec, account: { endpoint: '127.0.0.1:8088', accountId: 'acc_demo' } } as unknown;
  return activationId(asked as Parameters<typeof activationId>[0]);
}

/** One run: a world, a second operator in it, and what was ever asked for. */
class Run {
  readonly world: InProcess;
  readonly other: InProcess;
  readonly said: string[] = [];
  readonly #entropy: SeededEntropy;
  /** Manifests as they stand in somebody's repository: applied again, they are the same. */
  readonly #requests: Request[] = [];
  #backup: ClusterSnapshot | undefined;
  readonly #leaks: string[] = [];
  #enrollment = 1;
  #enrolled = 1;

  constructor(seed: number) {
    this.#entropy = new SeededEntropy(seed);
    this.world = new InProcess({ powers, seed, readings: readingsOf(seed) });
    this.other = new InProcess({ powers, seed: seed + 7, beside: this.world });
  }

  async begin(): Promise<void> {
    const { world } = this;
    await world.control('POST', '/tokens', { token: byHand, memberships: [{ accountId: 'acc_demo', role: 'admin' }] });
    await world.start();
    world.account();
    world.apply('DisasterProtection', 'orders', protection);
    await world.run(65_000);
    // An activation that takes its time can be discarded.
    if (this.#entropy.fraction() < 0.7) await this.#tell({ hold: true });
    if (this.#entropy.fraction() < 0.3) await this.other.start();
    // Most of what is worth trying concerns an activation that is there.
    if (this.#entropy.fraction() < 0.7) {
      await this.#request();
      await world.run(this.#pick([1_000, 8_000, 30_000]));
    }
  }

  /** One thing happens. */
  async happen(): Promise<void> {
    const events = [
      ...[1, 2, 3, 4, 5, 6].map(() => () => this.#request()),
      ...[1, 2].map(() => () => this.#again()),
      ...[1, 2].map(() => () => this.#lose()),
      () => this.#crash(),
      () => this.#restore(),
      () => this.#clocks(),
      () => this.#protection(),
      ...[1, 2].map(() => () => this.#service()),
    ];
    await this.#pick(events)();
    await this.world.run(this.#pick([500, 2_000, 8_000, 30_000, 160_000]));
  }

  /** Nothing disturbs any more; what was begun comes to its end. */
  async calm(): Promise<void> {
    const { world, other } = this;
    for (const one of [world, other]) {
      one.interference = () => undefined;
      Object.assign(one.ahead, { clusterMs: 0, serviceMs: 0 });
    }
    await this.#tell({ hold: false });
    await world.run(400_000);
  }

  #pick<Item>(items: readonly Item[]): Item {
    const item = items[Math.floor(this.#entropy.fraction() * items.length)];
    if (item === undefined) throw new Error('nothing to pick from');
    return item;
  }

  get #status(): Partial<ProtectionStatus> {
    return statusOf<Partial<ProtectionStatus>>(this.world, 'DisasterProtection', 'orders');
  }

  /** What the newest activation says that it is, however it ended. */
  get #lastOperationId(): string {
    const activations = this.#requests.filter(({ kind }) => kind === 'RecoveryActivation');
    return (
      activations.flatMap(({ kind, name }) => statusOf<Claimed>(this.world, kind, name).externalId ?? []).at(-1) ?? ''
    );
  }

  /** Somebody writes a manifest for what the protection shows now, and applies it. */
  async #request(): Promise<void> {
    const { world } = this;
    const {
      externalId: configurationId,
      configurationGeneration: generation,
      activeOperation,
      activationResult,
      recoveryPoints = [],
    } = this.#status;
    const validUntil = new Date(world.clock.wall() + this.#pick([120_000, 3_600_000])).toISOString();
    const pinned = { configurationId, configurationGeneration: generation, validUntil };
    const name = `r${this.#requests.length}`;
    const kind =
      activeOperation === undefined
        ? this.#pick(['RecoveryActivation', 'RecoveryActivation', 'DisasterReset'] as const)
        : this.#pick([...kinds, 'ActivationDiscard', 'ActivationDiscard'] as const);
    if (configurationId === undefined) return;
    if (kind === 'RecoveryActivation' && recoveryPoints.length > 0) {
      const suffix = this.#pick(['', '-b']);
      const names = { ...target, environmentName: `recovered${suffix}`, appName: `orders${suffix}-recovered` };
      const more = { target: names, attempt: this.#pick([1, 1, 2]), validUntil };
      const after = this.#pick(['', activationResult?.operationId ?? '', this.#lastOperationId]);
      const spec = anActivation(world, { ...more, ...(after !== '' && { afterOperationId: after }) });
      this.#apply({ kind, name, spec: spec as Request['spec'] });
    } else if (kind === 'ActivationDiscard' && activeOperation !== undefined) {
      const { operationId } = activeOperation;
      // It hangs, and so may be discarded.
      await this.#tell({ setPhase: 'promoted', hold: true });
      const acknowledgement = 'DiscardsRecoveredData';
      this.#apply({ kind, name, spec: { ...pinned, operationId, acknowledgement, protectionRef: { name: 'orders' } } });
    } else if (kind === 'DisasterReset') {
      const whole = {
        scope: 'Environment',
        environmentRef: { externalId: 'env_db_prod' },
        confirmationName: 'production',
      };
      this.#apply({ kind, name, spec: { ...pinned, ...whole, acknowledgements: ['DeletesProtectionAndLeftovers'] } });
    }
  }

  #apply(request: Request): void {
    if (!this.#requests.includes(request)) this.#requests.push(request);
    this.said.push(`apply ${request.kind} ${request.name}`);
    this.world.apply(request.kind, request.name, request.spec);
  }

  /** A manifest from before is deleted, applied again, or applied under another name. */
  async #again(): Promise<void> {
    if (this.#requests.length === 0) return;
    const request = this.#pick(this.#requests);
    const { kind, name } = request;
    const isThere = this.world.get(kind, name) !== undefined;
    const what = this.#pick(['delete', 'replace', 'copy'] as const);
    if (isThere && what !== 'copy') this.world.delete(kind, name);
    this.said.push(`${what} ${kind} ${name}`);
    if (what === 'replace') this.#apply(request);
    if (what === 'copy') this.#apply({ ...request, name: `r${this.#requests.length}` });
  }

  /** The next calls that change something are disturbed. */
  async #lose(): Promise<void> {
    const what = this.#pick<Disturbance>([
      'loseBefore',
      'loseAnswer',
      'hangAfter',
      { lateMs: this.#pick([3_000, 25_000]) },
      { insteadOf: { status: 500 } },
      { afterwards: { status: 502 } },
      { insteadOf: { status: 200, text: '{}' } },
    ]);
    let left = this.#pick([1, 2, 4]);
    this.said.push(`${left} times ${JSON.stringify(what)}`);
    for (const one of [this.world, this.other]) {
      one.interference = ({ method }) => {
        if (method === 'GET' || left === 0) return undefined;
        left -= 1;
        return what;
      };
    }
  }

  async #crash(): Promise<void> {
    const one = this.#pick([this.world, this.other]);
    this.said.push(one === this.world ? 'crash' : 'crash of the other');
    // Whoever takes over waits until calls of its predecessor can no longer arrive.
    await one.crash(120_000);
  }

  /** A backup of the cluster is made, or comes back. */
  async #restore(): Promise<void> {
    const { cluster } = this.world;
    this.said.push(this.#backup === undefined ? 'backup' : 'restore');
    if (this.#backup === undefined) this.#backup = cluster.snapshot();
    else {
      // A restored cluster has no history.
      await this.#lookForLeaks();
      cluster.restore(this.#backup);
    }
  }

  async #clocks(): Promise<void> {
    const apart = () => this.#pick([0, 0, 30_000, -30_000, 90_000, -90_000, -3_600_000]);
    const ahead = { clusterMs: apart(), serviceMs: apart() };
    this.said.push(JSON.stringify(ahead));
    for (const one of [this.world, this.other]) Object.assign(one.ahead, ahead);
  }

  async #protection(): Promise<void> {
    const { world } = this;
    const what = this.#pick(['edit', 'enroll', 'replace'] as const);
    this.said.push(`${what} the protection`);
    if (what !== 'edit') this.#enrolled += 1;
    if (what === 'enroll') this.#enrollment += 1;
    if (what === 'replace' && world.get('DisasterProtection', 'orders') !== undefined) {
      world.delete('DisasterProtection', 'orders');
    }
    const rtoTargetSeconds = this.#pick([3_600, 7_200, 10_800]);
    world.apply('DisasterProtection', 'orders', { ...protection, rtoTargetSeconds, enrollment: this.#enrollment });
  }

  /** What the service does by itself, or others do in it. */
  async #service(): Promise<void> {
    const { world } = this;
    const {
      externalId: configurationId,
      configurationGeneration: generation,
      recoveryPoints,
      activeOperation,
    } = this.#status;
    const whatever = ['stuck', 'stuck', 'recovers', 'failed', 'reset', 'edit', 'activate', 'discard'] as const;
    const what = this.#pick(whatever);
    this.said.push(`in the service: ${what}`);
    const base = { accountId: 'acc_demo' };
    const by = (path: string, body: object) =>
      world.request('POST', `/disaster-readiness/${path}`, { ...base, ...body }, byHand);
    const requestId = `hand-${this.said.length}`;
    switch (what) {
      case 'stuck':
        return this.#tell({ setPhase: 'promoted', hold: true });
      case 'recovers':
        return this.#tell({ hold: false });
      case 'failed':
        return this.#tell({ setPhase: 'failed' });
      case 'reset':
        return void (await by('reset', {
          scope: 'environment',
          sourceAppEnvId: 'env_db_prod',
          confirmationName: 'production',
        }));
      case 'edit': {
        const item = { sourceAppEnvId: 'env_db_prod', expectedGeneration: generation, rpoTargetMs: 7_200_000 };
        return void (await by('configure', { common: {}, items: [{ ...item, requestId }] }));
      }
      case 'discard': {
        await this.#tell({ setPhase: 'promoted', hold: true });
        const { operationId } = activeOperation ?? {};
        const pinned = { configurationId, expectedGeneration: generation, operationId };
        return void (await by('discard-activation', { ...pinned, requestId, discardAcknowledged: true }));
      }
      case 'activate': {
        const [point] = recoveryPoints ?? [];
        const { selectedOperationId, pointId, cutoffTime: cutoffAt } = point ?? {};
        const names = { envName: requestId, appName: requestId, createNewApp: true };
        const pinned = { configurationId, expectedGeneration: generation, selectedOperationId, pointId, cutoffAt };
        return void (await by('activate', { ...pinned, requestId, target: names, writerSafetyAcknowledged: true }));
      }
    }
  }

  /** The control surface refuses what does not fit the moment; then nothing happens. */
  async #tell(what: object): Promise<void> {
    const { externalId: configurationId } = this.#status;
    const headers = { host: '127.0.0.1:8088', 'content-type': 'application/json' };
    const url = `/_sim/configurations/${configurationId}`;
    await this.world.service.handle({ method: 'PATCH', url, headers, body: JSON.stringify(what) });
  }

  async #lookForLeaks(): Promise<void> {
    for (const one of [this.world, this.other]) this.#leaks.push(...(await leaksOf(one, { planted: [] })));
  }

  /** What the ledger, and everything that was written, say against the run. */
  async wrong(): Promise<readonly string[]> {
    await this.#lookForLeaks();
    const ledger = (await this.world.ledger()) as unknown as readonly Commit[];
    return [
      ...new Set(this.#leaks),
      ...this.#activatedTwice(ledger),
      ...this.#wipedOrDiscardedUnasked(ledger),
      ...this.#enrolledTwice(ledger),
      ...this.#afterwards(ledger),
    ];
  }

  #activatedTwice(ledger: readonly Commit[]): readonly string[] {
    const inVain = new Set(['activation.failed', 'activation.discarded']);
    return ledger.flatMap((one, index) => {
      if (one.kind !== 'activation.accepted' || one.token === 'hand') return [];
      const before = ledger.slice(0, index);
      const earlier = before.filter(
        ({ kind, id, detail }) =>
          kind === 'activation.accepted' &&
          detail.configurationId === one.detail.configurationId &&
          !before.some((end) => end.id === id && inVain.has(end.kind)),
      );
      const asked = this.#requests.filter(
        ({ kind, spec }) => kind === 'RecoveryActivation' && requestIdOf(spec) === one.requestId,
      );
      const inTime = asked.filter(({ spec }) => Date.parse(String(spec['validUntil'])) + 30_000 >= Date.parse(one.at));
      const last = earlier.at(-1)?.id;
      const isAfter = last !== undefined && inTime.some(({ spec }) => spec['afterOperationId'] === last);
      return [
        ...(last === undefined || isAfter ? [] : [`${one.id} was activated although ${last} was`]),
        ...(asked.length === 0 ? [`${one.id} was activated, and nobody asked for it`] : []),
        ...(inTime.length === 0 ? [`${one.id} was activated after every approval had passed`] : []),
      ];
    });
  }

  #wipedOrDiscardedUnasked(ledger: readonly Commit[]): readonly string[] {
    return ledger.flatMap(({ kind, id, token, detail }) => {
      if (token === 'hand') return [];
      if (kind === 'configuration.wiped') {
        const asked = this.#requests.some(
          ({ kind: by, spec }) =>
            by === 'DisasterReset' &&
            spec['configurationId'] === detail.configurationId &&
            spec['configurationGeneration'] === detail.generation,
        );
        return asked ? [] : [`${detail.configurationId}@${detail.generation} was wiped, and nobody asked for it`];
      }
      const discards = this.#requests.filter(
        ({ kind: by, spec }) => by === 'ActivationDiscard' && spec['operationId'] === id,
      );
      return kind === 'discard.accepted' && discards.length === 0
        ? [`${id} was discarded, and nobody asked for it`]
        : [];
    });
  }

  #enrolledTwice(ledger: readonly Commit[]): readonly string[] {
    const made = ledger.filter(({ kind, token }) => kind === 'configuration.created' && token !== 'hand').length;
    return made > this.#enrolled ? [`${made} enrollments, and ${this.#enrolled} were asked for`] : [];
  }

  /** What status claims in the end must be so. */
  #afterwards(ledger: readonly Commit[]): readonly string[] {
    const happened = (kind: string, id: unknown) => ledger.some((commit) => commit.kind === kind && commit.id === id);
    return this.#requests.flatMap(({ kind, name, spec }) => {
      const ended = conditionOf(this.world, kind, name, 'Succeeded');
      if (kind === 'RecoveryActivation' && ended === 'False/OperationFailed') {
        const begun = ledger.find((commit) => commit.requestId === requestIdOf(spec));
        const isLive =
          happened('activation.succeeded', begun?.id) && !happened('configuration.wiped', spec['configurationId']);
        return isLive ? [`${kind} ${name} claims that ${begun?.id} failed, and it is live`] : [];
      }
      if (ended !== 'True/Succeeded') return [];
      const { externalId: operationId, result } = statusOf<Claimed>(this.world, kind, name);
      const claim = `${kind} ${name} claims success`;
      switch (kind) {
        case 'RecoveryActivation': {
          const made = ledger.find(
            (commit) => commit.kind === 'environment.created' && commit.id === result?.targetEnvironmentId,
          );
          const wanted = spec['target'] as typeof target;
          const isSo = happened('activation.succeeded', operationId) && made?.detail.name === wanted.environmentName;
          return isSo ? [] : [`${claim} with ${operationId}, which made ${made?.detail.name}`];
        }
        case 'ActivationDiscard':
          return happened('discard.accepted', spec['operationId']) ? [] : [claim];
        case 'DisasterReset':
          return happened('configuration.wiped', spec['configurationId']) ? [] : [claim];
      }
    });
  }
}

const happenings = 6;

/** What came of one run. */
interface Played extends Lived {
  /** What the service was made to do, each time by its kind of commit. */
  readonly tally: readonly string[];
}

/** Plays one run and says what was wrong with it. */
export async function play(seed: number): Promise<Played> {
  const run = new Run(seed);
  await run.begin();
  for (let count = 0; count < happenings; count += 1) await run.happen();
  await run.calm();
  const ledger = await run.world.ledger();
  const tally = ledger.map(({ kind }) => kind).filter((kind) => /accepted|wiped|created|succeeded/.test(kind));
  const wrong = await run.wrong();
  const told = wrong.map((flaw) => `${flaw} after: ${run.said.join('; ')}`);
  return { wrong: told, tally, happened: happenings, deaths: run.world.deaths + run.other.deaths };
}
