/**
 * Opens the connections of each account to the service and keeps them open.
 *
 * Guarantees: an account has one open `Service`, and another one for `spec.dangerousCredentialsRef` if its spec has
 * this field. Both are opened again when a Secret, the account id or the settings change. An account is bound to the
 * endpoint with which it first succeeded; nothing is sent to a different endpoint until the owner of the account
 * accepts that endpoint.
 */
import { type Json, isRecord } from '../../base/json.ts';
import { type Stored, storedInWords, accountLabel, partsOfKey } from '../objects/stored.ts';
import type { Reason } from '../kind/contract/reasons.ts';
import type { EngineOptions } from '../options.ts';
import type { Service, ServiceSettings, ThrottleListener, ListListener } from '../ports.ts';
import type { AccountView, Adoption } from '../kind/contract/pass.ts';
import type { Memory } from '../kind/contract/step.ts';
import { annotations } from '../kind/contract/define.ts';

/**
 * While an account is being deleted, the operator may still use the account's token for this long after the Secret was
 * deleted.
 */
const lastTokenMs = 600_000;

/**
 * Whether the resources of an account may use it, and if not, why. `rules` is a string made of the parts of the
 * account's spec that apply to these resources. When this string changes, the resources are reconciled.
 */
interface Admission {
  readonly admitted: boolean;
  readonly message: string;
  readonly rules: string;
}

/**
 * An account with an open connection to the service. While the connection stays open, `Accounts` changes `spec` and
 * `lastTokenUntil`, and `gate.ts` changes `admission` and the fields after it.
 */
export interface OpenAccount {
  readonly service: Service;
  /**
   * The connection with the credential of `spec.dangerousCredentialsRef`, or why that credential cannot be used.
   * Undefined for an account without this field.
   */
  readonly dangerous: Service | Closed | undefined;
  readonly fingerprint: string;
  readonly scope: 'Namespaced' | 'Cluster';
  spec: AccountSpec;
  /**
   * Monotonic time until which the account's token may still be used, for deletions only. Set when the Secret was
   * deleted before the account.
   */
  lastTokenUntil: number | undefined;
  /** The result of the account's own last reconcile; undefined before the first. */
  admission: Admission | undefined;
  /**
   * The keys of resources whose objects are suddenly missing from a list of the service, grouped by the key of the
   * list. While there are any, the account is frozen: nothing may be created or deleted in it (see `whyFrozen`).
   */
  readonly missing: Map<string, readonly string[]>;
  /**
   * The ids of objects in the service that carry this operator's ownership mark although no resource has their id, or
   * still waits for an object with this mark. Each id comes with the monotonic time at which the list was read in which
   * this was first found.
   */
  suspects: ReadonlyMap<string, number>;
  /**
   * True while some of the `suspects` (possible orphans) appeared in a list so recently that they are not reported as
   * orphans yet.
   */
  isSuspicious: boolean;
  /** The newest value of the annotation `apphosting.dev/accept-missing` that the operator has handled. */
  acceptedMissing: string | undefined;
}

type AccountTerms = Pick<AccountView, 'endpoint' | 'accountId' | 'managementPolicy' | 'adoption'>;

/**
 * Opens the connections of each account to the service: one with the Secret of `spec.credentialsRef`, and one with that
 * of `spec.dangerousCredentialsRef` if the spec has this field. Keeps them open while the account exists, and says why an
 * account cannot be used.
 */
export class Accounts {
  readonly #options: EngineOptions;
  readonly #onList: ListListener;
  readonly #onThrottled: ThrottleListener;
  readonly #opened = new Map<string, OpenAccount>();
  /**
   * The settings with which the connection of each account was last opened, and the time at which the account's Secret
   * was found to be missing.
   */
  readonly #last = new Map<string, { readonly settings: ServiceSettings; readonly goneAt: number | undefined }>();
  /** The reasons why the connections of accounts could not be opened at the last attempt, by account. */
  readonly #closed = new Map<string, Closed>();

  constructor(options: EngineOptions, onList: ListListener, onThrottled: ThrottleListener) {
    this.#options = options;
    this.#onList = onList;
    this.#onThrottled = onThrottled;
  }

  opened(key: string): OpenAccount | undefined {
    return this.#opened.get(key);
  }

  /** Returns the account to which this connection belongs, with its key. */
  accountWith(service: Service): readonly [string, OpenAccount] | undefined {
    return [...this.#opened].find(([, opened]) => servicesOf(opened).includes(service));
  }

  allOpened(): Iterable<readonly [string, OpenAccount]> {
    return this.#opened;
  }

  /**
   * Returns why the connection of an account could not be opened at the last attempt; undefined if that attempt
   * succeeded or there was none.
   */
  whyClosed(key: string): Closed | undefined {
    return this.#closed.get(key);
  }

  /** Opens the connection of an account, or returns why the connection cannot be opened. */
  async open(stored: Stored): Promise<OpenAccount | Closed> {
    const opened = await this.#open(stored);
    this.#closed.delete(stored.key);
    if (!('reason' in opened)) return opened;
    this.#closed.set(stored.key, opened);
    await this.close(stored.key);
    return opened;
  }

  async #open(stored: Stored): Promise<OpenAccount | Closed> {
    const current = await settingsOf(stored, specOf(stored).credentialsRef.name, this.#options);
    const lastToken = 'reason' in current ? this.#lastToken(stored, current) : undefined;
    const settings = lastToken?.settings ?? current;
    if ('reason' in settings) return settings;
    if (lastToken === undefined) this.#last.set(stored.key, { settings, goneAt: undefined });
    const special = await dangerousSettingsOf(stored, settings, this.#options);
    const { key } = this.#options;
    const fingerprint = key.fingerprint([printable(settings), special === undefined ? null : printable(special)]);
    const known = this.#opened.get(stored.key);
    const spec = specOf(stored);
    if (known !== undefined && known.fingerprint === fingerprint) {
      known.spec = spec;
      known.lastTokenUntil = lastToken?.until;
      return known;
    }
    // Open the new connection before closing the old one. If both use the same token, the new connection takes over a
    // pause that the service asked for. Once no connection with the token is open, the pause is forgotten.
    const service = await this.#openPinned(stored, settings);
    if ('reason' in service) return service;
    const dangerous = this.#openDangerous(special);
    const opened: OpenAccount = {
      service,
      dangerous,
      fingerprint,
      spec,
      scope: stored.kind.scope,
      lastTokenUntil: lastToken?.until,
      admission: undefined,
      missing: new Map(),
      suspects: new Map(),
      isSuspicious: false,
      acceptedMissing: acceptedMissingOf(stored),
    };
    this.#opened.set(stored.key, opened);
    // Do not wait for the old connection to close: its running calls end by themselves.
    if (known !== undefined) void ended(known);
    return opened;
  }

  async close(key: string): Promise<void> {
    const opened = this.#opened.get(key);
    this.#opened.delete(key);
    if (opened !== undefined) await ended(opened);
  }

  /** Forgets an account whose Kubernetes object is gone, and closes its connection. */
  async forget(key: string): Promise<void> {
    this.#last.delete(key);
    this.#closed.delete(key);
    await this.close(key);
  }

  async closeAll(): Promise<void> {
    await Promise.all([...this.#opened.keys()].map((key) => this.close(key)));
  }

  /** Returns where an account is, and what the operator may do in it. */
  terms({ spec, service, scope }: OpenAccount): AccountTerms {
    return {
      endpoint: service.endpoint,
      accountId: service.accountId,
      managementPolicy: this.#options.settings.readOnly ? 'Observe' : (spec.lifecycle?.managementPolicy ?? 'Manage'),
      adoption: spec.lifecycle?.adoption ?? (scope === 'Namespaced' ? 'ById' : 'Never'),
    };
  }

  /** Builds the view of an account: everything that a kind knows of the account when the kind decides on a step. */
  view(opened: OpenAccount): AccountView {
    const { spec, service } = opened;
    const { pollIntervalMs, rateLimitedMs, forecastPerHour } = service.polling();
    const { throttledUntil = 0 } = service.health();
    return {
      ...this.terms(opened),
      pollMs: spec.pollSeconds === undefined ? this.#options.settings.pollMs : spec.pollSeconds * 1_000,
      inEffect: { pollMs: pollIntervalMs, rateLimitedMs },
      budget: { ...allowanceOf(spec), forecastPerHour },
      ...this.slowdown(opened),
      readsThrottledMs: throttledUntil - this.#options.clock.monotonic(),
      frozen: whyFrozen(opened),
      acceptedMissing: opened.acceptedMissing,
    };
  }

  /**
   * Returns how much longer the service wants requests of this account to pause (`throttledMs`), and how much longer
   * they are sent at a lower rate (`slowedMs`). If the account has two credentials, each value is the longer of the
   * two. A pause of one credential does not stop the requests with the other one.
   */
  slowdown(opened: OpenAccount): Pick<AccountView, 'throttledMs' | 'slowedMs'> {
    const now = this.#options.clock.monotonic();
    const healths = servicesOf(opened).map((service) => service.health());
    const throttledMs = Math.max(...healths.map(({ throttledUntil = now }) => throttledUntil - now));
    const slowedMs = Math.max(...healths.map(({ slowedUntil = now }) => slowedUntil - now));
    return { ...(throttledMs > 0 && { throttledMs }), ...(slowedMs > 0 && { slowedMs }) };
  }

  /**
   * Builds the view that a kind gets of an account that cannot be used. It has the endpoint and the account id to which
   * the resource is bound.
   */
  viewWithout(account: Stored | undefined, { binding }: Memory): AccountView {
    const policy = account === undefined ? undefined : specOf(account).lifecycle?.managementPolicy;
    return {
      endpoint: binding?.endpoint ?? '',
      accountId: binding?.accountId ?? '',
      managementPolicy: this.#options.settings.readOnly ? 'Observe' : (policy ?? 'Manage'),
      adoption: 'Never',
      pollMs: this.#options.settings.pollMs,
      inEffect: { pollMs: this.#options.settings.pollMs, rateLimitedMs: undefined },
      frozen: undefined,
    };
  }

  /** True when a namespace may use the account. A cluster-wide account allows no namespace by default. */
  allows(account: Stored, namespace: string): boolean {
    if (account.kind.scope === 'Namespaced') return true;
    return isAllowed(specOf(account).allowedNamespaces, namespace, this.#options.labelsOf(namespace));
  }

  async #openPinned(stored: Stored, settings: ServiceSettings): Promise<Service | Closed> {
    const service = this.#options.hosting.open(settings, this.#onList, this.#onThrottled);
    if ('refused' in service) return { reason: 'HostNotAllowed', message: service.refused };
    const mismatch = pinned(stored, service.endpoint);
    if (mismatch !== undefined) await service.close();
    return mismatch ?? service;
  }

  #openDangerous(settings: ServiceSettings | Closed | undefined): Service | Closed | undefined {
    if (settings === undefined || 'reason' in settings) return settings;
    const { name: _measuredOnce, ...unnamed } = settings;
    const service = this.#options.hosting.open(unnamed, () => undefined, this.#onThrottled);
    if (!('refused' in service)) return service;
    return { reason: 'DangerousCredential', message: `spec.dangerousCredentialsRef: ${service.refused}` };
  }

  /**
   * Returns the last known settings of an account that is being deleted, for some time after its Secret is gone. The
   * deletion of a namespace may delete the Secret before the resources, whose deletion still needs the token.
   */
  #lastToken(stored: Stored, { reason }: Closed): { settings: ServiceSettings; until: number } | undefined {
    const last = this.#last.get(stored.key);
    if (reason !== 'SecretMissing' || last === undefined) return undefined;
    const now = this.#options.clock.monotonic();
    const goneAt = last.goneAt ?? now;
    const until = goneAt + lastTokenMs;
    if (until <= now) {
      this.#last.delete(stored.key);
      return undefined;
    }
    this.#last.set(stored.key, { ...last, goneAt });
    return stored.object.metadata.deletionTimestamp === undefined ? undefined : { settings: last.settings, until };
  }
}

/**
 * Returns a message that says why nothing may be created or deleted in an account: objects that its resources own are
 * suddenly missing from lists of the service. Returns undefined while none is missing.
 */
export function whyFrozen({ missing }: OpenAccount): string | undefined {
  if (missing.size === 0) return undefined;
  const count = [...missing.values()].flat().length;
  const names = [...missing.keys()].toSorted().slice(0, 3).join(', ');
  return `${count} owned object${count === 1 ? ' is' : 's are'} suddenly missing from the lists of the service (${names}); nothing is created or deleted in the account until each object is listed again or is proved gone; to accept that the objects are gone, set the annotation ${annotations.acceptMissing} of the account to a new text`;
}

/** Closes the connections of an account. */
async function ended(opened: OpenAccount): Promise<void> {
  await Promise.allSettled(servicesOf(opened).map((one) => one.close()));
}

/**
 * Returns the open connections of an account: that of `spec.credentialsRef`, and that of `spec.dangerousCredentialsRef`
 * if it is open.
 */
function servicesOf({ service, dangerous }: OpenAccount): readonly Service[] {
  return dangerous !== undefined && 'close' in dangerous ? [service, dangerous] : [service];
}

// ---- settings of an account ------------------------------------------------------------------------------------
//
// The settings with which the connection of an account is opened. They come from the account's spec and from the
// Secrets that the spec names.

/** The fields of an account's spec that are needed to open a connection to the service. */
interface AccountSpec {
  readonly externalId: string;
  readonly credentialsRef: { readonly name: string };
  readonly dangerousCredentialsRef?: { readonly name: string };
  readonly pollSeconds?: number;
  readonly lifecycle?: { readonly managementPolicy?: 'Manage' | 'Observe'; readonly adoption?: Adoption };
  readonly budget?: { readonly requestsPerSecond?: number; readonly concurrency?: number };
  readonly allowedNamespaces?: AllowedNamespaces;
}

/** The reason why an account has no open connection to the service. */
export interface Closed {
  readonly reason: Reason;
  readonly message: string;
}

/** Builds the settings from an account's spec and one of its Secrets. */
async function settingsOf(
  stored: Stored,
  name: string,
  { material, operatorNamespace, settings: { pollMs } }: EngineOptions,
): Promise<ServiceSettings | Closed> {
  if (stored.spec.is === 'invalid') return { reason: 'InvalidSpec', message: stored.spec.message };
  const spec = specOf(stored);
  const namespace = partsOfKey(stored.key).namespace || operatorNamespace;
  const secret = await material.secret(namespace, name);
  const unusable = (flaw: string): Closed => {
    const message = `Secret ${namespace}/${name} cannot be used: ${flaw}; the Secret of an account must have the keys baseUrl and token`;
    return { reason: 'SecretMissing', message };
  };
  if (secret === undefined) return unusable('the Secret does not exist');
  const [baseUrl, token] = [secret.get('baseUrl'), secret.get('token')];
  if (baseUrl === undefined) return unusable('the key "baseUrl" is missing');
  if (token === undefined) return unusable('the key "token" is missing');
  const flaw = tokenFlaw(token.reveal().trim());
  if (flaw !== undefined) return unusable(flaw);
  return {
    baseUrl: baseUrl.reveal().trim(),
    token,
    caBundle: secret.get('caBundle')?.reveal(),
    accountId: spec.externalId,
    pollSeconds: spec.pollSeconds ?? pollMs / 1_000,
    ...allowanceOf(spec),
    name: accountLabel(stored.object.metadata),
  };
}

/** Says what is wrong with a token; undefined for a good token. An HTTP header can carry printable ASCII only. */
function tokenFlaw(token: string): string | undefined {
  if (token === '') return 'the value of the key "token" is empty';
  if (/^[\x21-\x7e]+( [\x21-\x7e]+)*$/.test(token)) return undefined;
  return 'the value of the key "token" has characters other than printable ASCII, or two spaces in a row';
}

/**
 * Builds the settings of the connection that uses the credential of `spec.dangerousCredentialsRef`, or says why that
 * credential cannot be used, for example because its baseUrl differs from that of `spec.credentialsRef`. Returns undefined
 * if the spec does not set the field.
 */
async function dangerousSettingsOf(
  stored: Stored,
  main: ServiceSettings,
  options: EngineOptions,
): Promise<ServiceSettings | Closed | undefined> {
  const name = specOf(stored).dangerousCredentialsRef?.name;
  if (name === undefined) return undefined;
  const settings = await settingsOf(stored, name, options);
  const reason = 'DangerousCredential';
  if ('reason' in settings) return { reason, message: `spec.dangerousCredentialsRef: ${settings.message}` };
  if (settings.baseUrl === main.baseUrl) return settings;
  return {
    reason,
    message: `spec.dangerousCredentialsRef: the baseUrl in Secret ${name} differs from the baseUrl in the Secret of spec.credentialsRef`,
  };
}

/** Returns the request budget of an account. */
export function allowanceOf({ budget }: AccountSpec): Pick<ServiceSettings, 'requestsPerSecond' | 'concurrency'> {
  return { requestsPerSecond: budget?.requestsPerSecond ?? 5, concurrency: budget?.concurrency ?? 4 };
}

/** Converts the settings of a connection to JSON, from which a fingerprint is made. */
function printable(settings: ServiceSettings | Closed): Json {
  if ('reason' in settings) return settings.message;
  const { caBundle, ...rest } = settings;
  return { ...rest, caBundle: caBundle ?? '' };
}

/** Returns the spec of an account, or empty values when the spec is not valid. */
function specOf(stored: Stored): AccountSpec {
  if (stored.spec.is === 'valid' && isAccountSpec(stored.spec.value)) return stored.spec.value;
  return { externalId: '', credentialsRef: { name: '' } };
}

function isAccountSpec(value: unknown): value is AccountSpec {
  return isRecord(value) && typeof value['externalId'] === 'string' && isRecord(value['credentialsRef']);
}

/**
 * Returns the last handled value of the annotation `apphosting.dev/accept-missing`, which is stored in the account's
 * status.
 */
function acceptedMissingOf({ status }: Stored): string | undefined {
  const { facts } = status.memory;
  const token = isRecord(facts) ? facts['lastHandledAcceptMissing'] : undefined;
  return typeof token === 'string' ? token : undefined;
}

/**
 * Returns why the endpoint must not be used: the account first succeeded with a different endpoint, and no annotation
 * of the account accepts this one. Returns undefined if the endpoint may be used.
 */
function pinned(stored: Stored, endpoint: string): Closed | undefined {
  const pin = stored.status.memory.binding?.endpoint;
  if (pin === undefined || pin === endpoint) return undefined;
  const accepted = stored.object.metadata.annotations?.[annotations.acceptEndpoint];
  if (accepted === endpoint) return undefined;
  return {
    reason: 'EndpointChanged',
    message: `${storedInWords(stored)} is bound to the endpoint ${pin}, but its Secret now names ${endpoint}; nothing is sent to ${endpoint} until the account has the annotation ${annotations.acceptEndpoint}: ${endpoint}`,
  };
}

/** The namespaces that may use a cluster-wide account. */
interface AllowedNamespaces {
  readonly names?: readonly string[];
  readonly selector?: {
    readonly matchLabels?: Readonly<Record<string, string>>;
    readonly matchExpressions?: readonly {
      readonly key: string;
      readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';
      readonly values?: readonly string[];
    }[];
  };
}

type NamespaceLabels = Readonly<Record<string, string>>;

/**
 * True when a namespace may use the account. By default no namespace may. A selector selects no namespace whose labels
 * are unknown.
 */
function isAllowed(allowed: AllowedNamespaces | undefined, name: string, labels: NamespaceLabels | undefined): boolean {
  if (allowed?.names?.includes(name) === true) return true;
  if (allowed?.selector === undefined || labels === undefined) return false;
  const { matchLabels = {}, matchExpressions = [] } = allowed.selector;
  const equal = Object.entries(matchLabels).every(([key, value]) => labels[key] === value);
  return equal && matchExpressions.every((expression) => matches(expression, labels));
}

function matches(
  expression: NonNullable<NonNullable<AllowedNamespaces['selector']>['matchExpressions']>[number],
  labels: NamespaceLabels,
): boolean {
  const value = labels[expression.key];
  const values = expression.values ?? [];
  switch (expression.operator) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
  }
}
