/**
 * The first part of a reconcile: may the object be worked on now, and is everything there that it needs?
 *
 * An object that is paused, released, invalid or lacks something ends here with a condition; all others go on to the loop
 * of steps.
 */
import { ReconcileContext } from '../context/context.ts';
import { isLost } from '../context/doubt.ts';
import { blind, letGo } from '../context/leaving.ts';
import type { EngineParts } from '../context/parts.ts';
import { publishRetained } from '../context/publish.ts';
import { dependentsOf } from '../context/relations.ts';
import { gather, gatherPresent } from '../context/resources.ts';
import { lookForLost } from '../call/lost-call.ts';
import type { Verdict } from '../kind/contract/step.ts';
import { annotations, reconcileToken } from '../objects/names.ts';
import type { Stored } from '../objects/object-index.ts';
import { KubeError } from '../ports.ts';
import type { Ended } from '../queue/workers.ts';
import { paused } from '../status/conditions.ts';
import { Steps } from './steps.ts';

/** How long a new object waits before status says what it lacks. */
const patienceMs = 5_000;
/** How soon to look again at an account that was not reconciled yet. */
const accountPendingMs = 30_000;

export class Reconciler {
  readonly #parts: EngineParts;
  readonly #steps: Steps;

  constructor(parts: EngineParts) {
    this.#parts = parts;
    this.#steps = new Steps();
  }

  /** Reconciles the object of a key once. */
  async reconcile(key: string): Promise<Ended> {
    const stored = this.#parts.objects.get(key);
    if (stored === undefined) return { is: 'gone' };
    const context = new ReconcileContext(this.#parts, stored);
    const { kind, spec } = stored;
    if (kind.finished?.(context.memory.facts) === true) {
      this.#parts.subscriptions.drop(key);
      return this.#acknowledge(context);
    }
    if (context.object.metadata.annotations?.[annotations.paused] === 'true') {
      context.inProcess.looks = false;
      return this.#pause(context);
    }
    const released = letGo(stored, context.memory, () => dependentsOf(this.#parts, stored));
    if (released !== undefined) return context.release(released.stays);
    if (spec.is === 'broken') throw spec.cause;
    if (spec.is === 'invalid') return context.conclude({ is: 'stall', reason: 'InvalidSpec', message: spec.message });
    if (context.status.damaged !== undefined) {
      const message = 'status.internal.journal cannot be read; remove it after making sure that no call is under way';
      return context.conclude({ is: 'stall', reason: 'JournalDamaged', message });
    }
    const resources = await gather(stored, this.#parts);
    if (!('verdict' in resources)) return this.#steps.run(context, resources);
    context.inProcess.looks = false;
    if (context.object.metadata.deletionTimestamp !== undefined) return this.#leave(context, resources.verdict);
    return this.#holdUp(context, resources.verdict);
  }

  /** Writes to status that a reconcile threw, without details. A failure of Kubernetes itself is not written. */
  async sayFailed(key: string, error: unknown): Promise<void> {
    const stored = this.#parts.objects.get(key);
    const isPassing = error instanceof KubeError && error.reason !== 'forbidden' && error.reason !== 'invalid';
    if (stored === undefined || isPassing) return;
    const message =
      error instanceof KubeError
        ? 'Kubernetes refuses what the operator asks of it for this object; the log of the operator has the details'
        : 'the operator made a mistake of its own with this object; its log has the details';
    await new ReconcileContext(this.#parts, stored).conclude({ is: 'wait', reason: 'InternalError', message });
  }

  /** Takes note that an object is gone; a create of it may still be under way. */
  bury(stored: Stored): void {
    // Every replica sees the deletion; only the leader publishes it.
    if (this.#parts.leadership.mayAct() === undefined) void this.#tellLeft(stored);
    this.#parts.openCreates.bury(stored);
  }

  /** Publishes what a deleted object leaves in the service. With a label selector the object may only have lost its label. */
  async #tellLeft(stored: Stored): Promise<void> {
    const { settings, writer } = this.#parts;
    const note = stored.kind.leaves?.(stored.status.memory);
    if (note === undefined) return;
    const live = settings.seesAll ? undefined : await writer.readLive(stored.object).catch(() => undefined);
    if (live?.metadata.uid !== stored.object.metadata.uid) publishRetained(this.#parts, stored, note);
  }

  /** A finished request is not reconciled again; only `reconcile-at` is acknowledged. */
  async #acknowledge(context: ReconcileContext): Promise<Ended> {
    const token = reconcileToken(context.object);
    const settled = { is: 'settled', againInMs: undefined } as const;
    if (token === undefined || token === context.status.lastHandledReconcileAt) return settled;
    context.status = { ...context.status, lastHandledReconcileAt: token };
    return (await context.write()) ? settled : { is: 'overtaken' };
  }

  /** Reports what an object lacks, and goes on resolving a call in doubt. */
  async #holdUp(context: ReconcileContext, verdict: Verdict<unknown> | undefined): Promise<Ended> {
    if (verdict === undefined) return { is: 'quiet', againInMs: accountPendingMs };
    if (!isLost(context)) {
      const patience = this.#patienceMs(context, verdict);
      return patience > 0 ? { is: 'quiet', againInMs: patience } : context.conclude(verdict);
    }
    const againInMs = await this.#lookForLost(context);
    const isTimed = verdict.is === 'wait' && againInMs !== undefined;
    return context.conclude(isTimed ? { ...verdict, retryInMs: againInMs } : verdict);
  }

  /**
   * How much longer a new object stays silent about what it lacks, because most of it comes with the same `kubectl apply`.
   */
  #patienceMs({ status, inProcess }: ReconcileContext, verdict: Verdict<unknown>): number {
    if (verdict.is !== 'wait' || status.conditions.length > 0) return 0;
    const now = this.#parts.clock.monotonic();
    inProcess.heldBackAt ??= now;
    return inProcess.heldBackAt + patienceMs - now;
  }

  /** Carries a deletion without a usable account as far as possible without reading the service. */
  async #leave(context: ReconcileContext, verdict: Verdict<unknown> | undefined): Promise<Ended> {
    const { accounts, objects } = this.#parts;
    const { kind, account: accountKey } = context.stored;
    const account = accounts.viewWithout(objects.get(accountKey), context.memory);
    const none = new Map<string, never>();
    const step = kind.step(context.pass(blind, { account, secrets: none, configMaps: none, referred: none }));
    if (step.is === 'release') return context.release(step.stays);
    if (kind.life === 'account' && step.is === 'wait') return context.conclude(step);
    return verdict === undefined ? { is: 'quiet', againInMs: accountPendingMs } : context.conclude(verdict);
  }

  async #pause(context: ReconcileContext): Promise<Ended> {
    const { kind, key } = context.stored;
    // A paused object needs no polling; an account goes on serving its users.
    if (kind.life !== 'account') this.#parts.subscriptions.drop(key);
    const againInMs = await this.#lookForLost(context);
    const { generation = 0 } = context.object.metadata;
    const conditions = paused(context.status.conditions, generation, this.#parts.clock.wall());
    const lastHandledReconcileAt = reconcileToken(context.object) ?? context.status.lastHandledReconcileAt;
    context.status = { ...context.status, conditions, lastHandledReconcileAt };
    if (!(await context.write())) return { is: 'overtaken' };
    if (kind.life === 'account') await this.#serve(context.stored);
    return { is: 'settled', againInMs };
  }

  /** A paused account still serves its users, also after a restart. */
  async #serve(account: Stored): Promise<void> {
    const resources = await gather(account, this.#parts);
    const verdict = 'verdict' in resources ? resources.verdict : undefined;
    const message = 'it is paused and was never Ready before';
    this.#parts.concluded(account, verdict ?? { is: 'wait', reason: 'Paused', message });
  }

  /** Resolves a call in doubt even while its object waits, because others wait for it. */
  async #lookForLost(context: ReconcileContext): Promise<number | undefined> {
    const { stored } = context;
    const resources = isLost(context) ? await gatherPresent(stored, this.#parts) : undefined;
    if (resources === undefined || 'verdict' in resources || stored.spec.is !== 'valid') return undefined;
    const account = this.#parts.accounts.view(resources.session);
    return lookForLost(context, resources.session.service, (view) => {
      const pass = context.pass(view, { ...resources, account });
      // A deletion that is held up has not begun.
      return stored.kind.step({ ...pass, subject: { ...pass.subject, deleting: false } });
    });
  }
}
