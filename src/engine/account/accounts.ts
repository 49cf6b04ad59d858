/**
 * The accounts: which service a resource works with, and whether it may.
 *
 * Guarantees: one service per account and credential, opened again when the Secret, the account id or its settings change;
 * nothing is sent for an account whose endpoint is not the one that was pinned.
 */
import type { Json } from '../../base/json.ts';
import type { Clock } from '../../base/clock.ts';
import type { Stored } from '../objects/object-index.ts';
import type { Reason } from '../kind/contract/reasons.ts';
import {
  acceptedMissingOf,
  allowanceOf,
  dangerousSettingsOf,
  pinned,
  printable,
  settingsOf,
  specOf,
  type AccountSpec,
  type Closed,
  type SettingsSources,
} from './settings.ts';
import { isAllowed } from './allowed-namespaces.ts';
import type { Hosting, KnownSecrets, Material, Service, ServiceSettings, WalkListener } from '../ports.ts';
import type { Secret } from '../../base/secret.ts';
import type { AccountView } from '../kind/contract/pass.ts';
import type { Memory } from '../kind/contract/step.ts';

/** How long the last token of an account that is being deleted may be used after its Secret has gone. */
export const farewellMs = 600_000;

/** Whether an account serves those that use it, and by which rules of its spec. */
interface Admission {
  readonly admitted: boolean;
  readonly reason: Reason;
  readonly message: string;
  readonly rules: string;
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
  standing: Admission | undefined;
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
  /** What the objects of each account pass on to the service, whatever token it is opened with. */
  readonly #secrets = new Map<string, KnownSecrets>();
  /** Accounts whose objects were asked for their Secrets; later ones tell of theirs at each pass. */
  readonly #learned = new Set<string>();
  /** Services that are closed, and may have calls under way still. */
  readonly #ending = new Set<Promise<void>>();
  /** Why an account could not be opened when that was tried last. */
  readonly #closed = new Map<string, Closed>();

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

  hasLearned(key: string): boolean {
    return this.#learned.has(key);
  }

  learns(key: string): void {
    this.#learned.add(key);
  }

  /** Why an account is not open, where that was tried. */
  whyClosed(key: string): Closed | undefined {
    return this.#closed.get(key);
  }

  /** Opens the service of an account, or says why it cannot be. */
  async open(entry: Stored): Promise<Session | Closed> {
    const opened = await this.#open(entry);
    if ('reason' in opened) this.#closed.set(entry.key, opened);
    else this.#closed.delete(entry.key);
    return opened;
  }

  async #open(entry: Stored): Promise<Session | Closed> {
    const current = await settingsOf(entry, specOf(entry).credentialsRef.name, this.#around(entry));
    const farewell = 'reason' in current ? this.#farewell(entry, current) : undefined;
    if ('reason' in current && farewell === undefined) {
      await this.close(entry.key);
      return current;
    }
    const settings = farewell?.settings ?? current;
    if ('reason' in settings) return settings;
    if (farewell === undefined) this.#last.set(entry.key, { settings, goneAt: undefined });
    const special = await dangerousSettingsOf(entry, settings, this.#around(entry));
    const tokens = special === undefined || 'reason' in special ? [settings.token] : [settings.token, special.token];
    this.know(entry.key, 'the account itself', tokens, true);
    const print = this.#options.print([printable(settings), special === undefined ? null : printable(special)]);
    const known = this.#sessions.get(entry.key);
    const spec = specOf(entry);
    if (known !== undefined && known.print === print) {
      return Object.assign(known, { spec, farewellUntil: farewell?.until });
    }
    // Before the old one is closed: what is known of a credential lasts while somebody uses it, a pause among it.
    const service = await this.#openPinned(entry, settings);
    if ('reason' in service) {
      await this.close(entry.key);
      return service;
    }
    const dangerous = this.#openDangerous(special);
    const session: Session = {
      service,
      dangerous,
      print,
      spec,
      scope: entry.kind.scope,
      farewellUntil: farewell?.until,
      standing: undefined,
      frozen: undefined,
      throttledUntil: known?.throttledUntil === undefined ? undefined : service.health().throttledUntil,
      suspects: new Map(),
      isSuspicious: false,
      acceptedMissing: acceptedMissingOf(entry),
    };
    this.#sessions.set(entry.key, session);
    // Nobody waits for calls that are under way with the old one; each ends as what it is.
    if (known !== undefined) void this.#end(known);
    return session;
  }

  async close(key: string): Promise<void> {
    const session = this.#sessions.get(key);
    this.#sessions.delete(key);
    if (session !== undefined) await this.#end(session);
  }

  #end({ service, dangerous }: Session): Promise<void> {
    const services = dangerous !== undefined && 'close' in dangerous ? [service, dangerous] : [service];
    const ending = Promise.allSettled(services.map((one) => one.close())).then(() => {
      this.#ending.delete(ending);
    });
    this.#ending.add(ending);
    return ending;
  }

  /** What an object of an account passes on is not said of any answer to this account. */
  know(account: string, user: string, secrets: readonly Secret[], isToken = false): void {
    this.#secretsOf(account).know(user, secrets, isToken);
  }

  /** The object has gone, and passes nothing on any more. */
  unlearn(account: string, user: string): void {
    this.#secrets.get(account)?.forget(user);
  }

  /** The account has gone: nothing of it is kept. */
  async forget(key: string): Promise<void> {
    this.#secrets.delete(key);
    this.#last.delete(key);
    this.#learned.delete(key);
    this.#closed.delete(key);
    await this.close(key);
  }

  async closeAll(): Promise<void> {
    await Promise.all([...[...this.#sessions.keys()].map((key) => this.close(key)), ...this.#ending]);
  }

  /** What a pass sees of its account. */
  view(session: Session): AccountView {
    const { spec, service } = session;
    const { pollIntervalMs, roundMs, forecastPerHour, answeredAt } = service.health();
    const throttledMs = this.throttledMs(session);
    return {
      endpoint: service.endpoint,
      accountId: service.accountId,
      mode: this.#options.readOnly ? 'Observe' : (spec.mode ?? 'Manage'),
      adoption: spec.adoption ?? (session.scope === 'Namespaced' ? 'ById' : 'Never'),
      pollMs: (spec.pollSeconds ?? 60) * 1_000,
      inEffect: { pollMs: pollIntervalMs, roundMs },
      answeredAt,
      budget: { ...allowanceOf(spec), forecastPerHour },
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
  viewWithout(account: Stored | undefined, { binding }: Memory<unknown>): AccountView {
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
  allows(account: Stored, namespace: string): boolean {
    if (account.kind.scope === 'Namespaced') return true;
    return isAllowed(specOf(account).allowedNamespaces, namespace, this.#options.labelsOf(namespace));
  }

  #around(entry: Stored): SettingsSources {
    return { ...this.#options, secrets: this.#secretsOf(entry.key) };
  }

  #secretsOf(account: string): KnownSecrets {
    const known = this.#secrets.get(account) ?? this.#options.hosting.secretsInUse();
    this.#secrets.set(account, known);
    return known;
  }

  async #openPinned(entry: Stored, settings: ServiceSettings): Promise<Service | Closed> {
    const service = this.#options.hosting.open(settings, this.#options.onWalk);
    if ('refused' in service) return { reason: 'HostNotAllowed', message: service.refused };
    const mismatch = pinned(entry, service.endpoint);
    if (mismatch !== undefined) await service.close();
    return mismatch ?? service;
  }

  #openDangerous(settings: ServiceSettings | Closed | undefined): Service | Closed | undefined {
    if (settings === undefined || 'reason' in settings) return settings;
    const { name: _measuredOnce, ...unnamed } = settings;
    const service = this.#options.hosting.open(unnamed, () => undefined);
    if (!('refused' in service)) return service;
    return { reason: 'DangerousCredential', message: `spec.dangerousCredentialsRef: ${service.refused}` };
  }

  /** In a namespace that is being deleted the Secret may go first: what was opened with it last serves for a while. */
  #farewell(entry: Stored, { reason }: Closed): { settings: ServiceSettings; until: number } | undefined {
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
}
