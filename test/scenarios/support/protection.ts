import { poll } from '../../../src/sandbox/poll.ts';
import { eventually, waiting } from './kubernetes.ts';
import type { Tenant } from './stages/tenant.ts';

/** A recovery point, exactly as the status of a protection lists it. */
interface Point {
  readonly selectedOperationId: string;
  readonly pointId: string;
  readonly cutoffTime: string;
  readonly configurationGeneration: number;
}

/** An environment of a tenant that is protected, under the name of its app. */
export class Protection {
  readonly tenant: Tenant;
  readonly name: string;
  readonly configurationId: string;
  /** Newest first. */
  readonly points: readonly Point[];

  private constructor(at: Pick<Protection, 'tenant' | 'name'>, shown: Pick<Protection, 'configurationId' | 'points'>) {
    this.tenant = at.tenant;
    this.name = at.name;
    this.configurationId = shown.configurationId;
    this.points = shown.points;
  }

  /** A database of its own in `eu-west`, protected in `us-east`, whose enrollment is over and whose points are listed. */
  static async enrolled(tenant: Tenant, name: string, protectionMode: 'Cold' | 'Warm' = 'Cold'): Promise<Protection> {
    const { service, accountId, token } = tenant;
    const app = { accountId, name, dockerPreset: 'POSTGRESQL', port: 5432 };
    const { appId } = (await service.call(token, 'POST', '/app', app)) as { appId: string };
    const environment = { appId, name: 'production', region: 'eu-west', status: 'running', volumes: 1 };
    const { appEnvId } = (await service.control('POST', '/environments', environment)) as { appEnvId: string };
    await tenant.apply('DisasterProtection', name, {
      environmentRef: { externalId: appEnvId },
      destinationRegion: 'us-east',
      protectionMode,
      snapshotIntervalSeconds: 300,
      target: targetOf(name),
    });
    const bound = await Protection.#shown({ tenant, name }, 0);
    while ((await bound.commits('enrollment.succeeded')) === 0) await bound.tell({ nextPhase: true });
    if (protectionMode === 'Cold')
      await service.control('POST', `/configurations/${bound.configurationId}/points`, { count: 2 });
    await tenant.lookAt('DisasterProtection', name);
    await tenant.becomes('DisasterProtection', name, 'True/InSync');
    const settled = await Protection.#shown(bound, 1);
    // From here on nothing happens to it but what the test tells, however slow the machine is.
    await settled.tell({ hold: true });
    return settled;
  }

  /** The protection as its status shows it now, once that names a configuration and lists as many points. */
  static async #shown(at: Pick<Protection, 'tenant' | 'name'>, least: number): Promise<Protection> {
    const look = async () => {
      const { status = {} } = (await at.tenant.get('DisasterProtection', at.name)) ?? {};
      const { externalId, recoveryPoints = [] } = status as {
        externalId?: string;
        recoveryPoints?: readonly Point[];
      };
      if (externalId === undefined || recoveryPoints.length < least) return undefined;
      return { configurationId: externalId, points: recoveryPoints };
    };
    const shown = await poll(look, waiting);
    if (shown === undefined) throw new Error(`${at.name} does not list ${least} recovery points`);
    return new Protection(at, shown);
  }

  /** The spec of an activation of its newest point, valid for an hour. */
  activation(): object {
    const [newest] = this.points;
    return {
      protectionRef: { name: this.name },
      configurationId: this.configurationId,
      recoveryPoint: newest && pinned(newest),
      target: targetOf(this.name),
      confirmation: `${this.name}/production`,
      validUntil: inSeconds(3_600),
    };
  }

  /** Tells the service what happens to the configuration. */
  async tell(what: object): Promise<void> {
    await this.tenant.service.control('PATCH', `/configurations/${this.configurationId}`, what);
  }

  /** Disturbs the next call of a path that names this configuration. */
  async disturb(path: string, effect: object): Promise<void> {
    const match = { method: 'POST', path: `/disaster-readiness/${path}`, bodyContains: this.configurationId, count: 1 };
    await this.tenant.service.control('POST', '/faults', { match, effect });
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
function targetOf(name: string): { environmentName: string; appName: string; createNewApp: true } {
  return { environmentName: 'recovered', appName: `${name}-recovered`, createNewApp: true };
}

/** The part of a point that an activation pins. */
function pinned({ selectedOperationId, pointId, cutoffTime, configurationGeneration }: Point): Point {
  return { selectedOperationId, pointId, cutoffTime, configurationGeneration };
}

/** A moment from now, as specs write it. */
function inSeconds(seconds: number): string {
  return new Date(Date.now() + seconds * 1_000).toISOString().replace(/\.\d+Z$/, 'Z');
}
