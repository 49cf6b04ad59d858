/**
 * Disaster readiness amid the whole: protections that are enrolled, edited and made anew, trials, activations, and everything
 * that happens to the everyday kinds around them. Requests are made once: nothing twice, nothing unasked, no end that is not so.
 */
import type { Condition } from '../../../src/engine/kind/contract/step.ts';
import type { KubeObject } from '../../../src/engine/ports.ts';
import { flawsOf } from '../../support/memory/status-checker.ts';
import type { WholeLife } from './whole-life.ts';

const within = 'team';
/** The protections that people write, each of one environment. */
const protections = [
  { name: 'orders', app: 'orders-db', environment: 'production', appEnvId: 'env_db_prod' },
  { name: 'web', app: 'web', environment: 'production', appEnvId: 'env_web_prod' },
] as const;
type Protection = (typeof protections)[number];

interface ProtectionStatus {
  readonly configurationId?: string;
  readonly recoveryPoints?: readonly {
    readonly selectedOperationId: string;
    readonly pointId: string;
    readonly cutoffTime: string;
    readonly configurationGeneration: number;
  }[];
}

interface Commit {
  readonly kind: string;
  readonly id: string;
  readonly requestId?: string;
  readonly detail: { readonly configurationId?: string; readonly sourceAppEnvId?: string; readonly name?: string };
}

/** A manifest of something that is made once, as it stands in somebody's repository. */
interface Once {
  readonly kind: 'RecoveryValidation' | 'RecoveryActivation';
  readonly name: string;
  readonly spec: Readonly<Record<string, unknown>>;
}

/** What people do about disaster readiness in one life, and what they asked for. */
export class Readiness {
  readonly #life: WholeLife;
  readonly #once: Once[] = [];
  /** How often a trial was asked for: one that is deleted and applied again may be made again. */
  #trials = 0;
  readonly #enrollments = new Map<string, number>();
  readonly #asked = new Map<string, number>();

  constructor(life: WholeLife) {
    this.#life = life;
  }

  begin(): void {
    for (const protection of protections) this.#protect(protection);
  }

  /** One thing happens. */
  happen(): void {
    const { draw } = this.#life;
    const kind = draw.below(10);
    const protection = draw.of(protections);
    if (kind < 2) this.#protect(protection);
    else if (kind < 3) this.#enroll(protection);
    else if (kind < 4) this.#delete(protection);
    else if (kind < 6) this.#try(protection);
    else if (kind < 8) this.#activate(protection);
    else this.#again();
  }

  #protect({ name, app, appEnvId }: Protection): void {
    const { draw, world } = this.#life;
    const known = world.get('DisasterProtection', name, within);
    const enrollment = this.#enrollments.get(name) ?? 1;
    // Who is made anew enrolls anew, if the configuration has gone meanwhile.
    if (known === undefined) this.#asked.set(appEnvId, (this.#asked.get(appEnvId) ?? 0) + 1);
    this.#life.tell(`apply DisasterProtection ${name} enrollment ${enrollment}`);
    world.apply('DisasterProtection', name, {
      environmentRef: { externalId: appEnvId },
      destinationRegion: 'us-east',
      protectionMode: 'Cold',
      snapshotIntervalSeconds: 3_600,
      rpoTargetSeconds: draw.of([7_200, 14_400]),
      target: { environmentName: 'recovered', appName: `${app}-recovered`, createNewApp: true },
      enrollment,
    });
  }

  #enroll(protection: Protection): void {
    this.#enrollments.set(protection.name, (this.#enrollments.get(protection.name) ?? 1) + 1);
    this.#asked.set(protection.appEnvId, (this.#asked.get(protection.appEnvId) ?? 0) + 1);
    this.#protect(protection);
  }

  #delete({ name }: Protection): void {
    if (this.#life.world.get('DisasterProtection', name, within) === undefined) return;
    this.#life.tell(`delete DisasterProtection ${name}`);
    this.#life.world.delete('DisasterProtection', name, within);
  }

  #try({ name }: Protection): void {
    this.#apply({ kind: 'RecoveryValidation', name: `trial-${this.#once.length}`, spec: { protectionRef: { name } } });
  }

  #activate({ name, app, environment }: Protection): void {
    const { draw, world } = this.#life;
    const status = world.get('DisasterProtection', name, within)?.status as ProtectionStatus | undefined;
    const { configurationId, recoveryPoints = [] } = status ?? {};
    const [point] = recoveryPoints;
    if (configurationId === undefined || point === undefined) return;
    const { selectedOperationId, pointId, cutoffTime, configurationGeneration } = point;
    const suffix = draw.of(['', '-b']);
    this.#apply({
      kind: 'RecoveryActivation',
      name: `now-${this.#once.length}`,
      spec: {
        protectionRef: { name },
        configurationId,
        recoveryPoint: { selectedOperationId, pointId, cutoffTime, configurationGeneration },
        target: { environmentName: `recovered${suffix}`, appName: `${app}${suffix}-recovered`, createNewApp: true },
        acknowledgements: ['WriterSafety'],
        confirmation: `${app}/${environment}`,
        validUntil: new Date(world.clock.wall() + draw.of([300_000, 7_200_000])).toISOString(),
      },
    });
  }

  #apply(request: Once): void {
    const { world } = this.#life;
    if (world.get(request.kind, request.name, within) !== undefined) return;
    if (!this.#once.includes(request)) this.#once.push(request);
    if (request.kind === 'RecoveryValidation') this.#trials += 1;
    this.#life.tell(`apply ${request.kind} ${request.name} ${JSON.stringify(request.spec)}`);
    world.apply(request.kind, request.name, request.spec);
  }

  /** A manifest from before is deleted and applied again, or once more under another name. */
  #again(): void {
    const { draw, world } = this.#life;
    if (this.#once.length === 0) return;
    const request = draw.of(this.#once);
    if (draw.chance(0.6) && world.get(request.kind, request.name, within) !== undefined) {
      this.#life.tell(`delete ${request.kind} ${request.name}`);
      world.delete(request.kind, request.name, within);
      this.#apply(request);
    } else if (request.kind === 'RecoveryActivation') {
      this.#apply({ ...request, name: `now-${this.#once.length}` });
    }
  }

  /** Everything that is wrong once all is calm. */
  async findings(): Promise<readonly string[]> {
    const ledger = await this.#ledger();
    return [
      ...this.#doubled(ledger),
      ...this.#enrolledUnasked(ledger),
      ...this.#once.flatMap((request) => this.#ofRequest(request, ledger)),
      ...protections.flatMap(({ name }) => this.#ofProtection(name)),
    ];
  }

  /** What an activation brought belongs to nobody's resource, and is no left-over. */
  async disown(): Promise<void> {
    for (const { kind, id, detail } of await this.#ledger())
      if (kind === 'app.created' && detail.name?.endsWith('-recovered') === true) this.#life.theirs.add(id);
  }

  async #ledger(): Promise<readonly Commit[]> {
    return (await this.#life.world.ledger()) as unknown as readonly Commit[];
  }

  /** How much came of it: a life in which nothing was tried proves nothing. */
  async tally(): Promise<Readonly<Record<string, number>>> {
    const ledger = await this.#life.world.ledger();
    const count = (wanted: string) => ledger.filter(({ kind }) => kind === wanted).length;
    return Object.fromEntries(
      ['configuration.created', 'validation.accepted', 'activation.accepted'].map((kind) => [kind, count(kind)]),
    );
  }

  #doubled(ledger: readonly Commit[]): readonly string[] {
    const inVain = new Set(['activation.failed', 'activation.discarded']);
    const trials = ledger.filter(({ kind, requestId }) => kind === 'validation.accepted' && requestId !== undefined);
    const activations = ledger.filter(
      ({ kind, id }) => kind === 'activation.accepted' && !ledger.some((end) => end.id === id && inVain.has(end.kind)),
    );
    // A cluster that went back in time may not know of a trial: where the configuration has changed since, it is asked for anew.
    const forgotten = this.#life.isRewound ? this.#once.filter(({ kind }) => kind === 'RecoveryValidation').length : 0;
    const asked = this.#trials + forgotten;
    const of = ({ detail }: Commit) => detail.configurationId;
    const twice = activations.filter((one, at) => activations.findIndex((other) => of(other) === of(one)) < at);
    return [
      ...twice.map(({ id, detail }) => `${id} activates ${detail.configurationId} once more`),
      ...(trials.length > asked ? [`${trials.length} trials were accepted, and ${asked} were asked for`] : []),
    ];
  }

  #enrolledUnasked(ledger: readonly Commit[]): readonly string[] {
    return protections.flatMap(({ appEnvId }) => {
      const made = ledger.filter(
        ({ kind, detail }) => kind === 'configuration.created' && detail.sourceAppEnvId === appEnvId,
      ).length;
      const asked = this.#asked.get(appEnvId) ?? 0;
      return made > asked ? [`${appEnvId} was enrolled ${made} times, and ${asked} times it was asked for`] : [];
    });
  }

  #ofRequest({ kind, name }: Once, ledger: readonly Commit[]): readonly string[] {
    const object = this.#life.world.get(kind, name, within);
    if (object === undefined) return [];
    const where = `${kind} ${name}`;
    const { externalId: operationId } = (object.status ?? {}) as { externalId?: string };
    const succeeded = conditionOf(object, 'Succeeded');
    const ready = conditionOf(object, 'Ready');
    const came = (what: string) => ledger.some((commit) => commit.kind === what && commit.id === operationId);
    const words = `${where} says ${ready?.status}/${ready?.reason}: ${ready?.message}`;
    const isOver = ready?.status === 'True' || conditionOf(object, 'Stalled')?.status === 'True';
    const accepted = kind === 'RecoveryValidation' ? 'validation.accepted' : 'activation.accepted';
    return [
      ...flawsOf(object).map((flaw) => `${where}: ${flaw}`),
      ...(isOver || ready?.reason === 'ReferenceNotReady' ? [] : [`${words}, and comes to no end`]),
      ...(succeeded?.status === 'True' && !came(accepted) ? [`${words}, but ${operationId} was never accepted`] : []),
      ...(succeeded?.status === 'True' && kind === 'RecoveryActivation' && !came('activation.succeeded')
        ? [`${words}, but ${operationId} did not succeed`]
        : []),
    ];
  }

  #ofProtection(name: string): readonly string[] {
    const object = this.#life.world.get('DisasterProtection', name, within);
    if (object === undefined) return [];
    const ready = conditionOf(object, 'Ready');
    const isSettled = ready?.status === 'True' || conditionOf(object, 'Stalled')?.status === 'True';
    return [
      ...flawsOf(object).map((flaw) => `DisasterProtection ${name}: ${flaw}`),
      ...(isSettled ? [] : [`DisasterProtection ${name} says ${ready?.status}/${ready?.reason}: ${ready?.message}`]),
    ];
  }
}

function conditionOf(object: KubeObject, type: string): Condition | undefined {
  const { conditions = [] } = (object.status ?? {}) as { conditions?: readonly Condition[] };
  return conditions.find((condition) => condition.type === type);
}
