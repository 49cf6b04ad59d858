import { ApiException, PatchStrategy, setHeaderOptions } from '@kubernetes/client-node';
import type { Condition } from '../../../../src/engine/kind/contract/step.ts';
import { randomUUID } from 'node:crypto';
import { poll } from '../../../../src/sandbox/poll.ts';
import type { KubeObject } from '../../../../src/engine/ports.ts';
import type { HostingService } from '../hosting-service.ts';
import { eventually, waiting, type Api } from '../kubernetes.ts';

const ours = { group: 'apphosting.dev', version: 'v1alpha1' };
const serverSideApply = setHeaderOptions('Content-Type', PatchStrategy.ServerSideApply);

/** The plural of each kind that tenants use. */
const plurals = {
  HostingAccount: 'hostingaccounts',
  HostedApp: 'hostedapps',
  AppEnvironment: 'appenvironments',
  SolutionInstallation: 'solutioninstallations',
  MemberAccess: 'memberaccesses',
  ContactPoint: 'contactpoints',
  MetricAlert: 'metricalerts',
  DisasterProtection: 'disasterprotections',
  RecoveryValidation: 'recoveryvalidations',
  RecoveryActivation: 'recoveryactivations',
  ActivationDiscard: 'activationdiscards',
  DisasterReset: 'disasterresets',
} as const;

/** A kind that tenants use. */
export type TenantKind = keyof typeof plurals;

/** A user of the operator: a namespace, and an account of the service that nobody else uses. */
export class Tenant {
  readonly namespace: string;
  readonly accountId: string;
  readonly token: string;
  /** An environment that alerts can be made for. */
  readonly appEnvId: string;
  readonly #api: Api;
  readonly service: HostingService;

  private constructor(api: Api, service: HostingService, namespace: string, accountId: string, appEnvId: string) {
    this.#api = api;
    this.service = service;
    this.namespace = namespace;
    this.accountId = accountId;
    this.appEnvId = appEnvId;
    this.token = `planted-token-${accountId}`;
  }

  /** A new tenant in a namespace of its own, or in this one; a bare one has no app and no environment yet. */
  static async arrive(api: Api, service: HostingService, given?: string, how?: 'bare'): Promise<Tenant> {
    const unique = randomUUID().slice(0, 8);
    const namespace = given ?? `t-${unique}`;
    const accountId = `acc_${unique}`;
    if (given === undefined) await api.core.createNamespace({ body: { metadata: { name: namespace } } });
    await service.control('POST', '/accounts', { accountId, name: unique });
    const token = `planted-token-${accountId}`;
    const membership = { accountId, role: 'admin', permissions: ['manageMembers', 'secretsAccess'] };
    await service.control('POST', '/tokens', { token, memberships: [membership], currentAccountId: accountId });
    if (how === 'bare') return new Tenant(api, service, namespace, accountId, '');
    const app = { accountId, name: 'shop', dockerPreset: 'POSTGRESQL', port: 5432 };
    const made = (await service.call(token, 'POST', '/app', app)) as { appId: string };
    const environment = { appId: made.appId, name: 'prod', region: 'eu-west', status: 'running' };
    const { appEnvId } = (await service.control('POST', '/environments', environment)) as { appEnvId: string };
    return new Tenant(api, service, namespace, accountId, appEnvId);
  }

  /** The same account for another namespace, or in another cluster. */
  elsewhere(api: Api, namespace: string): Tenant {
    return new Tenant(api, this.service, namespace, this.accountId, this.appEnvId);
  }

  /** The credentials and the account `default`. */
  async openAccount(spec: object = {}, annotations: Readonly<Record<string, string>> = {}): Promise<void> {
    await this.secret('hosting-credentials', { baseUrl: this.service.url, token: this.token });
    const credentialsRef = { name: 'hosting-credentials' };
    const wanted = { externalId: this.accountId, credentialsRef, budget: { requestsPerSecond: 50 } };
    await this.apply('HostingAccount', 'default', { ...wanted, ...spec }, annotations);
  }

  /** Creates an object or changes it to this. */
  async apply(
    kind: TenantKind,
    name: string,
    spec: object,
    annotations: Readonly<Record<string, string>> = {},
  ): Promise<void> {
    const metadata = { name, namespace: this.namespace, annotations };
    const body = { apiVersion: 'apphosting.dev/v1alpha1', kind, metadata, spec };
    const patch = { ...this.#one(kind, name), body, fieldManager: 'tests', force: true };
    await this.#api.custom.patchNamespacedCustomObject(patch, serverSideApply);
  }

  async secret(name: string, values: Readonly<Record<string, string>>): Promise<void> {
    const { namespace } = this;
    const body = { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace }, stringData: values };
    const patch = { name, namespace, body, fieldManager: 'tests', force: true };
    await this.#api.core.patchNamespacedSecret(patch, serverSideApply);
  }

  async removeSecret(name: string): Promise<void> {
    await this.#api.core.deleteNamespacedSecret({ name, namespace: this.namespace });
  }

  async get(kind: TenantKind, name: string): Promise<KubeObject | undefined> {
    const asked: Promise<KubeObject> = this.#api.custom.getNamespacedCustomObject(this.#one(kind, name));
    return ifThere(asked);
  }

  async delete(kind: TenantKind, name: string): Promise<void> {
    await ifThere(this.#api.custom.deleteNamespacedCustomObject(this.#one(kind, name)));
  }

  /** Deletes all that it has in the cluster, and waits until that is gone. */
  async clear(): Promise<void> {
    for (const kind of ['MetricAlert', 'ContactPoint', 'HostingAccount'] as const) {
      await this.#api.custom.deleteCollectionNamespacedCustomObject(this.#all(kind));
      const gone = await poll(async () => ((await this.#list(kind)).length === 0 ? true : undefined), waiting);
      if (gone === undefined) throw new Error(`every ${kind} should be gone: ${await this.everythingWritten()}`);
    }
  }

  async leave(): Promise<void> {
    await this.#api.core.deleteNamespace({ name: this.namespace });
  }

  /** Whether its namespace has gone. */
  async hasLeft(): Promise<boolean> {
    return (await ifThere(this.#api.core.readNamespace({ name: this.namespace }))) === undefined;
  }

  /** A field of status. */
  async status(kind: TenantKind, name: string, field: string): Promise<unknown> {
    const object = await this.get(kind, name);
    return (object?.status as Readonly<Record<string, unknown>> | undefined)?.[field];
  }

  /** What status keeps for the operator alone. */
  async internal(kind: TenantKind, name: string, field: string): Promise<unknown> {
    const internal = await this.status(kind, name, 'internal');
    return (internal as Readonly<Record<string, unknown>> | undefined)?.[field];
  }

  /** Whether a call to create an object has begun; it may be over before anybody has seen that. */
  async hasBegun(kind: TenantKind, name: string): Promise<boolean> {
    const status = (await this.get(kind, name))?.status as { externalId?: string; internal?: { journal?: unknown } };
    return status?.internal?.journal !== undefined || status?.externalId !== undefined;
  }

  async condition(kind: TenantKind, name: string, type: string): Promise<Condition | undefined> {
    const conditions = (await this.status(kind, name, 'conditions')) as readonly Condition[] | undefined;
    return conditions?.find((condition) => condition.type === type);
  }

  /** Waits until Ready is `STATUS/REASON` for the newest generation, and returns its message. */
  async becomes(kind: TenantKind, name: string, wanted: string): Promise<string> {
    let last = 'there is no such object';
    const look = async () => {
      const object = await this.get(kind, name);
      const { conditions = [] } = (object?.status ?? {}) as { conditions?: readonly Condition[] };
      const ready = conditions.find(({ type }) => type === 'Ready');
      last = JSON.stringify(conditions);
      const isCurrent = ready?.observedGeneration === object?.metadata.generation;
      return ready !== undefined && isCurrent && `${ready.status}/${ready.reason}` === wanted
        ? ready.message
        : undefined;
    };
    const message = await poll(look, waiting);
    if (message === undefined) throw new Error(`${kind} ${name} does not become ${wanted}: ${last}`);
    return message;
  }

  /** Asks for a look at the service now, and not at the next poll. */
  async lookAt(kind: TenantKind, name: string): Promise<string> {
    const token = randomUUID();
    const annotations = { 'apphosting.dev/reconcile-at': token };
    const merge = setHeaderOptions('Content-Type', PatchStrategy.MergePatch);
    const patch = { ...this.#one(kind, name), body: { metadata: { annotations } } };
    await this.#api.custom.patchNamespacedCustomObject(patch, merge);
    return token;
  }

  /** Waits until the operator has looked at an object and at the service anew: whatever it still wanted to do, it has begun. */
  async isLookedAt(kind: TenantKind, name: string): Promise<void> {
    const token = await this.lookAt(kind, name);
    const handled = async () => (await this.status(kind, name, 'lastHandledReconcileAt')) === token;
    await eventually(`${kind} ${name} is looked at`, handled);
    await this.becomes(kind, name, 'True/InSync');
  }

  /** Waits until an object is gone from the cluster. */
  async goes(kind: TenantKind, name: string): Promise<void> {
    const look = async () => ((await this.get(kind, name)) === undefined ? true : undefined);
    if ((await poll(look, waiting)) !== undefined) return;
    throw new Error(`${kind} ${name} does not go: ${JSON.stringify((await this.get(kind, name))?.status)}`);
  }

  /** Contact points that the service holds for this account. */
  async contactPoints(): Promise<readonly { readonly contactPointId: string; readonly name: string }[]> {
    const path = `/contact-points?accountId=${this.accountId}`;
    const listed = (await this.service.call(this.token, 'GET', path)) as {
      contactPoints: readonly { contactPointId: string; name: string }[];
    };
    return listed.contactPoints;
  }

  /** Commits of this account, by kind of commit. */
  async commits(kind?: string): Promise<number> {
    const ledger = await this.service.ledger();
    return ledger.filter((row) => row.accountId === this.accountId && (kind === undefined || row.kind === kind)).length;
  }

  /** Everything that the operator wrote into the namespace. */
  async everythingWritten(): Promise<string> {
    const kinds = Object.keys(plurals) as readonly TenantKind[];
    return JSON.stringify([
      await this.#api.happened.listNamespacedEvent({ namespace: this.namespace }),
      ...(await Promise.all(kinds.map((kind) => this.#list(kind)))),
    ]);
  }

  async #list(kind: TenantKind): Promise<readonly unknown[]> {
    const listed: { items: readonly unknown[] } = await this.#api.custom.listNamespacedCustomObject(this.#all(kind));
    return listed.items;
  }

  #all(kind: TenantKind) {
    return { ...ours, namespace: this.namespace, plural: plurals[kind] };
  }

  #one(kind: TenantKind, name: string) {
    return { ...this.#all(kind), name };
  }
}

/** What is answered; undefined where nothing of that name is there. */
async function ifThere<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof ApiException && error.code === 404) return undefined;
    throw error;
  }
}
