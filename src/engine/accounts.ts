/**
 * The accounts: which service a resource works with, and whether it may.
 *
 * Guarantees: one service per account and credential, opened again when the Secret, the account id or its settings change;
 * nothing is sent for an account whose endpoint is not the one that was pinned.
 */
import { entryInWords, type Entry } from './book.ts';
import type { Reason } from './kind/reasons.ts';
import { isRecord } from './memory.ts';
import { isAllowed, type AllowedNamespaces } from './allowed-namespaces.ts';
import { annotations, partsOfKey } from './names.ts';
import type { Clock, Hosting, Json, Material, Service, ServiceSettings, WalkListener } from './ports.ts';
import type { AccountView, Adoption } from './kind/pass.ts';
import type { Memory } from './kind/step.ts';

/** How long the last token of an account that is being deleted may be used after its Secret has gone. */
export const farewellMs = 600_000;

/** The account kinds' spec as far as opening the service needs it. */
interface AccountSpec {
  readonly accountId: string;
  readonly credentialsRef: { readonly name: string };
  readonly dangerousCredentialsRef?: { readonly name: string };
  readonly mode?: 'Manage' | 'Observe';
  readonly pollSeconds?: number;
  readonly adoption?: Adoption;
  readonly budget?: { readonly requestsPerSecond?: number; readonly concurrency?: number };
  readonly allowedNamespaces?: AllowedNamespaces;
}

/** An account whose service is open. */
export interface Session {
  readonly service: Service;
  /** A credential of its own for the calls that a mistake makes expensive, or why it cannot be used; undefined without one. */
  readonly dangerous: Service | Closed | undefined;
  readonly print: string;
  readonly spec: AccountSpec;
  readonly scope: 'Namespaced' | 'Cluster';
  /** The Secret went before the account: until then (monotonic) the token serves what is being deleted, and nothing else. */
  readonly farewellUntil: number | undefined;
  /** What the account's own last pass said; undefined before the first. */
  standing: { readonly admitted: boolean; readonly reason: Reason; readonly message: string } | undefined;
  /** Why nothing may be created or deleted, when owned objects stopped showing. */
  frozen: string | undefined;
  /** Until when (monotonic) the service last asked to wait, where that was long enough to be worth a word. */
  throttledUntil: number | undefined;
  /** What carries our mark without a resource, and since when (monotonic) that shows. */
  suspects: ReadonlyMap<string, number>;
  /** Some of that shows for too short a time to be called orphaned. */
  isSuspicious: boolean;
  /** The token of `apphosting.dev/accept-missing` that was honoured. */
  acceptedMissing: string | undefined;
}

/** Why an account's service is not open. */
export interface Closed {
  readonly reason: Reason;
  readonly message: string;
}

export interface AccountsOptions {
  readonly clock: Clock;
  readonly hosting: Hosting;
  readonly material: Material;
  readonly print: (value: Json) => string;
  readonly onWalk: WalkListener;
  readonly operatorNamespace: string;
  readonly labelsOf: (namespace: string) => Readonly<Record<string, string>> | undefined;
  readonly readOnly: boolean;
}

export class Accounts {
  readonly #options: AccountsOptions;
  readonly #sessions = new Map<string, Session>();
  /** The settings that each account was opened with last, and when its Secret was found gone. */
  readonly #last = new Map<string, { readonly settings: ServiceSettings; readonly goneAt: number | undefined }>();

  constructor(options: AccountsOptions) {
    this.#options = options;
  }

  session(key: string): Session | undefined {
    return this.#sessions.get(key);
  }

  /** The account that a service belongs to. */
  keyOf(service: Service): string | undefined {
    for (const [key, session] of this.#sessions) if (session.service === service) return key;
    return undefined;
  }

  sessions(): Iterable<readonly [string, Session]> {
    return this.#sessions;
  }

  /** Opens the service of an account, or says why it cannot be. */
  async open(entry: Entry): Promise<Session | Closed> {
    const current = await this.#settings(entry, specOf(entry).credentialsRef.name);
    const farewell = 'reason' in current ? this.#farewell(entry, current) : undefined;
    if ('reason' in current && farewell === undefined) {
      await this.close(entry.key);
      return current;
    }
    const settings = farewell?.settings ?? current;
    if ('reason' in settings) return settings;
    if (farewell === undefined) this.#last.set(entry.key, { settings, goneAt: undefined });
    const special = await this.#dangerousSettings(entry, settings);
    const print = this.#options.print([printable(settings), special === undefined ? null : printable(special)]);
    const known = this.#sessions.get(entry.key);
    const spec = specOf(entry);
    if (known !== undefined && known.print === print) {
      return Object.assign(known, { spec, farewellUntil: farewell?.until });
    }
    await this.close(entry.key);
    const service = this.#options.hosting.open(settings, this.#options.onWalk);
    if ('refused' in service) return { reason: 'HostNotAllowed', message: service.refused };
    const mismatch = pinned(entry, service.endpoint);
    if (mismatch !== undefined) {
      await service.close();
      return mismatch;
    }
    const session: Session = {
      service,
      dangerous: special === undefined || 'reason' in special ? special : this.#openDangerous(special),
      print,
      spec,
      scope: entry.kind.scope,
      farewellUntil: farewell?.until,
      standing: undefined,
      frozen: undefined,
      throttledUntil: undefined,
      suspects: new Map(),
      isSuspicious: false,
      acceptedMissing: acceptedMissingOf(entry),
    };
    this.#sessions.set(entry.key, session);
    return session;
  }

  async close(key: string): Promise<void> {
    const session = this.#sessions.get(key);
    this.#sessions.delete(key);
    await session?.service.close();
    if (session?.dangerous !== undefined && 'close' in session.dangerous) await session.dangerous.close();
  }

  /** The account has gone: nothing of it is kept. */
  async forget(key: string): Promise<void> {
    this.#last.delete(key);
    await this.close(key);
  }

  async closeAll(): Promise<void> {
    await Promise.all([...this.#sessions.keys()].map((key) => this.close(key)));
  }

  /** What a pass sees of its account. */
  view(session: Session): AccountView {
    const { spec, service } = session;
    const { pollIntervalMs, roundMs } = service.health();
    const throttledMs = this.throttledMs(session);
    return {
      endpoint: service.endpoint,
      accountId: service.accountId,
      mode: this.#options.readOnly ? 'Observe' : (spec.mode ?? 'Manage'),
      adoption: spec.adoption ?? (session.scope === 'Namespaced' ? 'ById' : 'Never'),
      pollMs: (spec.pollSeconds ?? 60) * 1_000,
      inEffect: { pollMs: pollIntervalMs, roundMs },
      isThrottled: throttledMs !== undefined && throttledMs > 0,
      frozen: session.frozen,
      acceptedMissing: session.acceptedMissing,
    };
  }

  /** How much longer a pause that is worth a word lasts; undefined when there was none. */
  throttledMs({ throttledUntil }: Session): number | undefined {
    return throttledUntil === undefined ? undefined : throttledUntil - this.#options.clock.monotonic();
  }

  /** What is known of an account that cannot be used, for what was bound to it. */
  viewWithout(account: Entry | undefined, { binding }: Memory<unknown>): AccountView {
    const mode = account === undefined ? undefined : specOf(account).mode;
    return {
      endpoint: binding?.endpoint ?? '',
      accountId: binding?.accountId ?? '',
      mode: this.#options.readOnly ? 'Observe' : (mode ?? 'Manage'),
      adoption: 'Never',
      pollMs: 60_000,
      inEffect: { pollMs: 60_000, roundMs: undefined },
      frozen: undefined,
    };
  }

  /** Whether a namespace may use a cluster-wide account; nobody may by default. */
  allows(account: Entry, namespace: string): boolean {
    if (account.kind.scope === 'Namespaced') return true;
    return isAllowed(specOf(account).allowedNamespaces, namespace, this.#options.labelsOf(namespace));
  }

  /** The second credential is for the same host and the same account; without a Secret that says so it is not used. */
  async #dangerousSettings(entry: Entry, main: ServiceSettings): Promise<ServiceSettings | Closed | undefined> {
    const name = specOf(entry).dangerousCredentialsRef?.name;
    if (name === undefined) return undefined;
    const settings = await this.#settings(entry, name);
    const reason = 'DangerousCredential';
    if ('reason' in settings) return { reason, message: `spec.dangerousCredentialsRef: ${settings.message}` };
    if (settings.baseUrl === main.baseUrl) return settings;
    return {
      reason,
      message: `spec.dangerousCredentialsRef: Secret ${name} has another baseUrl than the one of spec.credentialsRef`,
    };
  }

  #openDangerous(settings: ServiceSettings): Service | Closed {
    const service = this.#options.hosting.open(settings, () => undefined);
    if (!('refused' in service)) return service;
    return { reason: 'DangerousCredential', message: `spec.dangerousCredentialsRef: ${service.refused}` };
  }

  /** In a namespace that is being deleted the Secret may go first: what was opened with it last serves for a while. */
  #farewell(entry: Entry, { reason }: Closed): { settings: ServiceSettings; until: number } | undefined {
    const last = this.#last.get(entry.key);
    if (reason !== 'SecretMissing' || last === undefined) return undefined;
    const now = this.#options.clock.monotonic();
    const goneAt = last.goneAt ?? now;
    const until = goneAt + farewellMs;
    if (until <= now) {
      this.#last.delete(entry.key);
      return undefined;
    }
    this.#last.set(entry.key, { ...last, goneAt });
    return entry.object.metadata.deletionTimestamp === undefined ? undefined : { settings: last.settings, until };
  }

  async #settings(entry: Entry, name: string): Promise<ServiceSettings | Closed> {
    if (entry.spec.is === 'invalid') return { reason: 'InvalidSpec', message: entry.spec.message };
    const spec = specOf(entry);
    const namespace = partsOfKey(entry.key).namespace || this.#options.operatorNamespace;
    const secret = await this.#options.material.secret(namespace, name);
    const where = `Secret ${namespace}/${name}`;
    if (secret === undefined)
      return { reason: 'SecretMissing', message: `${where} does not exist; it must hold baseUrl and token` };
    const [baseUrl, token] = [secret.get('baseUrl'), secret.get('token')];
    if (baseUrl === undefined || token === undefined) {
      const missing = baseUrl === undefined ? 'baseUrl' : 'token';
      return { reason: 'SecretMissing', message: `${where} has no key "${missing}"; it must hold baseUrl and token` };
    }
    return {
      baseUrl: baseUrl.reveal().trim(),
      token,
      caBundle: secret.get('caBundle')?.reveal(),
      accountId: spec.accountId,
      pollSeconds: spec.pollSeconds ?? 60,
      requestsPerSecond: spec.budget?.requestsPerSecond ?? 5,
      concurrency: spec.budget?.concurrency ?? 4,
    };
  }
}

/** Settings as something to take a fingerprint of. */
function printable(settings: ServiceSettings | Closed): Json {
  if ('reason' in settings) return settings.message;
  const { caBundle, ...rest } = settings;
  return { ...rest, caBundle: caBundle ?? '' };
}

/** The spec of an account, which its schema has checked. */
function specOf(entry: Entry): AccountSpec {
  if (entry.spec.is === 'valid' && isAccountSpec(entry.spec.value)) return entry.spec.value;
  return { accountId: '', credentialsRef: { name: '' } };
}

function isAccountSpec(value: unknown): value is AccountSpec {
  return isRecord(value) && typeof value['accountId'] === 'string' && isRecord(value['credentialsRef']);
}

/** The newest loss that the owner of the account has accepted, as status says. */
function acceptedMissingOf({ recollection }: Entry): string | undefined {
  const { facts } = recollection.memory;
  const token = isRecord(facts) ? facts['acceptedMissing'] : undefined;
  return typeof token === 'string' ? token : undefined;
}

/** An account stays with the endpoint of its first success until its owner accepts another by annotation. */
function pinned(entry: Entry, endpoint: string): Closed | undefined {
  const pin = entry.recollection.memory.binding?.endpoint;
  if (pin === undefined || pin === endpoint) return undefined;
  const accepted = entry.object.metadata.annotations?.[annotations.acceptEndpoint];
  if (accepted === endpoint) return undefined;
  return {
    reason: 'EndpointChanged',
    message: `${entryInWords(entry)} belongs to ${pin}, and the Secret now names ${endpoint}; nothing is sent there until the annotation ${annotations.acceptEndpoint}: ${endpoint} accepts it`,
  };
}
