/**
 * How accounts stand: whether those that use one may go on, and what makes an account look at itself again.
 *
 * Guarantees: dependents are woken exactly when their account begins or ceases to serve them, or serves by other rules; an account whose lists suddenly
 * lack what we own is frozen until that is explained; counting what uses an account costs one pass for many changes.
 */
import type { Clock } from '../../base/clock.ts';
import type { InProcessStates } from '../objects/in-process.ts';
import { tie, type ObjectIndex, type Stored } from '../objects/object-index.ts';
import type { Subscriptions } from '../objects/subscriptions.ts';
import type { Accounts } from './accounts.ts';
import type { Reason } from '../kind/contract/reasons.ts';
import type { Verdict } from '../kind/contract/step.ts';
import { acceptMissingToken } from '../objects/names.ts';
import type { Service } from '../ports.ts';
import { urgencies, type WorkQueue } from '../queue/work-queue.ts';
import { Visibility, type Owned } from './visibility.ts';

/** An account counts its users this long after a change, once for all changes until then. */
const tallyMs = 30_000;
/** A longer pause of the service is reported in the account's status; a shorter one is waited out in the queue. */
const longPauseMs = 10_000;

/** Reasons for which an account is not Ready while its objects go on with what was read last. */
const passing: ReadonlySet<string> = new Set<Reason>([
  'VisibilityLost',
  'ServiceUnavailable',
  'UnexpectedResponse',
  'Throttled',
  'InUse',
  'InternalError',
  'Paused',
]);

/** What is shared with the engine. */
export interface GateParts {
  readonly objects: ObjectIndex;
  readonly accounts: Accounts;
  readonly subscriptions: Subscriptions;
  readonly inProcessStates: InProcessStates;
  readonly clock: Clock;
  readonly settings: { readonly horizonMs: number };
  readonly queue: Pick<WorkQueue, 'enqueue'>;
  /** Looks again at everything that a tie holds. */
  readonly wake: (name: string) => void;
}

export class AccountGate {
  readonly #parts: GateParts;
  readonly #visibility = new Visibility();

  constructor(parts: GateParts) {
    this.#parts = parts;
  }

  /**
   * Enqueues the account of an object to count its users: at once when the account waits to be deleted, else once for many
   * changes.
   */
  recount({ kind, account }: Stored): void {
    const { objects, queue } = this.#parts;
    if (kind.life === 'account') return;
    const isLeaving = objects.get(account)?.object.metadata.deletionTimestamp !== undefined;
    if (isLeaving) queue.enqueue(account, urgencies.change);
    else queue.enqueue(account, urgencies.resync, tallyMs);
  }

  /** Lets the account report a long pause that any request with its credential met. */
  heldBack(service: Service): void {
    const account = this.#parts.accounts.keyOf(service);
    const until = service.health().throttledUntil;
    if (account !== undefined && until !== undefined) this.throttled(account, until - this.#parts.clock.monotonic());
  }

  /** Lets the account report a long pause, and take it back when it is over. */
  throttled(account: string, ms: number): void {
    const session = this.#parts.accounts.session(account);
    if (session === undefined || ms <= longPauseMs) return;
    session.throttledUntil = this.#parts.clock.monotonic() + ms;
    this.#parts.queue.enqueue(account, urgencies.change);
  }

  /** Freezes an account whose list suddenly lacks objects that we own, and unfreezes it again. */
  walked(service: Service, key: string): void {
    const { accounts, subscriptions, queue, wake } = this.#parts;
    const lookers = subscriptions.lookers(service, key);
    const account = accounts.keyOf(service);
    const session = account === undefined ? undefined : accounts.session(account);
    if (lookers === undefined || account === undefined || session === undefined || lookers.read.absentOn404) return;
    const items = service.snapshot(lookers.read)?.items;
    if (items === undefined) return;
    const owned = [...lookers.byId].flatMap(([id, objects]) =>
      [...objects].flatMap((object) => this.#owned(object, id, items)),
    );
    const frozen = this.#visibility.walked(service, key, owned, items.size === 0);
    if (frozen === session.frozen) return;
    session.frozen = frozen;
    queue.enqueue(account, urgencies.change);
    wake(tie.account(account));
  }

  #owned(object: string, id: string, items: ReadonlyMap<string, unknown>): readonly Owned[] {
    const stored = this.#parts.objects.get(object);
    if (stored === undefined || stored.status.memory.id !== id) return [];
    // An object that is being deleted may be gone by our own call.
    if (stored.object.metadata.deletionTimestamp !== undefined) return [];
    if (this.#parts.objects.tiedBy(tie.wipe(id)).length > 0) return [];
    const { wrote, notes, looks } = this.#parts.inProcessStates.of(stored.object.metadata.uid);
    // An object that waits for something else, such as a reference, cannot be proved gone and would keep the account frozen.
    if (!looks) return [];
    const young = wrote !== undefined && this.#parts.clock.monotonic() - wrote.at < this.#parts.settings.horizonMs;
    return [{ object, shown: items.has(id), provedGone: notes['provedGone'] !== undefined, young }];
  }

  /** Honours the annotation that accepts a loss, once per token. */
  noteAccepted(stored: Stored): void {
    const token = acceptMissingToken(stored.object);
    const session = this.#parts.accounts.session(stored.key);
    if (token === undefined || session === undefined || session.acceptedMissing === token) return;
    session.acceptedMissing = token;
    // The token is written to status, or it would count once more in the next process.
    this.#parts.queue.enqueue(stored.key, urgencies.change);
    if (session.frozen === undefined) return;
    this.#visibility.accept(session.service);
    session.frozen = undefined;
    this.#parts.wake(tie.account(stored.key));
  }

  /** Takes an account's verdict: it decides whether the objects that use the account may go on. */
  concluded(stored: Stored, verdict: Verdict<unknown>): void {
    const { accounts, queue, settings, wake } = this.#parts;
    if (stored.kind.life !== 'account') return;
    const session = accounts.session(stored.key);
    // An account that waits to be deleted still serves its users, or neither would ever go.
    const isKnown = session?.admission?.admitted === true || stored.status.memory.binding !== undefined;
    const admitted = verdict.is === 'ready' || (isKnown && passing.has(verdict.reason ?? 'InSync'));
    const before = session?.admission;
    const throttledMs = session && accounts.throttledMs(session);
    if (throttledMs !== undefined && throttledMs > 0) queue.enqueue(stored.key, urgencies.change, throttledMs + 1);
    if (session?.isSuspicious === true) {
      const afterMs = settings.horizonMs + 2 * session.service.health().pollIntervalMs;
      queue.enqueue(stored.key, urgencies.resync, afterMs);
    }
    if (session !== undefined) {
      const { lifecycle, allowedNamespaces } = session.spec;
      const rules = JSON.stringify([lifecycle, allowedNamespaces]);
      session.admission = { admitted, reason: verdict.reason ?? 'InSync', message: verdict.message ?? '', rules };
    }
    const isSame = before?.admitted === admitted && before.rules === session?.admission?.rules;
    if (!isSame || session === undefined) wake(tie.account(stored.key));
  }
}
