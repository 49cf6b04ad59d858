/**
 * How accounts stand: whether those that use one may go on, and what makes an account look at itself again.
 *
 * Guarantees: dependents are woken exactly when their account begins or ceases to serve them, or serves by other rules; an account whose lists suddenly
 * lack what we own is frozen until that is explained; counting what uses an account costs one pass for many changes.
 */
import { tie, type Stored } from '../objects/object-index.ts';
import type { Parts } from '../parts.ts';
import type { Reason } from '../kind/contract/reasons.ts';
import type { Verdict } from '../kind/contract/step.ts';
import { acceptMissingToken } from '../objects/names.ts';
import type { Service } from '../ports.ts';
import { urgencies, type WorkQueue } from '../queue/work-queue.ts';
import { Visibility, type Owned } from './visibility.ts';

/** Accounts count what uses them this long after a change at the latest, and once for all changes until then. */
const tallyMs = 30_000;
/** A pause that the service asks for is worth a word in the account's status from this length on. */
const longPauseMs = 30_000;

/** Troubles of an account that do not make its objects untrue: they go on with what was read last. */
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
export interface GateParts extends Pick<
  Parts,
  'objects' | 'accounts' | 'subscriptions' | 'inProcessStates' | 'clock' | 'settings'
> {
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

  /** The account is looked at again for what uses it: at once where it waits for that, else once for many. */
  recount({ kind, account }: Stored): void {
    const { objects, queue } = this.#parts;
    if (kind.life === 'account') return;
    const isLeaving = objects.get(account)?.object.metadata.deletionTimestamp !== undefined;
    if (isLeaving) queue.enqueue(account, urgencies.change);
    else queue.enqueue(account, urgencies.resync, tallyMs);
  }

  /** A long pause is said by the account, and taken back when it is over. */
  throttled(account: string, ms: number): void {
    const session = this.#parts.accounts.session(account);
    if (session === undefined || ms < longPauseMs) return;
    session.throttledUntil = this.#parts.clock.monotonic() + ms;
    this.#parts.queue.enqueue(account, urgencies.change);
  }

  /** Freezes an account whose list suddenly lacks what we own, and thaws it again. */
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
    const entry = this.#parts.objects.get(object);
    if (entry === undefined || entry.status.memory.id !== id) return [];
    // What is being deleted may be gone by our own hand.
    if (entry.object.metadata.deletionTimestamp !== undefined) return [];
    if (this.#parts.objects.tiedBy(tie.wipe(id)).length > 0) return [];
    const { wrote, notes, looks } = this.#parts.inProcessStates.of(entry.object.metadata.uid);
    // What is held up, by a missing reference for instance, could never be proved gone: the account would stay frozen for good.
    if (!looks) return [];
    const young = wrote !== undefined && this.#parts.clock.monotonic() - wrote.at < this.#parts.settings.horizonMs;
    return [{ object, shown: items.has(id), provedGone: notes['provedGone'] !== undefined, young }];
  }

  /** The annotation that accepts a loss counts once per token. */
  noteAccepted(entry: Stored): void {
    const token = acceptMissingToken(entry.object);
    const session = this.#parts.accounts.session(entry.key);
    if (token === undefined || session === undefined || session.acceptedMissing === token) return;
    session.acceptedMissing = token;
    // It is written to status, or it would count once more in the next process.
    this.#parts.queue.enqueue(entry.key, urgencies.change);
    if (session.frozen === undefined) return;
    this.#visibility.accept(session.service);
    session.frozen = undefined;
    this.#parts.wake(tie.account(entry.key));
  }

  /** What an account says decides whether its dependents may go on. */
  concluded(entry: Stored, verdict: Verdict<unknown>): void {
    const { accounts, queue, settings, wake } = this.#parts;
    if (entry.kind.life !== 'account') return;
    const session = accounts.session(entry.key);
    // An account that waits for those who use it must still serve them, or neither would ever go.
    const isKnown = session?.standing?.admitted === true || entry.status.memory.binding !== undefined;
    const admitted = verdict.is === 'ready' || (isKnown && passing.has(verdict.reason ?? 'InSync'));
    const before = session?.standing;
    const throttledMs = session && accounts.throttledMs(session);
    if (throttledMs !== undefined && throttledMs > 0) queue.enqueue(entry.key, urgencies.change, throttledMs + 1);
    if (session?.isSuspicious === true) {
      const afterMs = settings.horizonMs + 2 * session.service.health().pollIntervalMs;
      queue.enqueue(entry.key, urgencies.resync, afterMs);
    }
    if (session !== undefined) {
      const { mode, adoption, allowedNamespaces } = session.spec;
      const rules = JSON.stringify([mode, adoption, allowedNamespaces]);
      session.standing = { admitted, reason: verdict.reason ?? 'InSync', message: verdict.message ?? '', rules };
    }
    const isSame = before?.admitted === admitted && before.rules === session?.standing?.rules;
    if (!isSame || session === undefined) wake(tie.account(entry.key));
  }
}
