import { poll } from '../../../src/sandbox/control-plane/deadline.ts';
import { eventually, waiting } from './kubernetes.ts';
import type { Tenant } from './tenant.ts';

/** A recovery point, exactly as the status of a protection lists it. */
export interface Point {
  readonly selectedOperationId: string;
  readonly pointId: string;
  readonly cutoffTime: string;
  readonly configurationGeneration: number;
}

/** What a protection is made with, besides its name. */
interface Wanted {
  readonly protectionMode?: 'Cold' | 'Warm';
  /** Recovery points to take beyond the first. */
  readonly points?: number;
}

/** An environment of a tenant that is protected, under the name of its app. */
export class Protection {
  readonly tenant: Tenant;
  readonly name: string;
  readonly appEnvId: string;
  readonly configurationId: string;
  readonly generation: number;
  /** Newest first. */
  readonly points: readonly Point[];

  private constructor(
    at: Pick<Protection, 'tenant' | 'name' | 'appEnvId'>,
    shown: Pick<Protection, 'configurationId' | 'generation' | 'points'>,
  ) {
    this.tenant = at.tenant;
    this.name = at.name;
    this.appEnvId = at.appEnvId;
    this.configurationId = shown.configurationId;
    this.generation = shown.generation;
    this.points = shown.points;
  }

  /** A database of its own in `eu-west`, protected in `us-east`, whose enrollment is over and whose points are listed. */
  static async enrolled(
    tenant: Tenant,
    name: string,
    { protectionMode = 'Cold', points = 2 }: Wanted = {},
  ): Promise<Protection> {
    const { service, accountId, token } = tenant;
    const app = { accountId, name, dockerPreset: 'POSTGRESQL', port: 5432 };
    const { appId } = (await service.call(token, 'POST', '/app', app)) as { appId: string };
    const environment = { appId, name: 'production', region: 'eu-west', status: 'running', volumes: 1 };
    const { appEnvId } = (await service.control('POST', '/environments', environment)) as { appEnvId: string };
    const protection = await Protection.applied({ tenant, name, appEnvId }, { protectionMode });
    const { configurationId } = protection;
    while ((await protection.commits('enrollment.succeeded')) === 0) await protection.tell({ nextPhase: true });
    if (protectionMode === 'Cold')
      await service.control('POST', `/configurations/${configurationId}/points`, { count: points });
    await tenant.lookAt('DisasterProtection', name);
    await tenant.becomes('DisasterProtection', name, 'True/InSync');
    const settled = await protection.again();
    // From here on nothing happens to it but what the test tells, however slow the machine is.
    await settled.tell({ hold: true });
    return settled;
  }

  /** A protection of an environment that is there, bound and no more. */
  static async applied(at: Pick<Protection, 'tenant' | 'name' | 'appEnvId'>, more: object = {}): Promise<Protection> {
    const { tenant, name, appEnvId } = at;
    await tenant.apply('DisasterProtection', name, {
      environmentRef: { externalId: appEnvId },
      destinationRegion: 'us-east',
      protectionMode: 'Cold',
      snapshotIntervalSeconds: 300,
      target: targetOf(name),
      ...more,
    });
    return new Protection(at, { configurationId: '', generation: 0, points: [] }).again(0);
  }

  /** The same protection as its status shows it now, once that lists as many points. */
  async again(least = 1): Promise<Protection> {
    const { tenant, name } = this;
    const look = async () => {
      const {
        externalId: configurationId,
        configurationGeneration: generation,
        recoveryPoints = [],
      } = ((await tenant.get('DisasterProtection', name))?.status ?? {}) as {
        externalId?: string;
        configurationGeneration?: number;
        recoveryPoints?: readonly Point[];
      };
      if (configurationId === undefined || generation === undefined || recoveryPoints.length < least) return undefined;
      return { configurationId, generation, points: recoveryPoints };
    };
    const shown = await poll(look, waiting);
    if (shown === undefined) throw new Error(`${name} does not list ${least} recovery points`);
    return new Protection(this, shown);
  }

  /** The spec of an activation of its newest point, valid for an hour. */
  activation(more: object = {}): object {
    const [newest] = this.points;
    return {
      protectionRef: { name: this.name },
      configurationId: this.configurationId,
      recoveryPoint: newest && pinned(newest),
      target: targetOf(this.name),
      confirmation: `${this.name}/production`,
      validUntil: inSeconds(3_600),
      ...more,
    };
  }

  /** The spec of a reset of just this configuration, valid for an hour. */
  reset(more: object = {}): object {
    return {
      scope: 'Environment',
      environmentRef: { externalId: this.appEnvId },
      configurationId: this.configurationId,
      configurationGeneration: this.generation,
      confirmation: 'production',
      acknowledgements: ['DeletesProtectionAndLeftovers'],
      validUntil: inSeconds(3_600),
      ...more,
    };
  }

  /** Tells the service what happens to the configuration. */
  async tell(what: object): Promise<void> {
    await this.tenant.service.control('PATCH', `/configurations/${this.configurationId}`, what);
  }

  /** Disturbs calls that name this configuration; the returned function leaves the next ones alone. */
  async disturb(path: string, effect: object, count = 1): Promise<() => Promise<void>> {
    const { service } = this.tenant;
    const match = { method: 'POST', path: `/disaster-readiness/${path}`, bodyContains: this.#named(path), count };
    const { faultId } = (await service.control('POST', '/faults', { match, effect })) as { faultId: string };
    return async () => {
      await service.control('DELETE', `/faults/${faultId}`);
    };
  }

  /** What a call about this protection carries: a reset names the environment. */
  #named(path: string): string {
    return path === 'reset' ? this.appEnvId : this.configurationId;
  }

  /** How often the service did something to this configuration. */
  async commits(kind: string): Promise<number> {
    const ledger = await this.tenant.service.ledger();
    return ledger.filter(
      ({ kind: what, detail }) => what === kind && detail['configurationId'] === this.configurationId,
    ).length;
  }

  /** How many activations the service ever accepted for it. */
  activations(): Promise<number> {
    return this.commits('activation.accepted');
  }

  /** Has the activation that runs fail so often that it may be discarded. */
  async keepFailing(): Promise<void> {
    await this.tell({ setPhase: 'promoting', failSteps: 100 });
    for (let failed = 0; failed < 6; failed += 1) await this.tell({ nextPhase: true });
  }

  /** Ends the activation that runs, as the service does when all went well. */
  async promote(): Promise<void> {
    const running = async () => (await this.activations()) > 0;
    await eventually(`an activation of ${this.name} runs`, running);
    await this.tell({ setPhase: 'succeeded' });
    await this.tenant.lookAt('DisasterProtection', this.name);
  }
}

/** The names that what is recovered gets. */
export function targetOf(name: string): { environmentName: string; appName: string; createNewApp: true } {
  return { environmentName: 'recovered', appName: `${name}-recovered`, createNewApp: true };
}

/** The part of a point that an activation pins. */
export function pinned({ selectedOperationId, pointId, cutoffTime, configurationGeneration }: Point): Point {
  return { selectedOperationId, pointId, cutoffTime, configurationGeneration };
}

/** A moment from now, as specs write it. */
export function inSeconds(seconds: number): string {
  return new Date(Date.now() + seconds * 1_000).toISOString().replace(/\.\d+Z$/, 'Z');
}
